#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Runs the selftests in QEMU clusters, on the modules and the daemon this tree has
built. With names, only those tests. A test says in a comment what it needs:

  # cluster: donors=2 mem=192 disks=1

(also: donor_mem cpus donor_cpus disk_mb iops nfs; a word with a dot in its name is an
argument of the client's kernel). A cluster serves the next test
too where that needs the same and the last one passed, so such tests are run
together.
"""

import argparse
import os
import re
import subprocess
import sys
import time

import cluster as harness
import image
import ktap

SELFTESTS = os.path.join(image.TOP, "tools/testing/selftests/farswap")
GUEST = "/selftests/farswap"
NEEDS = {"donors": 2, "mem": 192, "disks": 1, "donor_mem": 768, "cpus": 1,
         "donor_cpus": 1, "disk_mb": 1024, "iops": 0, "nfs": 0, "append": ""}
# Megabytes that the other tests should not miss.
NFS_MODULES = ["nfsd", "nfsv4"]
SHOWN_CONSOLE = 80


def make(*words):
    return subprocess.run(["make", "-s", "--no-print-directory", "-C", SELFTESTS, *words],
                          check=True, text=True, timeout=300, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE).stdout


def listed_tests():
    """TEST_PROGS and TEST_GEN_PROGS, in the Makefile's order."""
    text = subprocess.run(
        ["make", "-s", "--no-print-directory", "-C", SELFTESTS, "-f", "-", "print-tests"],
        input="include Makefile\nprint-tests:\n\t@echo $(TEST_PROGS) $(TEST_GEN_PROGS)\n",
        check=True, text=True, timeout=60, stdout=subprocess.PIPE).stdout
    names = [os.path.basename(name) for name in text.split()]
    missing = [name for name in names if not os.path.exists(os.path.join(SELFTESTS, name))]
    return [name for name in names if name not in missing], missing


def needs_of(name):
    needs = dict(NEEDS)
    with open(os.path.join(SELFTESTS, name), "rb") as file:
        head = file.read(4096).decode(errors="replace")
    match = re.search(r"^[#/ *]*cluster:(.*)$", head, re.MULTILINE)
    for word in match[1].split() if match else ():
        key, _, value = word.partition("=")
        if "." in key:
            needs["append"] += f"{word} "
            continue
        if key not in needs:
            raise SystemExit(f"{name}: unknown need {key!r}; known: {' '.join(NEEDS)}")
        needs[key] = int(value)
    return needs


def time_limit():
    try:
        with open(os.path.join(SELFTESTS, "settings"), encoding="ascii") as file:
            match = re.search(r"^timeout=(\d+)", file.read(), re.MULTILINE)
            return int(match[1]) if match else 300
    except FileNotFoundError:
        return 300


def by_needs(names):
    """In the same order, but those that can share a cluster together."""
    groups = []
    for name in names:
        if needs_of(name) not in groups:
            groups.append(needs_of(name))
    return sorted(names, key=lambda name: groups.index(needs_of(name)))


def guest_files():
    """(plain files, programs) for the image, out of what the Makefile lists."""
    files, programs = [], []
    for word in make("list").split():
        path = os.path.join(SELFTESTS, word)
        target = f"{GUEST}/{os.path.basename(word)}"
        if not os.path.exists(path):
            continue
        with open(path, "rb") as file:
            binary = file.read(4) == b"\x7fELF"
        (programs if binary else files).append(
            (target, path, None) if binary else (target, path))
    return files, programs


class Runner:
    """Runs tests one after the other, in a cluster that is kept while it can be."""

    def __init__(self, args):
        self.args = args
        self.cluster = None
        self.needs = None
        self.total = ktap.Tally()
        self.extra, self.programs = guest_files()

    def cluster_for(self, needs):
        if self.cluster and self.needs == needs and self.cluster.client.is_on():
            return self.cluster
        self.drop_cluster()
        self.cluster = harness.Cluster(
            donors=needs["donors"], client_mem=needs["mem"], client_cpus=needs["cpus"],
            donor_mem=needs["donor_mem"], donor_cpus=needs["donor_cpus"],
            disks=[(needs["disk_mb"], needs["iops"])] * needs["disks"],
            append=needs["append"] + self.args.append,
            extra=self.extra, extra_programs=self.programs,
            extra_modules=NFS_MODULES if needs["nfs"] else [])
        self.needs = needs
        return self.cluster

    def drop_cluster(self):
        if self.cluster:
            self.cluster.close()
        self.cluster = None

    def run(self, name):
        if self.attempt(name):
            return
        print(f"note: {name} is tried once more: the emulator failed", flush=True)
        self.attempt(name, last=True)

    def attempt(self, name, last=False):
        """Run a test, and count it: False if it should be tried again instead."""
        started = time.monotonic()
        needs = needs_of(name)
        output, consoles, complaints = "", "", []
        try:
            cluster = self.cluster_for(needs)
            marks = cluster.marks()
            donors = " ".join(vm.address for vm in cluster.donors)
            on_output = harness.print_bytes if self.args.verbose else None
            environment = "".join(f"{word} " for word in self.args.env)
            status, output = cluster.client.run(
                f"cd {GUEST} && {environment} DONORS='{donors}' ./{name}", self.args.timeout,
                on_output)
            complaints = cluster.complaints(marks)
            result = ktap.tally(output, status)
            if status == 124:
                result.reasons.append(f"out of time after {self.args.timeout} s")
                output += self.where_it_hangs(cluster)
            elif status == 125:
                result.reasons.append("the client has died")
            consoles = self.consoles(cluster, marks)
        except (harness.ClusterError, image.ImageError) as error:
            result = ktap.Tally()
            result.fail(str(error))
            output += str(error)
        if complaints:
            result.fail(f"kernel: {complaints[0]}")
        if not last and self.cluster and self.cluster.emulator_failed():
            self.report(name, result, time.monotonic() - started)
            self.show(output, consoles)
            self.drop_cluster()
            return False
        self.report(name, result, time.monotonic() - started)
        if result.failed:
            self.show(output, consoles)
        if result.failed or not self.cluster_is_sane():
            self.drop_cluster()
        self.total.add(result)
        return True

    @staticmethod
    def where_it_hangs(cluster):
        """Blocked tasks and memory, if the guest still answers."""
        _, text = cluster.client.run(
            "echo w >/proc/sysrq-trigger; ps -o pid,stat,args | grep -v '\\[' | tail -n 30; "
            "head -n 5 /proc/meminfo; cat /proc/swaps; "
            "cat /sys/kernel/debug/farswap/donors /sys/kernel/debug/farswap/stats", 15)
        return "\n--- where it hangs\n" + text

    def cluster_is_sane(self):
        return all(vm.is_on() for vm in self.cluster.machines.values()) if self.cluster else True

    @staticmethod
    def consoles(cluster, marks):
        text = ""
        for vm in cluster.machines.values():
            lines = vm.console()[marks[vm.name]:].replace("\r", "").splitlines()
            text += "".join(f"  {vm.name}| {line}\n" for line in lines[-SHOWN_CONSOLE:])
        for vm in cluster.donors:
            if vm.is_on():
                _, log = vm.run("tail -n 20 /run/farswapd.log", 5)
                text += "".join(f"  {vm.name}: farswapd| {line}\n" for line in log.splitlines())
        return text

    @staticmethod
    def report(name, result, seconds):
        verdict = "FAIL" if result.failed else "skip" if not result.passed else "ok"
        text = f"{verdict:4} {name} ({seconds:.1f} s): {result}"
        if result.reasons:
            text += f"; {result.reasons[0].strip().splitlines()[0]}"
        print(text, flush=True)

    def show(self, output, consoles):
        if not self.args.verbose:
            print("".join(f"    {line}\n" for line in output.splitlines()), end="")
        print(consoles, end="", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="file names; default: all of the Makefile's")
    parser.add_argument("-v", "--verbose", action="store_true", help="show output as it comes")
    parser.add_argument("--timeout", type=int, help="of each test, seconds; default: settings")
    parser.add_argument("--deadline", type=float, default=0,
                        help="of all tests, seconds; those not begun by then have failed")
    parser.add_argument("--append", default="", help="kernel arguments of the client")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                        help="an environment variable of the tests")
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    args.timeout = args.timeout or time_limit()
    make("all")
    tests, missing = listed_tests()
    for name in [*image.MODULES[:2], "daemon/farswapd", "daemon/farswapctl"]:
        if not os.path.exists(os.path.join(image.TOP, name)):
            sys.exit(f"run-selftests: no {name}: make KDIR=$({image.FETCH} --kdir) first")
    runner = Runner(args)
    started = time.monotonic()
    try:
        for name in by_needs([os.path.basename(name) for name in args.tests or tests]):
            if args.deadline and time.monotonic() - started > args.deadline:
                result = ktap.Tally()
                result.fail("not run: out of time")
                runner.report(name, result, 0)
                runner.total.add(result)
                continue
            runner.run(name)
        for name in missing if not args.tests else ():
            print(f"note: {name} is in the Makefile, but there is no such file")
    finally:
        runner.drop_cluster()
    print(runner.total)
    return 1 if runner.total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
