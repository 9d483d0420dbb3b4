#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Runs the kernel's selftests of memory that use swap: those of cgroups (memory, zswap) and mm. Each
runs with the disk only, then with farswap: then no result may be worse, and each test that swaps
must write pages to donors. Tests that fail without farswap too, because these machines lack
something, are shown as such. If a test is worse with farswap, and so has failed, it prints whether
it also fails on a disk with as many operations a second as the emulated network. (When a whole
cgroup is to be reclaimed, the kernel gives up after 16 passes that find only pages in flight to the
device.) With names, runs only those.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import farswap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

OUT = os.path.join(TOP, "out/kernel-selftests")
# khugepaged does not compile in 6.12.117; memfd_secret, migration and others do not swap.
TESTS = {
    "cgroup": ["test_memcontrol", "test_zswap"],
    "mm": ["cow", "droppable", "ksm_functional_tests", "madv_populate", "mkdirty",
           "pagemap_ioctl", "soft-dirty", "split_huge_page_test", "transhuge-stress -d 10",
           "uffd-stress anon 16 4", "uffd-unit-tests"],
}
RESULT = re.compile(r"^\s*(ok|not ok) \d+ (.*)|^(Testing .*)\.\.\. (\w+)", re.MULTILINE)
# Some provoke that.
MEANT = re.compile(r"oom-kill:constraint=CONSTRAINT_MEMCG|Memory cgroup out of memory")
# Further requirements of some tests.
BEFORE = {"test_zswap": "echo Y >/sys/module/zswap/parameters/enabled; "}
GOOD = ("ok", "done")
# Numbers that are not the same in two runs: addresses, times, pagemap_ioctl's surplus.
VARIES = re.compile(r"0x[0-9a-f]+|\d+ ?[mun]?s\b|(?<=[Ee]xtra pages )\d+|\d+\.\d+%|"
                    r"(?<=extra thread faults )\d+")
SECONDS = 200
# A test that swaps this many pages must write some to donors.
SWAPS = 500
STORES = "store_remote", "store_device"
CARRIED = "some of its pages go to donors"
# About the rate of RDMA READs of a page here, half a millisecond each.
SLOW_IOPS = 2000
# It fails only sometimes.
SLOW_TRIES = 6


def kernel(version, *what):
    """The output of kernel.sh for a version, by default the only one."""
    version = ["--version", version] if version else []
    return subprocess.run([os.path.join(HERE, "kernel.sh"), *version, *what], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def build(names, version):
    """{name with arguments: (guest path, host path)}"""
    source = kernel(version, "--source")
    headers = os.path.join(OUT, "headers")
    subprocess.run(["make", "-s", "-C", source, f"O={headers}", "headers"], check=True,
                   stdout=subprocess.DEVNULL)
    built = {}
    for target, tests in TESTS.items():
        wanted = [test for test in tests if not names or test.split()[0] in names]
        out = os.path.join(OUT, target)
        os.makedirs(out, exist_ok=True)
        paths = [os.path.join(out, test.split()[0]) for test in wanted]
        if paths:
            subprocess.run(["make", "-s", "-C", f"{source}/tools/testing/selftests/{target}",
                            f"OUTPUT={out}", f"KHDR_INCLUDES=-isystem {headers}/usr/include",
                            *paths], check=True, stdout=subprocess.DEVNULL)
        for test, path in zip(wanted, paths):
            built[test] = (f"/kernel/{test.split()[0]}", path)
    return built


def results(text):
    """{test: result}"""
    found = {}
    for ok, what, testing, word in RESULT.findall(text):
        name, _, skip = what.partition("# SKIP")
        said = ("skip" if skip or " SKIP" in what else ok) if ok else word
        found[VARIES.sub("N", (name if ok else testing).strip())] = said
    return found


def libgcc():
    """(guest path, host path): threads load it to be cancelled, without being linked to it."""
    path = subprocess.run(["gcc", "-print-file-name=libgcc_s.so.1"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()
    return "/lib/x86_64-linux-gnu/libgcc_s.so.1", os.path.realpath(path)


def count(cluster, *counters):
    """A counter of farswap; 0 if it is not attached."""
    _, text = cluster.client.run(f"cat {farswap.DEBUG}/stats 2>/dev/null", 20)
    stats = farswap.counters(text)
    return [stats.get(counter, 0) for counter in counters]


def run_all(cluster, tests):
    """{test: (status, {what: how}, pages to donors, pages to the disk by farswap)}"""
    done = {}
    for test, (path, _) in tests.items():
        arguments = test.partition(" ")[2]
        before = count(cluster, *STORES)
        status, text = cluster.client.run(
            f"cd /mnt && {BEFORE.get(test, '')}timeout {SECONDS} {path} {arguments} 2>&1; "
            "status=$?; echo N >/sys/module/zswap/parameters/enabled; exit $status",
            SECONDS + 30)
        with open(os.path.join(OUT, "log"), "a", encoding="utf-8") as log:
            log.write(f"== {test}: {status}\n{text}\n")
        done[test] = (status, results(text),
                      *(now - then for now, then in zip(count(cluster, *STORES), before)))
    return done


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="names of programs; default: all")
    parser.add_argument("--kernel", metavar="VERSION",
                        help="one whose swap code calls farswap; default: Debian's")
    return parser.parse_args()


def worse_results(without, with_farswap):
    """The results that are worse with farswap."""
    (status, before, *_), (other, now, remote, device) = without, with_farswap
    worse = {what for what in {*before, *now} if now.get(what) not in (before.get(what), *GOOD)}
    if other and not worse and not (status and (before or now)):
        worse.add("all that it tests")
    if device >= SWAPS and not remote:
        worse.add(CARRIED)
    return worse


def fail_if_slow(cluster, tests, worse):
    """{test: results that fail on a slow disk, too}, for the results that are worse with
    farswap."""
    cluster.client.check(f"swapoff /dev/vda; echo 0 >{farswap.SYSFS}/attached; "
                         "mkswap /dev/vdc >/dev/null && swapon /dev/vdc", 120)
    slow = {test: set() for test in worse}
    for _ in range(SLOW_TRIES):
        left = {test: tests[test] for test in worse if worse[test] - slow[test] - {CARRIED}}
        for test, (status, found, *_) in run_all(cluster, left).items():
            slow[test] |= {what for what, how in found.items() if how not in (*GOOD, "skip")}
            if status and not found:
                slow[test].add("all that it tests")
    return slow


def show(test, without, with_farswap, worse, slow):
    """Prints one line, with details of a failure; returns whether no result is worse with
    farswap."""
    (status, before, *_), (other, now, remote, device) = without, with_farswap
    counts = {how: list(now.values()).count(how) for how in sorted(set(now.values()))}
    text = ", ".join(f"{count} {how}" for how, count in counts.items()) or "no results"
    print(f"{'FAIL' if worse else 'ok  '} {test}: exit status {other}; {text}; {remote} pages "
          f"to donors, {device} to the disk")
    for what in sorted(worse):
        print(f"    {what}: {before.get(what, 'not there')}, with farswap "
              f"{now.get(what, 'not there')}"
              + f"; fails on a disk of {SLOW_IOPS} operations a second too" * (what in slow))
    if status and other:
        print(f"    without farswap too: exit status {status}")
    for what in before:
        if before[what] not in (*GOOD, "skip") and what not in worse:
            print(f"    without farswap too: {what}: {before[what]}, then "
                  f"{now.get(what, 'not there')}")
    return not worse


def main():
    args = arguments()
    harness.exit_on_signals()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    tests = build(args.tests, args.kernel)
    if not tests:
        sys.exit("kernel-selftests: no such test; there are " + " ".join(
            test.split()[0] for of in TESTS.values() for test in of))
    with harness.Cluster(donors=2, client_mem=1024, donor_mem=1024,
                         disks=((2048, 0), (512, 0), (2048, SLOW_IOPS)), extra=[libgcc()],
                         extra_programs=[(*paths, None) for paths in tests.values()],
                         client_root=args.kernel and kernel(args.kernel)) as cluster:
        # Pages of files that are in RAM anyhow would be counted as others.
        cluster.client.check(
            "{ grep -q cgroup2 /proc/mounts || mount -t cgroup2 none /sys/fs/cgroup; } && "
            "echo +memory >/sys/fs/cgroup/cgroup.subtree_control && "
            "mke2fs /dev/vdb >/dev/null && modprobe ext4 && mount -t ext4 /dev/vdb /mnt")
        cluster.swap_on()
        without = run_all(cluster, tests)
        cluster.client.check("swapoff /dev/vda")
        cluster.up()
        with_farswap = run_all(cluster, tests)
        loaded = count(cluster, "load_remote")[0]
        worse = {test: found for test in tests
                 if (found := worse_results(without[test], with_farswap[test]))}
        slow = fail_if_slow(cluster, tests, worse) if worse else {}
        complaints = cluster.complaints()
    failed = sum(not show(test, without[test], with_farswap[test], worse.get(test, set()),
                          slow.get(test, set())) for test in tests)
    print(f"{loaded} pages came back from donors")
    if not loaded and not args.tests:
        print("FAIL no page came back from a donor")
        failed += 1
    for line in filter(lambda line: not MEANT.search(line), complaints):
        print(f"FAIL {line}")
        failed += 1
    print(f"{len(tests)} programs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
