#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A cluster of QEMU machines on this one: clients, donors and machines that are both,
on Debian's stock kernel, with soft RoCE over an emulated network. Everything ends
with the program, however it ends.

Examples:
  # a shell command in the client, with two donors beside it
  cluster.py run --donors 2 -- 'ip addr; rdma link; on 10.0.0.2 "free -m"'

  # swap on, farswap loaded and its donors connected before the command
  cluster.py run --donors 2 --up -- 'cat /sys/kernel/debug/farswap/donors'

  # the same with an interactive line-by-line shell ("donor1: CMD" for a donor)
  cluster.py shell --up

  # two clients, and three machines that swap and lend; the command runs in the first client
  cluster.py run --clients 2 --both 3 --up -- 'on 10.0.0.2 "swapon -s"'

In the client:
  on ADDRESS COMMAND        run COMMAND on another guest: the clients have 10.0.0.1 and the
                            next addresses, then come the donors, then the machines that are both
  host poweroff donorN      power loss; host boot donorN: power on, wait for it
  host pause|resume donorN  the whole machine stands still
  host link donorN up|down  pull its network plug
  host delay donorN MS      what the network brings it comes so much later (0: no more)
  host lose donorN PERCENT  of the packets to and from it, on the way (0: no more)
  host repeat donorN MS     each RDMA READ and WRITE that it sends comes once more, so much later
  host iops vda N           limit a disk of the guest that asks (0: no limit)
A machine's address will do for its name: client, client2, ..., donor1, ..., both1, ....
On a donor, and on a machine that is both:
  donor-start [KEY=VALUE..] start farswapd, wait until it answers
Disks are /dev/vda, /dev/vdb, .... Nothing is swapped on or loaded without --up.
A command's files: put them in with --file HOST:GUEST. FARSWAP_ACCEL in the
environment is QEMU's -accel: tcg,thread=multi if unset, kvm where that works;
FARSWAP_CPU its -cpu.

As a library:
  with Cluster(donors=2, client_mem=192, disks=[(1024, 0)]) as cluster:
      rc, output = cluster.client.run("uname -a", timeout=10)
"""

import argparse
import atexit
import base64
import collections
import ctypes
import fcntl
import functools
import glob
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import farswap
import image

# For a kernel that is not slow.
BOOT_TIMEOUT = 240
PR_SET_PDEATHSIG = 1

# Kernel messages that fail a test.
COMPLAINTS = re.compile(
    r"WARNING:|BUG[: ]|Oops|general protection|[Kk]ernel panic|blocked for more than"
    r"|soft lockup|hard LOCKUP|rcu.*(?:stall|self-detected)|refcount_t:|UBSAN:|KASAN:"
    r"|page allocation failure|Bad page|(?:add|del) corruption|(?:Bad|Unused) swap"
    r"|pagealloc: (?:memory corruption|single bit error)"
    r"|possible (?:circular|recursive) locking|suspicious RCU|non-static key"
    r"|[Oo]ut of memory:"
    r"|oom-kill:|kmemleak:|swapper:|INFO: task|scheduling while atomic"
    r"|sleeping function called")

FLAGS = re.compile(r"EFLAGS: ([0-9a-f]{8})")

# Without what QEMU 7.2 is slow at without KVM, rep movsb byte by byte and the saving
# of all registers around each packet's checksum; and without cmpxchg16b, whose
# helper computes the flags from a stale state: an interrupt before the next
# instruction that sets flags then saves another register's bits, and the return
# from it is a double fault. Nor with page tables of five levels: they take longer to
# walk, and Linux 6.12 with KASAN takes them for four (all memory is "wild") at an
# interrupt while it looks anew what the processor has.
CPU = "max,-erms,-pclmulqdq,-cx16,-la57"

# A processor whose instructions take a nanosecond each.
COUNTED_KHZ = 1000000

# As many as switch.c has ports for.
MACHINES = 32

# Says a kernel at a breakpoint of its own that it has taken away again: QEMU 7.2 without KVM
# now and then runs what it has translated before.
STALE_CODE = b"Oops: int3"

# Ciphers that look whether they work, and keys that ask for modules, take emulated processors long.
# Code that moves to another address is translated again each time, and each prefix
# that one processor can do without is patched away, at a flush of the TLB.
QUICK_BOOT = ("cryptomgr.notests norandmaps noreplace-smp "
              "initcall_blacklist=crypto_kdf108_init,jent_mod_init,init_encrypted")

# Parameters of the module, by default. Emulated machines may stall for a second.
CLIENT_PARAMS = ("farswap.io_timeout_ms=3000",)
# With a kernel whose release is nobody's.
TREE_PARAMS = ("farswap.force=1",)

# rxe warns of its own bug that read_without_data.sh is about.
WARNINGS = re.compile(r"^[^\n]*\[ cut here \].*?end trace", re.DOTALL | re.MULTILINE)


class ClusterError(Exception):
    """The cluster, not what is tested in it, has failed."""


class Spawner:
    """
    Starts every child from one thread that lives as long as the process:
    PR_SET_PDEATHSIG follows the thread, not the process.
    """

    def __init__(self):
        self.requests = queue.Queue()
        self.libc = ctypes.CDLL(None, use_errno=True)
        threading.Thread(target=self._serve, daemon=True).start()

    def _die_with_parent(self):
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    def _serve(self):
        while True:
            args, kwargs, answer = self.requests.get()
            try:
                # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
                answer.put(subprocess.Popen(args, preexec_fn=self._die_with_parent,
                                            start_new_session=True, **kwargs))
            except OSError as error:
                answer.put(error)

    def popen(self, args, **kwargs):
        answer = queue.Queue()
        self.requests.put((args, kwargs, answer))
        process = answer.get(timeout=30)
        if isinstance(process, OSError):
            raise process
        return process


SPAWNER = None


def spawner():
    global SPAWNER          # pylint: disable=global-statement
    if SPAWNER is None:
        SPAWNER = Spawner()
    return SPAWNER


class Job:
    """A command that runs in a guest."""

    def __init__(self, vm, ident, on_output):
        self.vm = vm
        self.ident = ident
        self.chunks = []
        self.status = None
        self.on_output = on_output
        self.ended = threading.Event()

    @property
    def output(self):
        return b"".join(self.chunks).decode(errors="replace")

    def wait(self, timeout):
        """(status, output). None as the status: out of time, or the guest is gone."""
        self.ended.wait(timeout)
        return self.status, self.output

    def kill(self):
        self.vm.send(f"K {self.ident}\n")


class Channel:
    """The guest's virtio port: see guest/agent.c for the frames."""

    def __init__(self, path, on_frame):
        self.socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + 20
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise ClusterError(f"no {path}") from None
                time.sleep(0.02)
        self.lock = threading.Lock()
        self.on_frame = on_frame
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        rest = b""
        while True:
            try:
                data = self.socket.recv(65536)
            except OSError:
                data = b""
            if not data:
                self.on_frame(None)
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.on_frame(line.decode("ascii", "replace").strip())

    def send(self, text):
        with self.lock:
            try:
                self.socket.sendall(text.encode())
            except OSError:
                pass

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


@functools.cache
def tsc_khz():
    """The TSC's frequency: a guest without KVM would measure it wrong on a busy host."""
    return subprocess.check_output([image.build_tool(os.path.join(image.HERE, "tsc.c"))],
                                   text=True, timeout=20).strip()


class Machine:
    """One guest. Off until start()."""

    def __init__(self, cluster, name, index, memory, cpus, append, disks=(),
                 initrd=None, root=None):
        self.cluster = cluster
        self.initrd = initrd or cluster.image
        self.root = root
        self.name = name
        self.index = index
        self.memory = memory
        self.cpus = cpus
        self.append = append
        self.disks = []
        self.process = None
        self.powered_on_at = 0
        self.channel = None
        self.jobs = {}
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
    def address(self):
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
            "-append", append,
            "-chardev", f"file,id=console,path={self._path('console')},append=on",
            "-serial", "chardev:console",
            "-chardev", f"socket,id=agent,path={self._path('agent')},server=on,wait=off",
            # As many ports as it may have, so many files does the emulator poll for each packet.
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
        return command

    def start(self):
        """Power on, and wait until the guest takes commands."""
        self.power_on()
        self.wait_ready()

    def power_on(self):
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

    def wait_ready(self):
        if self._boots():
            return
        failure = f"{self.name} did not boot\n{self.log_tail(60)}"
        # With a kernel of Debian's, nothing of ours is in it yet.
        if self.root or STALE_CODE not in self._console_bytes()[self.powered_on_at:]:
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

    def kill(self):
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

    def is_on(self):
        return self.process is not None and self.process.poll() is None

    def processor_time(self):
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

    def send(self, text):
        if self.channel:
            self.channel.send(text)

    def spawn(self, command, on_output=None):
        """Start a shell command; the Job to wait for. on_output gets bytes as they come."""
        if not self.is_on():
            raise ClusterError(f"{self.name} is off\n{self.log_tail(30)}")
        with self.lock:
            self.counter += 1
            job = Job(self, str(self.counter), on_output)
            self.jobs[job.ident] = job
        self.send(f"R {job.ident} {base64.b64encode(command.encode()).decode()}\n")
        return job

    def run(self, command, timeout=60, on_output=None):
        """(status, output); status 124: out of time and killed, 125: the guest is gone."""
        job = self.spawn(command, on_output)
        job.wait(timeout)
        if not job.ended.is_set():
            job.kill()
            job.wait(5)
            return 124, job.output + f"\n(killed after {timeout} s)\n"
        return (125 if job.status is None else job.status), job.output

    def check(self, command, timeout=60):
        """Output of a command that must succeed."""
        status, output = self.run(command, timeout)
        if status:
            raise ClusterError(f"{self.name}: {command!r} gave {status}\n{output}")
        return output

    def wait_for(self, condition, seconds, show="true"):
        """Until a shell command succeeds; what another one shows is in the error."""
        self.check(f"i=0; until {condition}; do i=$((i + 1)); [ $i -lt {seconds * 5} ] || "
                   f"{{ {show}; exit 1; }}; sleep 0.2; done", 2 * seconds + 20)

    def qmp(self, execute, /, **arguments):
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

    def console(self):
        """All the console has printed, over every boot."""
        try:
            with open(self._path("console"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def log_tail(self, lines):
        text = self.console().replace("\r", "").splitlines()[-lines:]
        with open(self._path("qemu.log"), encoding="utf-8", errors="replace") as file:
            text += file.read().splitlines()[-10:]
        return "\n".join(f"  {self.name}| {line}" for line in text)

    def complaints(self, since=0):
        """Lines of the console, from that offset on, that fail a test."""
        text = self.console()[since:].replace("\r", "")
        text = WARNINGS.sub(lambda warning: "" if "rxe_comp.c" in warning[0] else warning[0], text)
        return [line for line in text.splitlines() if COMPLAINTS.search(line)]


def link_or_copy(source, target):
    """Links a file of the cache, so that it can be booted even after it is removed there."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def make_directory():
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
    so that the kernel can change code that another of them runs.
    """

    # pylint: disable=too-many-arguments,too-many-instance-attributes
    def __init__(self, donors=2, client_mem=192, donor_mem=768, client_cpus=1,
                 donor_cpus=1, append="", donor_append="", daemon=None,
                 disks=((1024, 0),), min_free_kb=16384, params=True,
                 extra=(), extra_programs=(), modules=None, extra_modules=(),
                 client_root=None, start=True, counted=False, slab_mb=8,
                 clients=None, both=0, one_thread=False):
        self.counted = counted
        threads = "single" if one_thread else "multi"
        self.accel = ("tcg,thread=single" if counted else
                      os.environ.get("FARSWAP_ACCEL", f"tcg,thread={threads}"))
        self.cpu = os.environ.get("FARSWAP_CPU", CPU if "tcg" in self.accel else "max")
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
        program = image.build_tool(os.path.join(image.HERE, "switch.c"))
        self.switch_path = os.path.join(self.directory, "switch")
        self.switch = spawner().popen([program, self.switch_path], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while not os.path.exists(self.switch_path):
            if self.switch.poll() is not None or time.monotonic() > deadline:
                raise ClusterError("the network did not start")
            time.sleep(0.01)

    def start(self):
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

    def machine(self, name):
        """By its name or its address; None if there is no such."""
        return next((vm for vm in self.machines.values() if name in (vm.name, vm.address)), None)

    def lenders(self, client):
        """The machines that lend to it."""
        return [vm for vm in self.donors if vm is not client]

    def request(self, words, asking=None):
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

    def cable(self, vm, what, value):
        """Make a machine's cable bad: "delay" ms or "lose" percent; see switch.c."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as control:
            control.settimeout(10)
            control.bind("")        # the kernel makes up a name, to answer to
            control.connect(self.switch_path + ".control")
            control.send(f"{vm.index} {what} {value}".encode())
            answer = control.recv(100).decode()
        if answer != "ok":
            raise ClusterError(f"{what} {value}: {answer}")

    def swap_on(self):
        for vm in self.clients:
            vm.check("mkswap /dev/vda >/dev/null && swapon /dev/vda")

    def up(self, donors=None):
        """Swap on and farswap on each client, with every donor connected, or so many."""
        self.swap_on()
        for vm in self.clients:
            vm.check("modprobe farswap")
        file = f"{farswap.DEBUG}/donors"
        for vm in self.clients:
            vm.wait_for(f"[ \"$(awk 'NR > 1 && $2 == \"live\"' {file} | wc -l)\" -ge "
                        f"{len(self.lenders(vm)) if donors is None else donors} ]",
                        30, f"cat {file}")

    def marks(self):
        return {vm.name: len(vm.console()) for vm in self.machines.values()}

    def complaints(self, marks=None):
        """Lines on any console since marks() that fail a test."""
        marks = marks or {}
        return [f"{vm.name}: {line}" for vm in self.machines.values()
                for line in vm.complaints(marks.get(vm.name, 0))]

    def leaks(self):
        """Leaked memory of the clients, if their kernel looks for leaks."""
        slow = image.machine_of(self.client.root)[0]["slow"]
        # Objects younger than 5 s are not reported, nor those that have changed since the scan.
        jobs = [vm.spawn("cd /sys/kernel/debug && [ -e kmemleak ] || exit 0; "
                         "echo scan >kmemleak; sleep 6; echo scan >kmemleak; cat kmemleak")
                for vm in self.clients if vm.is_on()]
        deadline = time.monotonic() + 180 * slow
        return "".join(f"{job.vm.name}:\n{text}" for job in jobs
                       if (text := job.wait(max(deadline - time.monotonic(), 0))[1]))

    def coverage(self, directory):
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

    def emulator_failed(self):
        """
        Whether a guest died with flags that no processor can have. QEMU 7.2 without
        KVM now and then writes another register's bits into them; what the guest
        does is no matter, and no test says anything then.
        """
        return any(int(flags, 16) >> 22 for vm in self.machines.values()
                   for flags in FLAGS.findall(vm.console()))

    def close(self):
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


def exit_on_signals():
    """Turn the signals that end a program into an exit that cleans up."""
    def leave(number, _frame):
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)


def once_more(attempt):
    """Returns the result of attempt(), repeated once if it is None: the emulator broke a guest."""
    result = attempt()
    if result is None:
        print("the emulator broke a guest: flags that no processor can have; once more",
              flush=True)
        result = attempt()
    if result is None:
        raise ClusterError("the emulator broke a guest twice")
    return result


def print_bytes(data):
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def run_command(cluster, args):
    status, _ = cluster.client.run(" ".join(args.command), args.timeout, print_bytes)
    if status == 124:
        print(f"(killed after {args.timeout} s)")
    return status


def shell(cluster, _args):
    names = "|".join(cluster.machines)
    print(f"one command a line; '({names}): COMMAND' for one machine; ^D ends")
    while True:
        try:
            line = input(f"{cluster.client.name}# ")
        except EOFError:
            return 0
        match = re.match(rf"({names}):\s*(.*)", line)
        vm = cluster.machines[match[1]] if match else cluster.client
        try:
            status, _ = vm.run(match[2] if match else line, 3600, print_bytes)
            if status:
                print(f"({status})")
        except ClusterError as error:
            print(error)


def parse_disk(text):
    size, _, iops = text.partition(":")
    return int(size), int(iops or 0)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "shell"))
    parser.add_argument("--clients", type=int, metavar="N",
                        help="default: one, or none with --both")
    parser.add_argument("--donors", type=int, metavar="N", help="default: 2, or none with --both")
    parser.add_argument("--both", type=int, default=0, metavar="N",
                        help="machines that swap and lend; --mem, --cpus, --disk and "
                             "--client-kernel are for them too")
    parser.add_argument("--mem", type=int, default=192, help="client's memory, MB")
    parser.add_argument("--donor-mem", type=int, default=768, help="each donor's memory, MB")
    parser.add_argument("--cpus", type=int, default=1, help="client's processors")
    parser.add_argument("--one-thread", action="store_true",
                        help="emulate all processors of a machine by one thread")
    parser.add_argument("--disk", type=parse_disk, action="append", metavar="MB[:IOPS]",
                        help="a disk of the client; default one of 1024 MB")
    parser.add_argument("--append", default="", help="client's kernel arguments, added")
    parser.add_argument("--client-kernel", metavar="DIR",
                        help="what the client runs, as tools/testing/tree/kernel.sh prints it")
    parser.add_argument("--daemon", help="farswapd's options: key=value,key=value")
    parser.add_argument("--file", action="append", default=[], metavar="HOST:GUEST",
                        help="put a program into the guests, with its libraries")
    parser.add_argument("--up", action="store_true",
                        help="swap on, load farswap, wait for the donors")
    parser.add_argument("--timeout", type=float, default=300, help="of the command, seconds")
    parser.add_argument("--console", action="store_true", help="print the consoles at the end")
    parser.usage = "%(prog)s run|shell [options] [-- COMMAND]"
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    args = parser.parse_args(words[:at])
    args.command = words[at + 1:]
    if args.donors is None:
        args.donors = 0 if args.both else 2
    if (args.action == "run") != bool(args.command):
        parser.error("run takes a command after --, shell takes none")
    return args


def main():
    args = arguments()
    exit_on_signals()
    programs = [(guest, host, None) for host, guest in
                (word.split(":", 1) for word in args.file)]
    status = 1
    try:
        with Cluster(clients=args.clients, donors=args.donors, both=args.both,
                     client_mem=args.mem, donor_mem=args.donor_mem, client_cpus=args.cpus,
                     disks=args.disk or ((1024, 0),),
                     append=args.append, daemon=args.daemon,
                     one_thread=args.one_thread,
                     extra_programs=programs, client_root=args.client_kernel) as cluster:
            try:
                if args.up:
                    cluster.up()
                status = {"run": run_command, "shell": shell}[args.action](cluster, args)
            finally:
                bad = cluster.complaints()
                if status or bad or args.console:
                    for vm in cluster.machines.values():
                        print(f"--- console of {vm.name}", file=sys.stderr)
                        print(vm.log_tail(4000 if args.console else 60), file=sys.stderr)
            for line in bad:
                print(f"kernel: {line}", file=sys.stderr)
            return status or bool(bad)
    except (ClusterError, image.ImageError) as error:
        sys.exit(f"cluster: {error}")


if __name__ == "__main__":
    sys.exit(main())
