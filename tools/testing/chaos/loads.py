# SPDX-License-Identifier: GPL-2.0
"""
The verified loads of a client and their results. Each load runs in its cgroup for a few seconds,
repeatedly, until it is stopped.
"""

import re
import threading
import time

import harness
import schedule

PROGRAM = "/usr/bin/load"
SUMMARY = re.compile(r"^load: (\w+) seconds=\S+ reads=(\d+) writes=(\d+) wrong_pages=(\d+) "
                     r"wrong_bytes=(\d+) lost_pages=(\d+) longest_ms=(\d+)")

# MB and options. Each has less memory than data, all together less than the machine.
OPTIONS = {
    "anon": (20, "-p 2 -w 50 -z 5 -c 40 -u 4"),
    "fork": (8, "-p 2 -f 2 -w 60 -u 4 -o 2"),
    "shmem": (16, "-p 2 -f 1 -t shmem -c 30 -u 4 -o 4"),
    "huge": (24, "-p 1 -t huge -u 20 -o 20"),
}
LIMIT_MB = 9
# The share of that on a slow kernel: otherwise verifying would take longer than the events.
SLOW_PART = 0.5
# Time of mixed reads and writes after the fill; then all is verified.
ROUND = (6, 24)
# From SIGTERM to the last page verified.
FINISH = 150
STUCK = 60


def part_of(slow):
    return SLOW_PART if slow > 1 else 1


class Load:
    """One load: a process tree at a time."""

    def __init__(self, loads, name, seed):
        self.loads = loads
        self.name = name
        self.label = f"{loads.client.name}/{name}"
        self.draw = schedule.Draw(f"{seed} {self.label}")
        self.rounds = 0
        self.last = (0,) * 4
        self.total = [0] * 4
        self.longest_ms = 0
        self.longest_at = 0
        self.log = []
        self.rest = b""
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.loads.finishing.is_set():
            try:
                if self.loads.powered.wait(0.2):
                    self.one_round()
            except (harness.ClusterError, OSError) as error:
                if self.loads.powered.is_set():
                    self.loads.fail(f"load {self.label}: {error}")
                    return

    def one_round(self):
        megabytes, options = OPTIONS[self.name]
        seconds = round(self.draw.between(*ROUND))
        seed = int(self.draw.between(1, 1 << 30))
        boot = self.loads.boots
        self.rounds += 1
        self.last = (0,) * 4
        job = self.loads.client.spawn(
            f"echo $$ >/sys/fs/cgroup/{self.name}/cgroup.procs && exec {PROGRAM} "
            f"-m {megabytes * self.loads.part:g} {options} {'-L' if self.loads.may_lose else ''} "
            f"-d {seconds} -s {seed} -S {STUCK} -i 1", self.on_output)
        job.wait(seconds + 2 * self.loads.finish_seconds)
        self.add_round()
        if boot != self.loads.boots or not self.loads.powered.is_set():
            return
        if not job.ended.is_set():
            raise harness.ClusterError("it does not end")
        # SIGTERM may come before it is awaited.
        if job.status and not (job.status == 128 + 15 and self.loads.finishing.is_set()):
            raise harness.ClusterError(f"it ended with {job.status}")

    def add_round(self):
        self.total = [a + b for a, b in zip(self.total, self.last)]
        self.last = (0,) * 4

    def on_output(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            self.log = self.log[-40:] + [text]
            match = SUMMARY.match(text)
            if match:
                reads, writes, wrong_pages, wrong, lost, longest = map(int, match.groups()[1:])
                # A whole page may be wrong with no word of it counted.
                self.last = (reads, writes, max(wrong, wrong_pages), lost)
                if longest > self.longest_ms:
                    self.longest_ms, self.longest_at = longest, time.monotonic()
            elif "WRONG" in text or "STUCK" in text or \
                    ("LOST" in text and not self.loads.may_lose):
                self.loads.fail(f"load {self.label}: {text}")


class Loads:
    """All loads of a client."""

    # pylint: disable=too-many-arguments,too-many-positional-arguments
    def __init__(self, client, names, seed, may_lose, slow, fail):
        self.client = client
        self.finish_seconds = FINISH * slow
        self.part = part_of(slow)
        self.may_lose = may_lose
        self.fail = fail
        self.finishing = threading.Event()
        self.powered = threading.Event()
        self.boots = 0
        self.told = 0
        self.loads = [Load(self, name, seed) for name in names]

    def set_up(self):
        """Creates the cgroups after each boot and starts the loads."""
        self.client.check("echo +memory >/sys/fs/cgroup/cgroup.subtree_control; "
                          "cd /sys/kernel/mm/transparent_hugepage && echo madvise >enabled && "
                          "for i in hugepages-*; do echo never >$i/enabled; done; "
                          "echo inherit >hugepages-64kB/enabled")
        for load in self.loads:
            group = f"/sys/fs/cgroup/{load.name}"
            self.client.check(f"mkdir -p {group} && "
                              f"echo {LIMIT_MB * self.part * 1024:.0f}K >{group}/memory.high")
        self.boots += 1
        self.powered.set()

    def power_off(self):
        """They end with their machine, before set_up() begins them again."""
        self.powered.clear()

    def start(self):
        for load in self.loads:
            load.thread.start()

    def running(self):
        """The loads that are still running."""
        return [load.label for load in self.loads if load.thread.is_alive()]

    def tell(self):
        """Have them verify all they have, and end; again for one that was about to begin."""
        self.finishing.set()
        if self.running() and time.monotonic() - self.told > 5:
            self.client.run("killall -q -TERM load", 30)
            self.told = time.monotonic()

    def sum(self):
        """(reads, writes, wrong bytes, lost pages)"""
        return [sum(values) for values in
                zip(*([a + b for a, b in zip(load.total, load.last)] for load in self.loads))]

    def tail(self, lines=12):
        return "\n".join(f"  load {load.label}| {line}"
                         for load in self.loads for line in load.log[-lines:])
