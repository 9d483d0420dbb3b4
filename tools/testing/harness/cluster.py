# SPDX-License-Identifier: GPL-2.0
"""Several guests, and the network between them."""

import atexit
import base64
import collections
import fcntl
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Callable, Sequence, TypeVar

from harness import console, farswap, image
from harness.errors import ClusterError
from harness.machine import CPU, NO_PCLMULQDQ, Machine
from harness.spawn import spawner

Result = TypeVar("Result")

# The number of ports of switch.c.
MACHINES = 32

# Parameters of the module, by default. Emulated machines may stall for a second.
CLIENT_PARAMS = ("farswap.io_timeout_ms=3000",)
# With a kernel whose release is nobody's.
TREE_PARAMS = ("farswap.force=1",)


def link_or_copy(source: str, target: str) -> None:
    """Links a file of the cache, so that it can be booted even after it is removed there."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def make_directory() -> str:
    """
    A temporary directory, locked while this process lives; those that killed
    processes have left behind are removed.
    """
    base = os.path.join(tempfile.gettempdir(), "farswap-cluster-")
    for path in glob.glob(base + "*/lock"):
        try:
            with open(path, "w", encoding="ascii") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        except OSError:
            pass            # in use, or somebody else's
    directory = tempfile.mkdtemp(prefix="farswap-cluster-")
    lock = os.open(os.path.join(directory, "lock.new"), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(os.path.join(directory, "lock.new"), os.path.join(directory, "lock"))
    return directory


class Cluster:
    """
    So many clients, donors, and machines that are both; one client, unless some are both.
    self.clients has every machine that swaps, self.client is the first; self.donors has every
    machine that lends. Machines that are both have a client's memory, processors, disks and
    kernel. Memory in MB; disks, of each client: (MB, operations a second or 0 for no limit);
    append and donor_append: kernel arguments; daemon: farswapd's options; extra_*: see
    image.build(); client_root: a kernel that only clients run, see image.kernel(); counted: an
    instruction takes a nanosecond, and waiting for nobody takes no time, so that two runs take
    the same path and the same time; for a client alone, which can't keep anybody else's time;
    slab_mb: both sides'; one_thread: emulated processors of a machine take turns in one thread,
    so that the kernel can change code that another of them runs; aes: processors have all
    instructions for AES-GCM.
    """

    # pylint: disable=too-many-arguments,too-many-instance-attributes
    def __init__(self, donors: int = 2, client_mem: int = 192, donor_mem: int = 768,
                 client_cpus: int = 1, donor_cpus: int = 1, append: str = "",
                 donor_append: str = "", daemon: str | None = None,
                 disks: Sequence[tuple[int, int]] = ((1024, 0),), min_free_kb: int = 16384,
                 params: bool = True, extra: Sequence[tuple[str, str]] = (),
                 extra_programs: Sequence[tuple[str, str, str | None]] = (),
                 modules: Sequence[str] | None = None, extra_modules: Sequence[str] = (),
                 client_root: str | None = None, start: bool = True, counted: bool = False,
                 slab_mb: int = 8, clients: int | None = None, both: int = 0,
                 one_thread: bool = False, aes: bool = False):
        self.counted = counted
        threads = "single" if one_thread else "multi"
        self.accel = ("tcg,thread=single" if counted else
                      os.environ.get("FARSWAP_ACCEL", f"tcg,thread={threads}"))
        self.cpu = os.environ.get("FARSWAP_CPU", CPU if "tcg" in self.accel else
                                  f"max,{NO_PCLMULQDQ}")
        if aes:
            self.cpu = self.cpu.replace(NO_PCLMULQDQ, "+pclmulqdq")
        self.directory = make_directory()
        self.image = os.path.join(self.directory, "image")
        link_or_copy(image.build(extra, extra_programs, modules, extra_modules), self.image)
        client_image = self.image
        if client_root:
            client_image += ".client"
            link_or_copy(image.build(extra, extra_programs, None, extra_modules, client_root),
                         client_image)
        self.switch = None
        atexit.register(self.close)
        self._start_switch()
        if clients is None:
            clients = 0 if both else 1
        swap, lend = clients + both, donors + both
        if not swap:
            raise ClusterError("no client: there must be one, or a machine that is both")
        if swap + donors > MACHINES:
            raise ClusterError(f"{swap + donors} machines; {MACHINES} at most")
        if params:
            words = (*CLIENT_PARAMS, *(TREE_PARAMS if client_root else ()))
            for word in (f"farswap.slab_mb={slab_mb}", *words) if lend else ():
                if word.partition("=")[0] + "=" not in append:
                    append = f"{word} {append}"
        more, more_append = image.machine_of(client_root)

        def options(memory):
            return daemon or f"memory={max(64, memory * 2 // 3)}M,slab={slab_mb}M"

        def client(name, index, role):
            others = ",".join(f"10.0.0.{n}" for n in range(clients + 1, swap + donors + 1)
                              if n != index)
            given = f"farswap.donors={others} {append}" if params and others else append
            return Machine(self, name, index, client_mem + more["memory"],
                           max(client_cpus, more["cpus"]),
                           f"fs.role={role} fs.min_free_kb={min_free_kb} {more_append}{given}",
                           disks, client_image, client_root)

        only_clients = [client(f"client{n + 1}" if n else "client", n + 1, "client")
                        for n in range(clients)]
        only_donors = [Machine(self, f"donor{n + 1}", clients + n + 1, donor_mem, donor_cpus,
                               f"fs.role=donor fs.daemon={options(donor_mem)} {donor_append}")
                       for n in range(donors)]
        boths = [client(f"both{n + 1}", clients + donors + n + 1,
                        f"both fs.daemon={options(client_mem)}") for n in range(both)]
        self.clients = [*only_clients, *boths]
        self.client = self.clients[0]
        self.donors = [*only_donors, *boths]
        self.machines = collections.OrderedDict(
            (vm.name, vm) for vm in [*only_clients, *only_donors, *boths])
        if start:
            try:
                self.start()
            except BaseException:
                self.close()
                raise

    def _start_switch(self):
        program = image.build_tool(os.path.join(image.QEMU, "switch.c"))
        self.switch_path = os.path.join(self.directory, "switch")
        self.switch = spawner().popen([program, self.switch_path], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while not os.path.exists(self.switch_path):
            if self.switch.poll() is not None or time.monotonic() > deadline:
                raise ClusterError("the network did not start")
            time.sleep(0.01)

    def start(self) -> None:
        """Boot every machine that is off, all at once."""
        booting = [vm for vm in self.machines.values() if not vm.is_on()]
        for vm in booting:
            vm.power_on()
        for vm in booting:
            vm.wait_ready()
            if vm in self.donors:
                status, output = vm.run("! cat /run/donor-start.failed 2>/dev/null", 10)
                if status:
                    raise ClusterError(f"{vm.name}: {output}")

    def machine(self, name: str) -> Machine | None:
        """Find a machine by its name or address; None if there is none."""
        return next((vm for vm in self.machines.values() if name in (vm.name, vm.address)), None)

    def lenders(self, client: Machine) -> list[Machine]:
        """The machines that lend to it."""
        return [vm for vm in self.donors if vm is not client]

    def request(self, words: list[str], asking: Machine | None = None) -> str:
        """Serves a guest's "host" command; returns the text to print there."""
        verb, name = words[0], words[1] if len(words) > 1 else ""
        if verb == "iops":
            (asking or self.client).qmp(
                "block_set_io_throttle", iops=int(words[2]), iops_rd=0, iops_wr=0,
                bps=0, bps_rd=0, bps_wr=0, id=f"/machine/peripheral/{name}/virtio-backend")
            return ""
        vm = self.machine(name)
        if not vm:
            raise ClusterError(f"host: no machine {name!r}; there are {' '.join(self.machines)}")
        if verb == "poweroff":
            vm.kill()
        elif verb == "boot":
            if vm.process and not vm.is_on():
                vm.kill()
            if not vm.is_on():
                vm.start()
        elif verb == "pause":
            vm.qmp("stop")
        elif verb == "resume":
            vm.qmp("cont")
        elif verb in ("delay", "lose", "repeat"):
            self.cable(vm, verb, int(words[2]))
        elif verb == "link" and words[2:] in (["up"], ["down"]):
            vm.qmp("set_link", name="nic0", up=words[2] == "up")
        else:
            raise ClusterError(f"host: don't know {' '.join(words)!r}")
        return ""

    def cable(self, vm: Machine, what: str, value: int) -> None:
        """Make a machine's cable bad: "delay" ms or "lose" percent; see switch.c."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as control:
            control.settimeout(10)
            control.bind("")        # the kernel chooses a name for the replies
            control.connect(self.switch_path + ".control")
            control.send(f"{vm.index} {what} {value}".encode())
            answer = control.recv(100).decode()
        if answer != "ok":
            raise ClusterError(f"{what} {value}: {answer}")

    def swap_on(self) -> None:
        for vm in self.clients:
            vm.check("mkswap /dev/vda >/dev/null && swapon /dev/vda")

    def up(self, donors: int | None = None) -> None:
        """Swap on and farswap on each client, with every donor connected, or so many."""
        self.swap_on()
        for vm in self.clients:
            vm.check("modprobe farswap")
        file = f"{farswap.DEBUG}/donors"
        for vm in self.clients:
            vm.wait_for(f"[ \"$(awk 'NR > 1 && $2 == \"live\"' {file} | wc -l)\" -ge "
                        f"{len(self.lenders(vm)) if donors is None else donors} ]",
                        30, f"cat {file}")

    def marks(self) -> dict[str, int]:
        return {vm.name: len(vm.console()) for vm in self.machines.values()}

    def complaints(self, marks: dict[str, int] | None = None) -> list[str]:
        """Lines on any console since marks() that fail a test."""
        marks = marks or {}
        return [f"{vm.name}: {line}" for vm in self.machines.values()
                for line in vm.complaints(marks.get(vm.name, 0))]

    def leaks(self) -> str:
        """Leaked memory of the clients, if their kernel looks for leaks."""
        slow = image.machine_of(self.client.root)[0]["slow"]
        # Objects younger than 5 s are not reported, nor those that have changed since the scan.
        jobs = [vm.spawn("cd /sys/kernel/debug && [ -e kmemleak ] || exit 0; "
                         "echo scan >kmemleak; sleep 6; echo scan >kmemleak; cat kmemleak")
                for vm in self.clients if vm.is_on()]
        deadline = time.monotonic() + 180 * slow
        return "".join(f"{job.vm.name}:\n{text}" for job in jobs
                       if (text := job.wait(max(deadline - time.monotonic(), 0))[1]))

    def coverage(self, directory: str) -> None:
        """How often each line of the clients' farswap has run, to a directory, for gcov."""
        for vm in self.clients:
            if not vm.is_on():
                continue
            _, text = vm.run(
                "cd /sys/kernel/debug/gcov && find . -name '*.gcda' | while read -r f; do "
                "mkdir -p /tmp/gcov/${f%/*}; cat $f >/tmp/gcov/$f; done; "
                "cd /tmp/gcov && tar -cz . | base64; rm -rf /tmp/gcov", 120)
            where = os.path.join(directory, vm.name)
            os.makedirs(where, exist_ok=True)
            subprocess.run(["tar", "-xz", "-C", where], input=base64.b64decode(text),
                           check=True, timeout=60)

    def emulator_failed(self) -> bool:
        """Whether a guest died by QEMU's fault: see console.emulator_failed()."""
        return any(console.emulator_failed(vm.console()) for vm in self.machines.values())

    def close(self) -> None:
        for vm in getattr(self, "machines", {}).values():
            vm.kill()
        if self.switch:
            self.switch.kill()
            self.switch.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.close)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def exit_on_signals() -> None:
    """Turn the signals that end a program into an exit that cleans up."""
    def leave(number, _frame):
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)


def once_more(attempt: Callable[[], Result | None]) -> Result:
    """Returns the result of attempt(), repeated once if it is None: the emulator broke a guest."""
    result = attempt()
    if result is None:
        print("the emulator broke a guest: flags that no processor can have; once more",
              flush=True)
        result = attempt()
    if result is None:
        raise ClusterError("the emulator broke a guest twice")
    return result


def print_bytes(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
