# SPDX-License-Identifier: GPL-2.0
"""Programs that run in the client during a measurement, and their output."""

import time

import harness

CGROUP = "/sys/fs/cgroup"
# Their limit of the client's memory where it is not unlimited, MB.
LOCAL = 24


class Program:
    """A program in the client, perhaps in a cgroup, and its lines of output."""

    def __init__(self, client, command, local=None, group="bench"):
        prefix, group = "", f"{CGROUP}/{group}"
        if local:
            prefix = (f"mkdir -p {group} && echo {local}M >{group}/memory.high && "
                      f"echo $$ >{group}/cgroup.procs && ")
        self.lines = []
        self.rest = b""
        self.job = client.spawn(f"{prefix}exec {command}", self.on_output)

    def on_output(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.lines += [line.decode() for line in lines]

    def wait_lines(self, nr, timeout=60):
        """Wait for that many more lines; returns the number of the last."""
        deadline, wanted = time.monotonic() + timeout, len(self.lines) + nr
        while len(self.lines) < wanted:
            if self.job.ended.is_set() or time.monotonic() > deadline:
                raise harness.ClusterError("a program ended or said nothing\n"
                                           + "\n".join(self.lines[-5:]))
            time.sleep(0.02)
        return wanted - 1

    def end(self):
        self.job.kill()
        self.job.wait(20)


class Asked(Program):
    """A program that reads one command a line and prints "done" after each answer."""

    def __init__(self, client, command, group=None):
        self.client = client
        self.fifo = f"/run/{command.split()[0]}.commands"
        join = f"echo $$ >{group}/cgroup.procs && " if group else ""
        # Keep the FIFO open, because the program would read end-of-file after the first command.
        client.check(f"rm -f {self.fifo}; mkfifo {self.fifo}")
        self.holder = client.spawn(f"exec sleep 100000 >{self.fifo}")
        super().__init__(client, f"sh -c '{join}exec {command} <{self.fifo}'")

    def ask(self, command, timeout=300):
        """The lines of the answer, without the last."""
        first = len(self.lines)
        self.client.check(f"echo {command} >{self.fifo}")
        deadline = time.monotonic() + timeout
        while "done" not in self.lines[first:]:
            if self.job.ended.is_set() or time.monotonic() > deadline:
                self.end()
                raise harness.ClusterError(f"{command}: no answer\n{self.job.output[-500:]}")
            time.sleep(0.02)
        return self.lines[first:-1]

    def end(self):
        for job in (self.holder, self.job):
            job.kill()
            job.wait(20)


class Load(Program):
    """The cost of each access of a program: load.c, a line a second."""

    def __init__(self, client, megabytes):
        super().__init__(client, f"load -m {megabytes} -p 2 -w 10 -d 3600 -i 1", LOCAL)

    def value(self, name, line=-1):
        return int(self.lines[line].split(f" {name}=")[1].split()[0])

    def window(self, seconds):
        """Accesses a second, from now on."""
        first = self.wait_lines(1)
        self.wait_lines(seconds)
        return self.rate(first, seconds)

    def rate(self, first, seconds):
        """The same, starting at a line."""
        return (self.value("reads", first + seconds) - self.value("reads", first)) / seconds
