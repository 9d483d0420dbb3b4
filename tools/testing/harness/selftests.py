# SPDX-License-Identifier: GPL-2.0
"""
Runs the selftests in QEMU clusters, on the modules and the daemon this tree has
built. With names, only those tests. A test says in a comment what it needs:

  # cluster: donors=2 mem=192 disks=1

(also: clients both donor_mem cpus donor_cpus disk_mb iops nfs slab_mb; a word with a dot
in its name is an argument of the clients' kernel; tree=1: a kernel of tools/testing/tree/,
without which it is left out; one_thread=1: one thread of QEMU emulates all processors of a
machine, which may then change code that they run; aes=1: processors with all instructions
for AES-GCM, so that protect is encrypt by default). With both=N there are no other machines
unless the test asks for them; machines that are both have mem, cpus and disks as clients
have. A cluster serves the next test too if the last one passed, so tests that need the same
are run together, in a cluster with the donors and the disks of the one among them that needs
most. A test runs on the first client. $CLIENTS has the addresses of all clients; $DONORS
has those of the machines that lend to the first, no more than the test asked for.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from typing import Iterator, Sequence

from harness import image, ktap
from harness.cluster import Cluster, exit_on_signals, print_bytes
from harness.errors import ClusterError
from harness.needs import Needs, grouped, in_turn, parse, without_rare

SELFTESTS = os.path.join(image.TOP, "tools/testing/selftests/farswap")
GUEST = "/selftests/farswap"
# Large modules, which machines with little memory do not get by default.
NFS_MODULES = ["nfsd", "nfsv4"]
SHOWN_CONSOLE = 80


def make(*words: str) -> str:
    return subprocess.run(["make", "-s", "--no-print-directory", "-C", SELFTESTS, *words],
                          check=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE).stdout


def listed_tests() -> tuple[list[str], list[str]]:
    """TEST_PROGS and TEST_GEN_PROGS, in the Makefile's order."""
    text = subprocess.run(
        ["make", "-s", "--no-print-directory", "-C", SELFTESTS, "-f", "-", "print-tests"],
        input="include Makefile\nprint-tests:\n\t@echo $(TEST_PROGS) $(TEST_GEN_PROGS)\n",
        check=True, text=True, timeout=60, stdout=subprocess.PIPE).stdout
    names = [os.path.basename(name) for name in text.split()]
    missing = [name for name in names if not os.path.exists(os.path.join(SELFTESTS, name))]
    return [name for name in names if name not in missing], missing


def needs_of(name: str) -> Needs:
    with open(os.path.join(SELFTESTS, name), "rb") as file:
        return parse(name, file.read(4096).decode(errors="replace"))


def time_limit() -> int:
    try:
        with open(os.path.join(SELFTESTS, "settings"), encoding="ascii") as file:
            match = re.search(r"^timeout=(\d+)", file.read(), re.MULTILINE)
            return int(match[1]) if match else 300
    except FileNotFoundError:
        return 300


def listed_files() -> Iterator[tuple[str, str]]:
    """(path in the guest, path here) of what the Makefile lists, and the kernel's helpers."""
    for word in make("list").split():
        path = os.path.join(SELFTESTS, word)
        if os.path.exists(path):
            yield f"{GUEST}/{os.path.basename(word)}", path
    yield (f"{os.path.dirname(GUEST)}/kselftest/ktap_helpers.sh",
           os.path.join(image.cache_dir(), "kernel/lint/tools/testing/selftests/kselftest",
                        "ktap_helpers.sh"))


def installed_files(directory: str) -> Iterator[tuple[str, str]]:
    """Like that, for tests that the kernel's make has installed."""
    for where, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(where, name)
            yield os.path.join(os.path.dirname(GUEST), os.path.relpath(path, directory)), path


def guest_files(kselftest: str | None) -> tuple[list, list]:
    """(plain files, programs) for the image."""
    files, programs = [], []
    for target, path in installed_files(kselftest) if kselftest else listed_files():
        with open(path, "rb") as file:
            binary = file.read(4) == b"\x7fELF"
        (programs if binary else files).append(
            (target, path, None) if binary else (target, path))
    return files, programs


def addresses_in(cluster: Cluster, donors: int) -> str:
    """The addresses for a test's environment, with at most that many donors."""
    lend = [vm for vm in cluster.donors if vm not in cluster.clients][:donors] + \
        [vm for vm in cluster.lenders(cluster.client) if vm in cluster.clients]
    return " ".join(f"{name}='{' '.join(vm.address for vm in machines)}'"
                    for name, machines in (("CLIENTS", cluster.clients), ("DONORS", lend)))


class Runner:
    """Runs tests one after the other, in a cluster that is kept while it can be."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.cluster: Cluster | None = None
        self.needs: Needs | None = None
        self.marks: dict[str, int] = {}
        self.total = ktap.Tally()
        self.extra, self.programs = guest_files(args.kselftest)

    def cluster_for(self, needs: Needs) -> Cluster:
        if self.cluster and self.needs == needs and self.cluster.client.is_on():
            return self.cluster
        self.drop_cluster()
        self.cluster = Cluster(
            clients=needs["clients"], donors=needs["donors"], both=needs["both"],
            client_mem=needs["mem"], client_cpus=needs["cpus"], donor_mem=needs["donor_mem"],
            donor_cpus=needs["donor_cpus"],
            disks=[(needs["disk_mb"], needs["iops"])] * needs["disks"],
            slab_mb=needs["slab_mb"], one_thread=bool(needs["one_thread"]),
            aes=bool(needs["aes"]),
            append=needs["append"] + self.args.append,
            extra=self.extra, extra_programs=self.programs,
            extra_modules=NFS_MODULES if needs["nfs"] else [],
            client_root=self.args.client_kernel)
        self.needs = needs
        self.marks = {}
        return self.cluster

    def drop_cluster(self) -> None:
        if self.cluster:
            try:
                self.look_for_complaints()
                self.look_for_leaks()
                if self.args.coverage:
                    self.cluster.coverage(tempfile.mkdtemp(dir=self.args.coverage))
            finally:
                self.cluster.close()
        self.cluster = None

    def complaints(self) -> list[str]:
        """Complaints on all consoles since the last call, or since boot."""
        marks, self.marks = self.marks, self.cluster.marks()
        return self.cluster.complaints(marks)

    def look_for_complaints(self) -> None:
        # The results are void if the emulator failed.
        if self.cluster.emulator_failed():
            return
        complaints = self.complaints()
        if complaints:
            result = ktap.Tally()
            result.fail(f"kernel: {complaints[0]}")
            self.report("after the last test", result)
            self.show("\n".join(complaints), "")
            self.total.add(result)

    def look_for_leaks(self) -> None:
        # Debian's kernel does not detect leaks, and a hung client would not answer.
        leaks = self.cluster.leaks() if self.args.client_kernel else ""
        if leaks:
            result = ktap.Tally()
            result.fail("unreferenced memory in a client")
            self.report("since it was booted", result)
            self.show(leaks, "")
            self.total.add(result)

    def run(self, name: str, needs: Needs) -> None:
        if self.attempt(name, needs):
            return
        print(f"note: {name} is tried once more: the emulator failed, or it was too slow",
              flush=True)
        self.attempt(name, needs, last=True)

    def attempt(self, name: str, needs: Needs, last: bool = False) -> bool:
        """Run a test, and count it: False if it should be tried again instead."""
        begun = self.clocks()
        output, consoles, complaints, status = "", "", [], None
        try:
            cluster = self.cluster_for(needs)
            marks = cluster.marks()
            addresses = addresses_in(cluster, needs_of(name)["donors"])
            on_output = print_bytes if self.args.verbose else None
            environment = "".join(f"{word} " for word in self.args.env)
            program = f"../run_kselftest.sh -t farswap:{name}" if self.args.kselftest \
                else f"./{name}"
            status, output = cluster.client.run(
                f"cd {GUEST} && {environment} {addresses} {program}", self.args.timeout,
                on_output)
            if self.args.kselftest and not status:
                output, status = ktap.unnested(output)
            complaints = self.complaints()
            result = ktap.tally(output, status)
            if status == 124:
                result.reasons.append(f"out of time after {self.args.timeout} s")
                output += self.where_it_hangs(cluster)
            elif status == 125:
                result.reasons.append("the client has died")
            consoles = self.consoles(cluster, marks)
        except (ClusterError, image.ImageError) as error:
            result = ktap.Tally()
            result.fail(str(error))
            output += str(error)
        if complaints:
            result.fail(f"kernel: {complaints[0]}")
        of_time = not complaints and result.may_be_of_time(status)
        if not last and self.cluster and (
                self.cluster.emulator_failed() or (of_time and self.args.twice)):
            self.report(name, result, self.spent(begun))
            self.show(output, consoles)
            self.drop_cluster()
            return False
        again = self.args.again and of_time
        self.report(name, result, self.spent(begun), again)
        if self.args.results:
            with open(self.args.results, "a", encoding="utf-8") as file:
                file.writelines(f"{name}: {line}\n" for line in output.splitlines()
                                if ktap.RESULT.match(line))
        if result.failed:
            self.show(output, consoles)
        if result.failed or not self.cluster_is_sane():
            self.drop_cluster()
        if again:
            with open(self.args.again, "a", encoding="ascii") as file:
                print(name, file=file)
        else:
            self.total.add(result)
        return True

    @staticmethod
    def where_it_hangs(cluster: Cluster) -> str:
        """Blocked tasks and memory of the clients that still answer."""
        command = ("echo w >/proc/sysrq-trigger; ps -o pid,stat,args | grep -v '\\[' | "
                   "tail -n 30; head -n 5 /proc/meminfo; cat /proc/swaps; "
                   "cat /sys/kernel/debug/farswap/donors /sys/kernel/debug/farswap/stats")
        return "".join(f"\n--- where it hangs: {vm.name}\n{vm.run(command, 15)[1]}"
                       for vm in cluster.clients if vm.is_on())

    def cluster_is_sane(self) -> bool:
        return all(vm.is_on() for vm in self.cluster.machines.values()) if self.cluster else True

    @staticmethod
    def consoles(cluster: Cluster, marks: dict[str, int]) -> str:
        text = ""
        for vm in cluster.machines.values():
            lines = vm.console()[marks[vm.name]:].replace("\r", "").splitlines()
            text += "".join(f"  {vm.name}| {line}\n" for line in lines[-SHOWN_CONSOLE:])
        for vm in cluster.donors:
            if vm.is_on():
                _, log = vm.run("tail -n 20 /run/farswapd.log", 5)
                text += "".join(f"  {vm.name}: farswapd| {line}\n" for line in log.splitlines())
        return text

    def clocks(self) -> tuple[float, float]:
        """Seconds of time, and of processors that emulators and others have used."""
        times = os.times()
        machines = self.cluster.machines.values() if self.cluster else ()
        return time.monotonic(), times.children_user + times.children_system \
            + sum(vm.processor_time() for vm in machines)

    def spent(self, begun: Sequence[float]) -> list[float]:
        return [now - before for now, before in zip(self.clocks(), begun)]

    @staticmethod
    def report(name: str, result: ktap.Tally, spent: Sequence[float] = (0, 0),
               again: bool = False) -> None:
        verdict = "FAIL" if result.failed else "skip" if not result.passed else "ok"
        text = f"{verdict:4} {name} ({spent[0]:.1f} s, {spent[1]:.1f} of processors): {result}"
        if again:
            text += ", not counted: it is to be run again, alone"
        if result.reasons:
            text += f"; {result.reasons[0].strip().splitlines()[0]}"
        print(text, flush=True)

    def show(self, output: str, consoles: str) -> None:
        if not self.args.verbose:
            print("".join(f"    {line}\n" for line in output.splitlines()), end="")
        print(consoles, end="", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="file names; default: all of the Makefile's")
    parser.add_argument("-v", "--verbose", action="store_true", help="show output as it comes")
    parser.add_argument("--timeout", type=int, help="of each test, seconds; default: settings")
    parser.add_argument("--deadline", type=float, default=0,
                        help="of all tests, seconds; those not begun by then have failed")
    parser.add_argument("--share", metavar="DIR",
                        help="with other runs beside this: what one has begun, and notes here, "
                             "the others leave out")
    parser.add_argument("--backwards", action="store_true",
                        help="from the last test to the first: so two meet")
    parser.add_argument("--turn", metavar="NUMBER", type=int,
                        help="only the test whose turn it is: each with one client has one in "
                             "as many numbers as there are; beside those that are named")
    parser.add_argument("--rare", metavar="NUMBER", type=int,
                        help="of the tests with rare=1 in their \"# cluster:\" line only the "
                             "third whose turn it is")
    parser.add_argument("--again", metavar="FILE",
                        help="don't count a failure that may come of what runs beside this, but "
                             "note the test here, to be run again alone")
    parser.add_argument("--twice", action="store_true",
                        help="what may come of what runs beside this counts if it comes again")
    parser.add_argument("--append", default="", help="kernel arguments of the client")
    parser.add_argument("--client-kernel", metavar="DIR",
                        help="what the client runs, as tools/testing/tree/kernel.sh prints it")
    parser.add_argument("--kselftest", metavar="DIR",
                        help="have the kernel's run_kselftest.sh run them, as the kernel's make "
                             "has installed them here")
    parser.add_argument("--results", metavar="FILE",
                        help="add each result of each test to this, a line each")
    parser.add_argument("--coverage", metavar="DIR",
                        help="what gcov's files in the client say, here, for each cluster")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="an environment variable of the tests")
    return parser.parse_args()


def is_ours(name: str, share: str | None) -> bool:
    """Claim a test: true if no other run has begun it."""
    if not share:
        return True
    try:
        with open(os.path.join(share, name), "x", encoding="ascii"):
            return True
    except FileExistsError:
        return False


def main() -> int:
    args = arguments()
    exit_on_signals()
    slow = image.machine_of(args.client_kernel)[0]["slow"]
    args.timeout = args.timeout or time_limit() * slow
    args.env.append(f"SLOW={slow}")
    if args.coverage:
        os.makedirs(args.coverage, exist_ok=True)
    make("all")
    tests, missing = listed_tests()
    for name in [*image.MODULES[:2], "daemon/farswapd", "daemon/farswapctl"]:
        if not os.path.exists(os.path.join(image.TOP, name)):
            sys.exit(f"run-selftests: no {name}: make KDIR=$({image.FETCH} --kdir) first")
    runner = Runner(args)
    started = time.monotonic()
    try:
        all_of_them = [] if args.turn is not None else tests
        names = [os.path.basename(name) for name in args.tests or all_of_them
                 if args.tests or args.client_kernel or not needs_of(name)["tree"]]
        if args.turn is not None:
            turn = in_turn({name: needs_of(name) for name in tests}, args.turn)
            names += [turn] if turn not in names else []
        names = without_rare({name: needs_of(name) for name in names}, args.rare)
        order = grouped({name: needs_of(name) for name in names})[::-1 if args.backwards else 1]
        for name, needs in order:
            if not is_ours(name, args.share):
                continue
            if args.deadline and time.monotonic() - started > args.deadline:
                result = ktap.Tally()
                result.fail("not run: out of time")
                runner.report(name, result)
                runner.total.add(result)
                continue
            runner.run(name, needs)
        for name in missing if not args.tests else ():
            result = ktap.Tally()
            result.fail("it is in the Makefile, but there is no such file")
            runner.report(name, result)
            runner.total.add(result)
    finally:
        runner.drop_cluster()
    print(runner.total)
    return 1 if runner.total.failed else 0
