#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Compares farswap with other kinds of swap, on the same virtual machines in one run: page
faults, HPBD's two programs, and two key-value servers. Prints tables, and leaves CSV and plots
in a folder. Raw RDMA between the same machines is measured before and after each: only the ratios
to that, and to each other, within one run are meaningful.

Parts:
  faults    memory of one and a half times the machine's: random reads, rewritten or not, in
            order, in strides; each with what it cost both machines
  local     random reads and rewrites where so many per cent of a program's memory are local
  threads   the same by so many threads, on two processors
  beside    random reads, half of their memory local, without and with a program that does
            nothing but write beside it, on two processors
  hpbd      testswap and quicksort (Liang et al., CLUSTER 2005)
  servers   Redis and memcached with the ETC and SYS mixes (Gu et al., NSDI 2017)
  counted   instructions of a page in and of one out, in one machine alone (instructions.py)

A load of a part but faults, threads and beside has half of --seconds, a server with all or a tenth
of its memory local a quarter; fill, HPBD's and what is counted have what they need.
"""

import argparse
import contextlib
import functools
import os
import platform
import re
import subprocess
import sys
import time

import harness
from harness import host, image, raw
import backing as backings
import goals
import instructions
import report
import tables
from measure import Costs
from programs import LOCAL, Asked, Program

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

CGROUP = "/sys/fs/cgroup/bench"
# In this order: what is rewritten finds memory full of such pages, however many of them a kind of
# swap had put out ahead; what is only read, none.
PHASES = ("fill", "dirty", "mixed", "clean", "read", "sequential", "strided")
# Pages that the kernel reads ahead, as a power of two.
READAHEAD = {"sequential": 3, "strided": 3}
PERCENTS = (100, 75, 50, 25, 10)
THREADS = (1, 2, 4)
# Relative to the swapped memory. On a device that is more than half full the kernel frees each slot
# when it is read, and so writes the page again although it is unchanged.
DEVICE_PARTS = 9 / 4
# Memory of the programs that fit into the machine, MB.
LOCAL_MB, WRITER_MB, HPBD_MB, SERVER_KEYS = 96, 64, 32, 40000
MIXES = {"ETC": 95, "SYS": 75}
# The counted load: its size in MB, its accesses, and the largest ratio of two runs.
COUNTED_MB, COUNTED_ACCESSES, COUNTED_LIMIT = 64, 2000, 1.01
SERVERS = {
    "redis": "redis-server --port 0 --unixsocket /run/redis.sock --save '' --appendonly no "
             "--daemonize no --logfile /run/redis.log --dir /run",
    "memcached": "memcached -u root -s /run/memcached.sock -m 1024 -t 1",
}


class BrokenGuest(Exception):
    """The emulator's fault, not the guest's."""


@contextlib.contextmanager
def boot(args, backing, memory, cpus=1, programs=()):
    """A cluster that meets the needs of a kind of swap, which is not started yet."""
    far = isinstance(backing, backings.Farswap)
    with harness.Cluster(
            donors=backing.donors, client_mem=memory, client_cpus=cpus,
            donor_mem=args.donor_mem,
            disks=[(backing.disk(), backing.iops)] if backing.disk() else [],
            append=f"{backing.append} {args.append}", params=far,
            daemon=f"memory={args.donor_mem - 224}M,slab={backings.SLAB_MB}M",
            donor_append="" if far else "fs.start=0",
            extra_modules=backing.modules,
            extra_programs=[*backing.programs(), *programs,
                            ("/usr/bin/fault", os.path.join(HERE, "fault"), None)]) as cluster:
        cluster.client.check("echo 0 >/proc/sys/vm/page-cluster; "
                             "echo 1 >/proc/sys/vm/overcommit_memory; "
                             "for d in /sys/block/vd*/queue; do echo 0 >$d/rotational; done; "
                             "echo never >/sys/kernel/mm/transparent_hugepage/enabled")
        try:
            yield cluster
        except harness.ClusterError as error:
            if cluster.emulator_failed():
                raise BrokenGuest() from error
            raise


def make_cgroup(client):
    client.check(f"echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir {CGROUP}")


def numbers_of(lines):
    """Parses the output of a program: ({name: number}, {upper bound in µs: count})."""
    numbers, buckets = {}, {}
    for line in lines:
        _, *words = line.split()
        pairs = {key: float(value) for key, value in zip(words[::2], words[1::2])}
        if "bucket_us" in pairs:
            bound = pairs["bucket_us"]
            buckets[bound] = buckets.get(bound, 0) + int(pairs["count"])
        else:
            numbers |= pairs
    if numbers.pop("wrong", 0):
        raise harness.ClusterError(f"memory was wrong: {lines}")
    return numbers, buckets


class Bench:
    """The planned measurements and their results."""

    def __init__(self, args):
        self.args = args
        self.results = report.Results()
        self.failed = []
        self.found = report.Results()

    def attempt(self, part, backing_class):
        """True, or None where the emulator broke a guest. Only measurements that completed
        count."""
        self.found = report.Results()
        try:
            getattr(self, part)(backing_class)
        except BrokenGuest:
            return None
        except harness.ClusterError as error:
            self.failed.append(f"{part}, {backing_class.name}: {error}")
            print("  FAILED:", self.failed[-1], flush=True)
        else:
            self.results.join(self.found)
        return True

    def add(self, load, backing, setting, numbers):
        for name, number in numbers.items():
            self.found.add(load, backing.name, setting, name, number)

    def say(self, backing, text):
        print(f"  {backing.name}: {text}", flush=True)

    def raw(self, cluster, backing, part):
        """The latency of 4 KiB."""
        if backing.network:
            client, donor = cluster.client, cluster.donors[0]
            self.add("raw READ", backing, part, dict(zip(
                ("p50_us", "p99_us"), raw.read_latency(client, donor, 1000))))
            self.add("raw WRITE", backing, part, {
                "mb_per_s": raw.bandwidth(client, donor, "write", 4096, 2500, 16)})

    @contextlib.contextmanager
    def boot(self, part, backing, memory, **options):
        """Like boot(), and measures raw RDMA before and after the block."""
        with boot(self.args, backing, memory, **options) as cluster:
            self.raw(cluster, backing, part)
            yield cluster
            self.raw(cluster, backing, part)
            self.end(cluster, backing, part)

    def end(self, cluster, backing, part):
        percent = backing.remote_percent(cluster)
        if percent is not None:
            self.add(part, backing, "", {"remote_percent": percent})
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"{backing.name}: kernel: {complaints[0]}")

    def phase(self, cluster, backing, program, load, setting=""):
        """Runs a load of fault.c and measures its cost."""
        client = cluster.client
        client.check(f"echo {READAHEAD.get(load, 0)} >/proc/sys/vm/page-cluster")
        with Costs(cluster) as costs:
            numbers, buckets = numbers_of(program.ask(load, self.args.timeout))
        self.add(load, backing, setting, numbers | costs.costs)
        if buckets:
            self.found.add_histogram(load, backing.name, setting, buckets)
        return numbers

    def faults(self, backing_class):
        args = self.args
        megabytes = args.mem * 3 // 2
        backing = backing_class(int(megabytes * DEVICE_PARTS))
        memory = args.mem + backing.more_memory(megabytes)
        with self.boot("faults", backing, memory) as cluster:
            backing.start(cluster)
            group = None
            if backing.inside:
                # About the share of the client's memory that others find free.
                group = CGROUP
                make_cgroup(cluster.client)
                self.limit(cluster.client, args.mem << 20, 60)
            program = Asked(cluster.client, f"fault -b -i -s {args.seconds} {megabytes} "
                                            f"{args.accesses} 1", group)
            for load in PHASES:
                numbers = self.phase(cluster, backing, program, load)
                if load == "read":
                    self.say(backing, f"fault p50 {numbers['p50_us']:.0f} µs")
            if isinstance(backing, backings.Farswap):
                # The time that a donor's daemon always needs to sample its memory.
                with Costs(cluster) as costs:
                    time.sleep(args.seconds)
                self.add("idle", backing, "", costs.costs)
            program.end()

    def local(self, backing_class):
        backing = backing_class(int(LOCAL_MB * DEVICE_PARTS))
        memory = self.args.mem + LOCAL_MB + backing.more_memory(LOCAL_MB)
        with self.boot("local", backing, memory) as cluster:
            client = cluster.client
            backing.start(cluster)
            make_cgroup(client)
            program = Asked(client, f"fault -b -i -s {self.args.seconds // 2} {LOCAL_MB} "
                                    f"{self.args.accesses} 1", CGROUP)
            program.ask("fill")
            for percent in self.percents(PERCENTS):
                self.limit(client, LOCAL_MB << 20, percent)
                for load in ("read", "mixed"):
                    numbers = self.phase(cluster, backing, program, load, f"{percent} % local")
                self.say(backing, f"{percent} % local: {numbers['accesses_per_s']:.0f} a second")
            program.end()

    def percents(self, most):
        return [percent for percent in most if percent in self.args.local]

    def limit(self, client, whole, percent):
        """Limits a cgroup to a share of the memory it needs, in per cent; 100 means no limit."""
        limit = "max" if percent == 100 else int(whole * percent / 100)
        client.check(f"echo {limit} >{CGROUP}/memory.high && echo {limit} >{CGROUP}/memory.max",
                     self.args.timeout)

    def threads(self, backing_class):
        megabytes = self.args.mem * 3 // 2
        backing = backing_class(int(megabytes * DEVICE_PARTS))
        with self.boot("threads", backing, self.args.mem, cpus=2) as cluster:
            backing.start(cluster)
            program = Asked(cluster.client, f"fault -b -i -s {self.args.seconds} {megabytes} "
                                            f"{self.args.accesses} 1")
            program.ask("fill")
            for threads in THREADS:
                program.ask(f"threads {threads}")
                for load in ("read", "mixed"):
                    numbers = self.phase(cluster, backing, program, load, f"{threads} threads")
                self.say(backing, f"{threads} threads: {numbers['accesses_per_s']:.0f} a second")
            program.end()

    def beside(self, backing_class):
        backing = backing_class(int((LOCAL_MB + WRITER_MB) * DEVICE_PARTS))
        memory = self.args.mem + LOCAL_MB // 2 + LOCAL
        with self.boot("beside", backing, memory, cpus=2) as cluster:
            client = cluster.client
            backing.start(cluster)
            make_cgroup(client)
            program = Asked(client, f"fault -b -i -s {self.args.seconds} {LOCAL_MB} "
                                    f"{self.args.accesses} 1", CGROUP)
            program.ask("fill")
            self.limit(client, LOCAL_MB << 20, 50)
            # Read as much before the measurement, so that most pages in memory are clean.
            program.ask("read", self.args.timeout)
            self.phase(cluster, backing, program, "read", "alone")
            # Write fresh memory each time, so that the program reads no page back.
            writer = Program(client, "sh -c 'while fault %d 1 1 read; do :; done'" % WRITER_MB,
                             LOCAL, "writer")
            writer.wait_lines(1, self.args.timeout)
            numbers = self.phase(cluster, backing, program, "read", "beside")
            if writer.job.ended.is_set():
                raise harness.ClusterError(f"the writer has ended\n{writer.job.output[-500:]}")
            self.say(backing, f"fault p99 beside a writer {numbers['p99_us']:.0f} µs")
            writer.end()
            program.end()

    def hpbd(self, backing_class):
        backing = backing_class(int(HPBD_MB * DEVICE_PARTS))
        memory = self.args.mem + HPBD_MB + backing.more_memory(HPBD_MB)
        with self.boot("hpbd", backing, memory, programs=[
                ("/usr/bin/hpbd", os.path.join(HERE, "hpbd"), None)]) as cluster:
            client = cluster.client
            backing.start(cluster)
            make_cgroup(client)
            client.check("echo 3 >/proc/sys/vm/page-cluster")
            percent = 100 if isinstance(backing, backings.Local) else 50
            self.limit(client, HPBD_MB << 20, percent)
            for load in tables.HPBD:
                with Costs(cluster) as costs:
                    output = client.check(f"echo $$ >{CGROUP}/cgroup.procs; "
                                          f"hpbd {load} {HPBD_MB} 1", self.args.timeout)
                numbers, _ = numbers_of(output.splitlines())
                self.add(load, backing, f"{percent} % local", numbers | costs.costs)
                self.say(backing, f"{load} {numbers['seconds']:.1f} s")

    def servers(self, backing_class):
        megabytes = SERVER_KEYS * 1200 >> 20
        backing = backing_class(int(megabytes * DEVICE_PARTS))
        memory = self.args.mem + megabytes + backing.more_memory(megabytes)
        with self.boot("servers", backing, memory, programs=server_programs()) as cluster:
            backing.start(cluster)
            make_cgroup(cluster.client)
            for name, command in SERVERS.items():
                self.server(cluster, backing, name, command)

    def server(self, cluster, backing, name, command):
        client = cluster.client
        backing.warm(cluster)
        self.limit(client, 0, 100)
        server = client.spawn(f"echo $$ >{CGROUP}/cgroup.procs && exec {command}")
        client.wait_for(f"[ -S /run/{name}.sock ]", 20)
        program = Asked(client, f"kv {name} /run/{name}.sock {SERVER_KEYS} 1")
        program.ask("fill")
        whole = int(client.check(f"cat {CGROUP}/memory.current"))
        for percent in self.percents(SERVER_PERCENTS[type(backing)]):
            seconds = self.args.seconds / (4 if percent in BRIEF else 2)
            self.limit(client, whole, percent)
            for mix, gets in MIXES.items():
                # Read as much before the measurement, so that the popular keys are in memory.
                program.ask(f"run {gets} {seconds}", self.args.timeout)
                with Costs(cluster) as costs:
                    numbers, buckets = numbers_of(
                        program.ask(f"run {gets} {seconds}", self.args.timeout))
                load, setting = f"{name} {mix}", f"{percent} % local"
                self.add(load, backing, setting, numbers | costs.costs)
                self.found.add_histogram(load, backing.name, setting, buckets)
                if percent in (50, 100):
                    self.say(backing, f"{name} {mix} at {percent} %: "
                                      f"{numbers['per_s']:.0f} a second")
        program.end()
        server.kill()
        server.wait(20)

    def counted(self, backing_class):
        args = argparse.Namespace(mem=COUNTED_MB, accesses=COUNTED_ACCESSES,
                                  append=self.args.append, timeout=self.args.timeout)
        device = COUNTED[backing_class]
        # Measure farswap twice, to prove that the counts are repeatable.
        runs = [instructions.one_run(args, device, 1)
                for _ in range(2 if device == "farswap" else 1)]
        for row in instructions.ROWS:
            numbers = [run[row] for run in runs]
            for number in numbers:
                self.add("counted", backing_class, "", {" ".join(row): number})
            if max(numbers) > min(numbers) * COUNTED_LIMIT:
                raise harness.ClusterError(f"{' '.join(row)}: the same gave {numbers}")
        self.say(backing_class, f"{runs[0]['read', 'p50_us']:.1f} thousand instructions a load, "
                                f"{runs[0]['out', 'us_per_page']:.1f} a store")


def server_programs():
    redis = os.path.join(image.cache_dir(), "redis")
    libraries = os.path.join(redis, "usr/lib/x86_64-linux-gnu")
    return [("/usr/bin/redis-server", os.path.join(redis, "usr/bin/redis-server"), libraries),
            ("/usr/bin/memcached", *backings.peer("usr/bin/memcached")),
            ("/usr/bin/kv", os.path.join(HERE, "kv"), None)]


# The share of its memory that a server has, per cent.
SERVER_PERCENTS = {backings.Farswap: PERCENTS, backings.NvmeRdma: PERCENTS,
                   backings.Nbd: (75, 50, 25), backings.Local: (100,)}
# A short measurement is enough for these.
BRIEF = (100, 10)
# The kinds of swap whose instructions are counted, and their names in instructions.py.
COUNTED = {backings.FarswapNone: "farswap", backings.Zram: "zram", backings.RamDisk: "brd"}
# The kinds of swap that each part compares; only quick parts compare all.
PARTS = {
    "faults": backings.TIMED,
    "local": (backings.Farswap, backings.NvmeRdma, backings.Nbd),
    "threads": (backings.Farswap, backings.NvmeRdma),
    "beside": (backings.Farswap, backings.NvmeRdma, backings.Nbd),
    "hpbd": (backings.Farswap, backings.NvmeRdma, backings.Nbd, backings.Backing,
             backings.Local),
    "servers": tuple(SERVER_PERCENTS),
    "counted": tuple(COUNTED),
}


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    qemu = subprocess.check_output(["qemu-system-x86_64", "--version"], text=True).splitlines()[0]
    return (f"{os.cpu_count()} CPUs, {model[1] if model else '?'}, "
            f"load {os.getloadavg()[0]:.1f}; {platform.system()} {platform.release()}; {qemu}; "
            f"accelerator {os.environ.get('FARSWAP_ACCEL', 'tcg')}")


def revision():
    """The revision of this tree, if it is a checkout."""
    found = subprocess.run(["git", "-c", "safe.directory=*", "describe", "--always", "--dirty"],
                           cwd=TOP, text=True, check=False, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return found.stdout.strip() or "?"


class Said:
    """The printed output, also kept in a file beside the CSV."""

    def __init__(self, path):
        self.terminal = sys.stdout
        # pylint: disable=consider-using-with
        self.file = open(path, "w", encoding="utf-8")

    def write(self, text):
        self.file.write(text)
        return self.terminal.write(text)

    def flush(self):
        self.file.flush()
        self.terminal.flush()


def common_options(about, runs, seconds, timeout=300):
    """A parser with the options that all benches of a client and its donors share."""
    parser = argparse.ArgumentParser(description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--mem", type=int, default=192, help="client's memory, MB")
    parser.add_argument("--donor-mem", type=int, default=1024, help="each donor's, MB")
    parser.add_argument("--seconds", type=int, default=seconds, help="of a load, at most")
    parser.add_argument("--append", default="", help="client's kernel arguments")
    parser.add_argument("--timeout", type=int, default=timeout, help="of a load, seconds")
    return parser


def arguments():
    parser = common_options(__doc__, runs=1, seconds=6)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--swap", help="only these kinds of swap, with commas between")
    parser.add_argument("--local", default=",".join(map(str, PERCENTS)), metavar="PERCENTS",
                        help="what programs of local and servers have of their memory")
    parser.add_argument("--out", default=os.path.join(TOP, "out/bench"),
                        help="folder for CSV and plots")
    parser.add_argument("--accesses", type=int, default=10000,
                        help="of a random load, at most")
    args = parser.parse_args()
    args.only = args.only.split(",")
    for part in args.only:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; there are {', '.join(PARTS)}")
    try:
        args.local = [int(percent) for percent in args.local.split(",")]
    except ValueError:
        parser.error(f"{args.local!r} is not per cents; there are {', '.join(map(str, PERCENTS))}")
    if unknown := [percent for percent in args.local if percent not in PERCENTS]:
        parser.error(f"{unknown[0]} per cent is not measured; "
                     f"there are {', '.join(map(str, PERCENTS))}")
    names = {backing.name.replace(",", "").replace(" ", "-").lower(): backing
             for backing in backings.ALL}
    args.swap = [names.get(name) for name in args.swap.split(",")] if args.swap else backings.ALL
    if None in args.swap:
        parser.error(f"kinds of swap are {' '.join(names)}")
    return args


def measure(args, bench):
    for run in range(1, args.runs + 1):
        for part in args.only:
            print(f"run {run}, {part}", flush=True)
            began = time.monotonic()
            for backing in PARTS[part]:
                if backing in args.swap:
                    harness.once_more(functools.partial(bench.attempt, part, backing))
            print(f"  {(time.monotonic() - began) / 60:.1f} min", flush=True)


def main():
    args = arguments()
    harness.exit_on_signals()
    started = time.monotonic()
    host.build(host.fetch("--bench"), HERE, "modules", "daemon", "tests")
    subprocess.run(["make", "-s", "-C", HERE, "kv"], check=True)
    os.makedirs(args.out, exist_ok=True)
    sys.stdout = Said(os.path.join(args.out, "tables.txt"))
    print(f"machine: {machine()}\nguests: client {args.mem} MB and 1 CPU, donors "
          f"{args.donor_mem} MB and 1 CPU, Linux {image.kernel()[0]}; soft RoCE, MTU 9000\n"
          f"farswap {revision()}; {args.runs} run{'s' * (args.runs > 1)}, loads of "
          f"{args.seconds} s or {args.accesses} accesses")
    for backing in args.swap:
        print(f"  {backing.name}: {backing.about}")
    host.note_other_work()
    bench = Bench(args)
    try:
        measure(args, bench)
    finally:
        # An interrupted run still prints its results.
        bench.results.write(args.out)
    spread = "median (lowest–highest)" if args.runs > 1 else \
        "1 run, so that no spread is known but raw RDMA's, of before and after"
    print(f"\n{spread}; out/in: pages put out for each that is read in")
    tables.show(bench.results)
    goals.show(bench.results, args.runs)
    tables.plot(bench.results, args.out)
    print(f"\n{os.path.relpath(args.out)}: tables, CSV and plots; "
          f"{(time.monotonic() - started) / 60:.1f} min")
    for line in bench.failed:
        print(f"FAILED: {line}")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")
