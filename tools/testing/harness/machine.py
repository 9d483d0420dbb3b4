# SPDX-License-Identifier: GPL-2.0
"""One guest of QEMU's."""

import base64
import functools
import json
import os
import socket
import subprocess
import threading
import time
from typing import Any, Sequence

from harness import console, image
from harness.agent import Channel, Job, OnOutput
from harness.errors import ClusterError
from harness.spawn import spawner

# Seconds, for a kernel that is not slow.
BOOT_TIMEOUT = 240

# Omits the features at which QEMU 7.2 without KVM is slow: rep movsb, which copies byte by byte,
# and pclmulqdq, with which each checksum of a packet saves all registers. Also omits cmpxchg16b,
# whose helper computes the flags from a stale state: an interrupt before the next instruction that
# sets flags then saves another register's bits, and the return from it is a double fault. Also
# omits page tables of five levels: they take longer to walk, and Linux 6.12 with KASAN takes them
# for four levels (all memory is "wild") in an interrupt that comes while it reads the CPU's
# features again.
# Without pclmulqdq protect is none by default.
NO_PCLMULQDQ = "-pclmulqdq"
CPU = f"max,-erms,{NO_PCLMULQDQ},-cx16,-la57"

# A processor whose instructions take a nanosecond each.
COUNTED_KHZ = 1000000

# Skip self-tests of ciphers and keys that request modules, which are slow on emulated processors.
# Without norandmaps the emulator translates relocated code again; without noreplace-smp a single
# processor patches away each lock prefix, with a TLB flush.
QUICK_BOOT = ("cryptomgr.notests norandmaps noreplace-smp "
              "initcall_blacklist=crypto_kdf108_init,jent_mod_init,init_encrypted")


@functools.cache
def tsc_khz() -> str:
    """The TSC's frequency: a guest without KVM would measure it wrong on a busy host."""
    return subprocess.check_output([image.build_tool(os.path.join(image.QEMU, "tsc.c"))],
                                   text=True, timeout=20).strip()


class Machine:
    """One guest. Off until start()."""

    # pylint: disable=too-many-arguments,too-many-instance-attributes
    def __init__(self, cluster: Any, name: str, index: int, memory: int, cpus: int, append: str,
                 disks: Sequence[tuple[int, int]] = (), initrd: str | None = None,
                 root: str | None = None):
        self.cluster = cluster
        self.initrd = initrd or cluster.image
        self.root = root
        self.name = name
        self.index = index
        self.memory = memory
        self.cpus = cpus
        self.append = append
        # A plugin of the emulator, and its argument. It is also preloaded.
        self.plugin: tuple[str, str] | None = None
        self.disks: list[tuple[str, int]] = []
        self.process: subprocess.Popen | None = None
        self.powered_on_at = 0
        self.channel: Channel | None = None
        self.jobs: dict[str, Job] = {}
        self.counter = 0
        self.ready = threading.Event()
        self.lock = threading.Lock()
        self.directory = os.path.join(cluster.directory, name)
        os.makedirs(self.directory)
        for number, (size, iops) in enumerate(disks):
            path = os.path.join(self.directory, f"disk{number}")
            with open(path, "wb") as file:
                file.truncate(size << 20)
            self.disks.append((path, iops))

    @property
    def address(self) -> str:
        return f"10.0.0.{self.index}"

    def _path(self, name):
        return os.path.join(self.directory, name)

    def _command(self):
        _, kernel, _ = image.kernel(self.root)
        mac = f"52:54:00:fa:00:{self.index:02x}"
        append = (f"console=ttyS0,115200 8250.nr_uarts=1 rootfstype=ramfs panic=-1 oops=panic "
                  f"{QUICK_BOOT} "
                  f"loglevel=4 printk.devkmsg=on log_buf_len=1M "
                  f"fs.name={self.name} fs.index={self.index} {self.append}")
        counted = self.cluster.counted
        if "tcg" in self.cluster.accel:
            append += (" clocksource=tsc tsc=reliable no_timer_check"
                       f" tsc_early_khz={COUNTED_KHZ if counted else tsc_khz()}")
        if counted:
            append += " nokaslr"
        command = [
            "qemu-system-x86_64", "-nodefaults", "-nographic", "-no-reboot",
            "-accel", self.cluster.accel, "-cpu", self.cluster.cpu, "-smp", str(self.cpus),
            "-m", str(self.memory), "-kernel", kernel, "-initrd", self.initrd,
            "-uuid", f"fa25bad0-0000-4000-8000-{mac.replace(':', '')}",
            "-append", append,
            "-chardev", f"file,id=console,path={self._path('console')},append=on",
            "-serial", "chardev:console",
            "-chardev", f"socket,id=agent,path={self._path('agent')},server=on,wait=off",
            # Limit the ports: for each packet the emulator polls a file per possible port.
            "-device", "virtio-serial-pci,id=serial0,max_ports=2",
            "-device", "virtserialport,bus=serial0.0,nr=1,chardev=agent,name=agent",
            "-qmp", f"unix:{self._path('qmp')},server=on,wait=off",
            "-netdev", f"stream,id=net0,server=off,addr.type=unix,"
                       f"addr.path={self.cluster.switch_path}",
            "-device", f"virtio-net-pci,netdev=net0,id=nic0,mac={mac},host_mtu=9000",
        ]
        if counted:
            command += ["-icount", "shift=0,sleep=off", "-seed", "42",
                        "-rtc", "base=2024-01-01T00:00:00,clock=vm"]
        for number, (path, iops) in enumerate(self.disks):
            throttle = f",throttling.iops-total={iops}" if iops else ""
            command += [
                "-drive", f"file={path},format=raw,if=none,id=disk{number},cache=unsafe,"
                          f"discard=unmap{throttle}",
                "-device", f"virtio-blk-pci,drive=disk{number},id=vd{chr(ord('a') + number)}"]
        if self.plugin:
            path, argument = self.plugin
            command = ["env", f"LD_PRELOAD={path}", *command, "-plugin", f"{path},{argument}"]
        return command

    def start(self) -> None:
        """Power on, and wait until the guest takes commands."""
        self.power_on()
        self.wait_ready()

    def power_on(self) -> None:
        if self.process:
            raise ClusterError(f"{self.name} is on already")
        for name in ("agent", "qmp"):
            if os.path.exists(self._path(name)):
                os.unlink(self._path(name))
        self.ready.clear()
        self.powered_on_at = len(self._console_bytes())
        with open(self._path("qemu.log"), "ab") as log:
            self.process = spawner().popen(self._command(), stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log)
        self.channel = Channel(self._path("agent"), self._frame)

    def wait_ready(self) -> None:
        if self._boots():
            return
        failure = f"{self.name} did not boot\n{self.log_tail(60)}"
        # Debian's kernel has not loaded our modules yet.
        if self.root or console.STALE_CODE not in self._console_bytes()[self.powered_on_at:]:
            raise ClusterError(failure)
        print(f"the emulator broke a guest: a breakpoint that was gone; once more\n{failure}",
              flush=True)
        self.kill()
        os.truncate(self._path("console"), self.powered_on_at)
        self.power_on()
        if not self._boots():
            raise ClusterError(f"{self.name} did not boot again\n{self.log_tail(60)}")

    def _boots(self):
        slow = image.machine_of(self.root)[0]["slow"]
        deadline = time.monotonic() + BOOT_TIMEOUT * slow
        while not self.ready.wait(0.1):
            if self.process.poll() is not None or time.monotonic() > deadline:
                return False
        return True

    def kill(self) -> None:
        """Power loss."""
        if not self.process:
            return
        self.process.kill()
        self.process.wait()
        self.channel.close()
        # Not from the reader's own thread; it ends when the socket does.
        if threading.current_thread() is not self.channel.thread:
            self.channel.thread.join(5)
        self.process = None
        self._frame(None)

    def is_on(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def processor_time(self) -> float:
        """Seconds that the emulator has used."""
        process = self.process
        if not process:
            return 0
        try:
            with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
                user, system = file.read().rpartition(")")[2].split()[11:13]
        except OSError:         # it has ended just now
            return 0
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _frame(self, line):
        if line is None:
            self.ready.clear()
            with self.lock:
                jobs = list(self.jobs.values())
                self.jobs.clear()
            for job in jobs:
                job.ended.set()
            return
        words = line.split(" ", 2)
        kind, rest = words[0], words[1:]
        if kind == "B":
            self.ready.set()
        elif kind == "O" and len(rest) == 2 and rest[0] in self.jobs:
            job = self.jobs[rest[0]]
            data = base64.b64decode(rest[1])
            job.chunks.append(data)
            if job.on_output:
                job.on_output(data)
        elif kind == "X" and len(rest) == 2:
            with self.lock:
                job = self.jobs.pop(rest[0], None)
            if job:
                job.status = int(rest[1])
                job.ended.set()
        elif kind == "Q" and len(rest) == 2:
            request = base64.b64decode(rest[1]).decode()
            threading.Thread(target=self._answer, args=(rest[0], request),
                             daemon=True).start()

    def _answer(self, ident, request):
        try:
            status, text = 0, self.cluster.request(request.split(), self)
        except (ClusterError, OSError, ValueError) as error:
            status, text = 1, f"{error}\n"
        self.send(f"A {ident} {status} {base64.b64encode(text.encode()).decode()}\n")

    def send(self, text: str) -> None:
        if self.channel:
            self.channel.send(text)

    def spawn(self, command: str, on_output: OnOutput | None = None) -> Job:
        """Start a shell command; the Job to wait for. on_output gets bytes as they come."""
        if not self.is_on():
            raise ClusterError(f"{self.name} is off\n{self.log_tail(30)}")
        with self.lock:
            self.counter += 1
            job = Job(self, str(self.counter), on_output)
            self.jobs[job.ident] = job
        self.send(f"R {job.ident} {base64.b64encode(command.encode()).decode()}\n")
        return job

    def run(self, command: str, timeout: float = 60,
            on_output: OnOutput | None = None) -> tuple[int, str]:
        """(status, output); status 124: out of time and killed, 125: the guest is gone."""
        job = self.spawn(command, on_output)
        job.wait(timeout)
        if not job.ended.is_set():
            job.kill()
            job.wait(5)
            return 124, job.output + f"\n(killed after {timeout} s)\n"
        return (125 if job.status is None else job.status), job.output

    def check(self, command: str, timeout: float = 60) -> str:
        """Output of a command that must succeed."""
        status, output = self.run(command, timeout)
        if status:
            raise ClusterError(f"{self.name}: {command!r} gave {status}\n{output}")
        return output

    def wait_for(self, condition: str, seconds: int, show: str = "true") -> None:
        """Wait until a shell command succeeds; the error contains the output of another one."""
        self.check(f"i=0; until {condition}; do i=$((i + 1)); [ $i -lt {seconds * 5} ] || "
                   f"{{ {show}; exit 1; }}; sleep 0.2; done", 2 * seconds + 20)

    def qmp(self, execute: str, /, **arguments: Any) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(self._path("qmp"))
            with connection.makefile("rw") as file:
                file.readline()
                for request in ({"execute": "qmp_capabilities"},
                                {"execute": execute, "arguments": arguments}):
                    file.write(json.dumps(request) + "\n")
                    file.flush()
                    while True:
                        answer = json.loads(file.readline())
                        if "error" in answer:
                            raise ClusterError(f"{execute}: {answer['error']['desc']}")
                        if "return" in answer:
                            break

    def _console_bytes(self):
        try:
            with open(self._path("console"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def console(self) -> str:
        """All the console has printed, over every boot."""
        try:
            with open(self._path("console"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def log_tail(self, lines: int) -> str:
        text = self.console().replace("\r", "").splitlines()[-lines:]
        with open(self._path("qemu.log"), encoding="utf-8", errors="replace") as file:
            text += file.read().splitlines()[-10:]
        return "\n".join(f"  {self.name}| {line}" for line in text)

    def complaints(self, since: int = 0) -> list[str]:
        """Lines of the console, from that offset on, that fail a test."""
        return console.complaints(self.console()[since:])
