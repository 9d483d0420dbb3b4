#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Measures rare events, compared with a reference of the same run and with the figure of the
Infiniswap paper: an idle slab's eviction and a slab's mapping against the round trip of a control
message, what evictions and a donor's death cost a program, and what the backup costs page-outs.

A client and its donors run as virtual machines on this one. Windows with and without the event
alternate; a figure is the median of the pairs, with the lowest and the highest. Status 0 if every
goal is met.
"""

import argparse
import csv
import itertools
import os
import statistics
import subprocess
import sys
import time

import harness
from harness import farswap, farswapd, host, image, raw
from programs import LOCAL, Load, Program

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

SLAB_MB = 2
# The module's own default; the emulated clusters of tests have more.
IO_TIMEOUT_MS = 1000
# The kernel allocates slots all over the device: it must not exceed the memory of two donors.
SWAP_MB = 128
# The device of the idle program, large enough for all slabs that are evicted.
IDLE_MB = 2048
# The difference is small, so measure many short windows.
CHOICE_PAIRS, CHOICE_SECONDS, CHOICE_SLABS = 9, 3, 8


def spread(values, unit=""):
    low, high = min(values), max(values)
    return f"{statistics.median(values):.1f}{unit} ({low:.1f} to {high:.1f})"


class Bench:
    """The cluster, and the results as rows of the table."""

    def __init__(self, cluster, args):
        self.cluster = cluster
        self.client = cluster.client
        self.args = args
        self.rows = []
        self.deaths = []

    def row(self, what, goal, paper, ours, good):
        self.rows.append((what, goal, paper, ours, "yes" if good else "NO"))
        print(f"  {what}: {ours}", flush=True)

    def set(self, name, value):
        self.client.check(f"echo {value} >{farswap.SYSFS}/{name}")

    def setting(self, name):
        return self.client.check(f"cat {farswap.SYSFS}/{name}").strip()

    def debug(self, name):
        return self.client.check(f"cat {farswap.DEBUG}/{name}")

    def stats(self):
        return farswap.counters(self.debug("stats"))

    def median_since(self, before, name):
        """The median of the latencies since an earlier debug("latency"), in µs."""
        now, then = (farswap.histogram(text, name) for text in (self.debug("latency"), before))
        median = farswap.percentile(farswap.grown(now, then), 50)
        if not median:
            raise harness.ClusterError("nothing was timed")
        return median

    def held(self):
        """{donor: its slabs}"""
        held = {donor: 0 for donor in self.cluster.donors}
        by_address = {donor.address: donor for donor in held}
        for line in self.debug("slabs").splitlines()[1:]:
            words = line.split()
            for address in words[3].split(","):
                donor = by_address.get(address.split(":")[0])
                if donor and words[2] == "mapped":
                    held[donor] += 1
        return held

    def spread_out(self):
        """Evict slabs of the other donors until every running donor has one."""
        deadline = time.monotonic() + 60
        while True:
            held = self.held()
            living = [donor for donor in held if donor.is_on()]
            if all(held[donor] > 1 for donor in living):
                return
            if time.monotonic() > deadline:
                raise harness.ClusterError("a donor gets no slab: "
                                           f"{[held[donor] for donor in living]}")
            max(living, key=held.get).check("farswapctl evict 1")
            time.sleep(0.3)

    # An idle slab is evicted; a slab is mapped.
    def latency(self):
        """Run this first: the histograms of a daemon count since its start."""
        megabytes = LOCAL + min(18 * len(self.cluster.donors), SWAP_MB * 2 // 3)
        step_kb, period = 512, 50
        steps = megabytes * 1024 // step_kb
        before = self.debug("latency")
        program = Program(self.client, f"grow steps {steps + 6000} {steps} 6000 {step_kb}"
                          f" {period} 0", LOCAL)
        time.sleep(steps * period / 1000 + 3)
        query, mapped = (self.median_since(before, name) for name in ("query", "map"))
        # Slabs that are less busy than that are not migrated.
        self.set("hotslab", 1000000)
        held = self.held()
        for donor, nr in held.items():
            donor.check("for i in $(seq %d); do farswapctl evict 1 >/dev/null || exit 1; "
                        "sleep 0.2; done" % min(nr, 20), 60)
        self.set("hotslab", 2)
        moved = self.stats()["slab_moved"]
        program.end()
        times = {name: [value * 1e6 for value in (
            farswapd.median(donor, f"{name}_seconds") for donor in held) if value]
                 for name in ("ping", "activity", "evict")}
        ping, evict = (statistics.median(times[name]) for name in ("ping", "evict"))
        print(f"  µs: PING {spread(times['ping'])}, CHECK_ACTIVITY {spread(times['activity'])}, "
              f"EVICT {spread(times['evict'])}, the medians of {len(held)} donors; "
              f"QUERY_MEM {query:.0f}, map {mapped:.0f}; {sum(held.values())} slabs, "
              f"{moved} of them moved")
        self.row("eviction of an idle slab, p50", "<= 3 round trips", "363 µs",
                 f"{evict / ping:.1f} ({evict:.0f} µs)", evict <= 3 * ping)
        self.row("map from the pool, p50", "<= 4 round trips", "54 ms",
                 f"{mapped / query:.1f} ({mapped:.0f} µs)", mapped <= 4 * query)

    # The backup's cost.
    def staging(self):
        program = Program(self.client, "grow pageout 64 200")
        program.wait_lines(10)
        ratios, rates = [], {"none": [], "disk": []}
        before = self.stats()
        for _ in range(self.args.pairs):
            for backup in ("none", "disk"):
                self.set("backup", backup)
                program.wait_lines(5)
                start = len(program.lines)
                program.wait_lines(20)
                (at, pages), (end, more) = (map(int, program.lines[i].split()[1::2])
                                            for i in (start, -1))
                rates[backup].append((more - pages) * 1e6 / (end - at))
            ratios.append(rates["disk"][-1] / rates["none"][-1])
        self.set("backup", "disk")
        program.end()
        grown = farswap.grown(self.stats(), before)
        stored = grown["store_remote"] + grown["store_device"]
        print(f"  pages a second: none {spread(rates['none'])}, disk {spread(rates['disk'])}; "
              f"{100 * grown['store_remote'] / stored:.0f} % went to donors, "
              f"{100 * grown['store_unstaged'] / stored:.1f} % waited for the disk")
        ratio = statistics.median(ratios)
        self.row("page-out rate, backup=disk against none", ">= 0.9", "-",
                 f"{ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})", ratio >= 0.9)

    def busy(self):
        load = Load(self.client, self.args.megabytes)
        load.wait_lines(10)
        # From here on a read from the disk has its real cost.
        self.limit_disk(self.args.iops)
        load.wait_lines(5)
        self.spread_out()
        return load

    def limit_disk(self, iops):
        self.cluster.request(["iops", "vda", str(iops)])

    def act(self, load, command, seconds, rate):
        """Run a command on the donors in turn, so many a second; returns accesses a second."""
        donors, first = itertools.cycle(self.cluster.donors), load.wait_lines(1)
        began, done, jobs = time.monotonic(), 0, []
        while len(load.lines) <= first + seconds:
            if time.monotonic() < began + done / rate:
                time.sleep(0.01)
                continue
            jobs.append(next(donors).spawn(command))
            done += 1
            if done > 2 * rate * (seconds + 10):
                raise harness.ClusterError("the load says nothing")
        for job in jobs:
            job.wait(20)
        return load.rate(first, seconds)

    def raw_copy(self, run_kb=32, iterations=600):
        """
        The time in ms that raw verbs need to copy a slab from one donor to another through an idle
        client: a lower bound for an eviction that migrates.
        """
        source, target = self.cluster.donors[:2]
        rates = [raw.bandwidth(self.client, donor, verb, run_kb << 10, iterations)
                 for donor, verb in ((source, "read"), (target, "write"))]
        return sum(1000 * SLAB_MB / rate for rate in rates)

    # Evictions of slabs that are in use.
    def evictions(self):
        copies = [self.raw_copy() for _ in range(3)]
        print(f"  raw verbs copy a slab of {SLAB_MB} MB in {spread(copies)} ms")
        load, seconds, rate = self.busy(), 6, self.args.rate
        losses, rates, fewer, before = [], [], [], self.stats()
        for _ in range(self.args.pairs):
            # Load the donors alike, but evict nothing.
            without = self.act(load, "farswapctl status >/dev/null", seconds, rate)
            evicted, began = self.stats()["slab_evicted"], time.monotonic()
            during = self.act(load, "farswapctl evict 1 >/dev/null", seconds, rate)
            happened = (self.stats()["slab_evicted"] - evicted) / (time.monotonic() - began)
            losses.append(100 * (1 - during / without) / happened)
            rates.append((without, happened))
            fewer.append((without - during) / happened)
        self.finish(load)
        grown = farswap.grown(self.stats(), before)
        print(f"  accesses a second without: {spread([a for a, _ in rates])}; evictions a second: "
              f"{spread([b for _, b in rates])}; of {grown['slab_evicted']} slabs of {SLAB_MB} MB "
              f"{grown['slab_moved']} were moved, {grown['moved']} pages; one cost "
              f"{spread(fewer)} accesses; "
              f"{grown['load_device']} pages were read from the disk, "
              f"{grown['load_remote']} from donors")
        loss = statistics.median(losses)
        self.row("throughput lost per eviction a second", "< 1 %", "2.3 %",
                 spread(losses, " %"), loss < 1)

    def sleeping(self):
        """
        Start a program that stays idle, with its slabs on a swap device of their own. Must run
        before the other programs, so that the device is full by then.
        """
        self.client.check("mkswap /dev/vdb >/dev/null && swapon_at 10 /dev/vdb")
        steps, period = (LOCAL + IDLE_MB) * 2, 30
        program = Program(self.client, f"grow steps {steps + 12000} {steps} 12000 512 {period} 0",
                          LOCAL, "sleeping")
        time.sleep(steps * period / 1000)
        deadline = time.monotonic() + 150
        while self.idle_slabs() < IDLE_MB // SLAB_MB * 3 // 4:
            if time.monotonic() > deadline:
                raise harness.ClusterError("slabs that nobody uses don't get idle\n"
                                           + self.debug("slabs"))
            time.sleep(1)
        return program

    def idle_slabs(self):
        """Mapped ones that have pages and are not used: type, index, state, donors, remote, ..."""
        lines = [line.split() for line in self.debug("slabs").splitlines()[1:]]
        return sum(words[2] == "mapped" and int(words[4]) > 0 and words[6] == "0"
                   for words in lines)

    # The same where donors have idle slabs too, and so a choice.
    def choice(self):
        program = self.sleeping()
        load, seconds, rate = self.busy(), CHOICE_SECONDS, 2 * self.args.rate
        losses, rates, idle, before = [], [], [self.idle_slabs()], self.stats()
        for _ in range(max(CHOICE_PAIRS, self.args.pairs)):
            without = self.act(load, "farswapctl status >/dev/null", seconds, rate)
            evicted, began = self.stats()["slab_evicted"], time.monotonic()
            during = self.act(load, f"farswapctl evict {CHOICE_SLABS} >/dev/null", seconds, rate)
            happened = (self.stats()["slab_evicted"] - evicted) / (time.monotonic() - began)
            losses.append(100 * (1 - during / without) / happened)
            rates.append((without, happened))
            idle.append(self.idle_slabs())
        self.finish(load)
        program.end()
        grown = farswap.grown(self.stats(), before)
        error = statistics.stdev(losses) / len(losses) ** 0.5
        print(f"  accesses a second without: {spread([a for a, _ in rates])}; evictions a second: "
              f"{spread([b for _, b in rates])}; {idle[0]} slabs were idle, at the end {idle[-1]}; "
              f"of {grown['slab_evicted']} evicted {grown['slab_moved']} were moved; "
              f"mean loss {statistics.mean(losses):.2f} %, standard error {error:.2f}")
        loss = statistics.median(losses)
        self.row("the same, if donors have idle slabs", "< 1 %", "2.3 %",
                 spread(losses, " %"), loss < 1)

    def one_death(self, load, donor, how):
        """Throughput lost in the 10 s after the death, relative to the 20 s before, %."""
        self.spread_out()
        load.wait_lines(5)
        before = load.window(20)
        lost, first = self.lost(), load.wait_lines(1)
        if how == "kill":
            farswapd.kill(donor)
        else:
            donor.kill()
        load.wait_lines(10)
        after = load.rate(first, 10)
        # A donor without power is silent, so it is suspect first.
        if self.lost() == lost and self.is_live(donor):
            raise harness.ClusterError("a donor's death went unnoticed")
        each = [round(load.rate(first + second, 1)) for second in range(10)]
        self.deaths += [(self.setting("backup"), how, donor.name, second,
                         load.rate(first + second, 1) / before) for second in range(-10, 10)]
        print(f"    {donor.name}, {how}: {before:.0f} accesses a second, then {each}", flush=True)
        return 100 * (1 - after / before)

    def is_live(self, donor):
        return donor.address in farswap.live(self.debug("donors"))

    def wait_live(self, donor):
        deadline = time.monotonic() + 60
        while not self.is_live(donor):
            if time.monotonic() > deadline:
                raise harness.ClusterError(f"{donor.name} has booted, and is not used")
            time.sleep(0.5)

    def lost(self):
        stats = self.stats()
        return stats["slab_lost"] + stats["replica_lost"]

    # A donor dies.
    def death(self):
        load = self.busy()
        donors = itertools.cycle(self.cluster.donors)
        for backup, how in itertools.product(self.args.backup or BACKUPS, self.args.how or DEATHS):
            self.set("backup", backup)
            losses = []
            for donor in itertools.islice(donors, self.args.deaths):
                # Wait until all replicas are complete.
                load.wait_lines(10)
                losses.append(self.one_death(load, donor, how))
                if how == "kill":
                    farswapd.start(donor)
                else:
                    donor.start()
                    self.wait_live(donor)
            what = {"kill": "one of six daemons killed", "power": "one of six loses power"}[how]
            self.row(f"{what}, backup={backup}: 10 s", "< 20 %", "58.3 %",
                     spread(losses, " %"), statistics.median(losses) < 20)
        self.finish(load)
        print(f"  the longest access of memory took {load.value('longest_ms')} ms")

    def finish(self, load):
        load.end()
        self.limit_disk(0)
        if load.value("wrong_bytes") or load.value("lost_pages"):
            raise harness.ClusterError(f"memory was wrong: {load.lines[-1]}")


# The order matters: a killed donor is not restarted.
NAMES = ("latency", "staging", "evictions", "choice", "death")
# The backups with which a donor's death loses no page.
BACKUPS = ("disk", "replica")
DEATHS = ("kill", "power")


def run(args, names):
    programs = [os.path.join(TOP, "tools/testing/selftests/farswap", name)
                for name in ("load", "swapon_at")] + [os.path.join(HERE, "grow")]
    # Leave room for the idle slabs.
    more = IDLE_MB // 6 if "choice" in names else 0
    with harness.Cluster(
            donors=6 if set(names) & {"evictions", "choice", "death"} else 2,
            client_mem=192, donor_mem=args.donor_mem + more, disks=[(SWAP_MB, 0), (IDLE_MB, 0)],
            daemon=f"memory={args.lent + more}M,slab={SLAB_MB}M",
            append=f"farswap.slab_mb={SLAB_MB} farswap.io_timeout_ms={IO_TIMEOUT_MS}",
            extra_programs=[(f"/usr/bin/{os.path.basename(program)}", program, None)
                            for program in programs]) as cluster:
        cluster.up()
        cluster.client.check("echo 0 >/proc/sys/vm/page-cluster; "
                             "echo +memory >/sys/fs/cgroup/cgroup.subtree_control")
        bench = Bench(cluster, args)
        for name in names:
            began = time.monotonic()
            print(f"{name}:", flush=True)
            getattr(bench, name)()
            print(f"  ({time.monotonic() - began:.0f} s)")
        write_deaths(args.out, bench.deaths)
        return bench.rows, cluster.complaints()


def write_deaths(directory, deaths):
    """Accesses in each second around a death, over those in the 20 s before it."""
    if not deaths:
        return
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "death.csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["backup", "how", "donor", "second", "ratio"])
        writer.writerows([*death[:-1], f"{death[-1]:.3f}"] for death in deaths)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--pairs", type=int, default=5, help="of windows that are compared")
    parser.add_argument("--deaths", type=int, default=3, help="of each kind")
    parser.add_argument("--backup", choices=BACKUPS, action="append",
                        help="only with this one (death)")
    parser.add_argument("--how", choices=DEATHS, action="append", help="only so (death)")
    parser.add_argument("--rate", type=float, default=2, help="evictions a second")
    parser.add_argument("--megabytes", type=int, default=72, help="of the load")
    parser.add_argument("--iops", type=int, default=250,
                        help="of the disk while the load runs, 0: no limit")
    parser.add_argument("--donor-mem", type=int, default=224, help="each donor's memory, MB")
    parser.add_argument("--lent", type=int, default=64, help="of it lent, MB")
    parser.add_argument("--out", default=os.path.join(TOP, "out/events"),
                        help="folder for death.csv, each second around a death")
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    began = time.monotonic()
    host.build(host.fetch(), HERE, "modules", "daemon", "tests")
    host.note_other_work()
    names = [args.only] if args.only else NAMES
    rows, complaints = [], []
    for some in ([name for name in names if name != "choice"],
                 [name for name in names if name == "choice"]):
        if some:
            more_rows, more_complaints = run(args, some)
            rows += more_rows
            complaints += more_complaints
    print()
    for row in [("what", "goal", "the paper", "ours: median (range)", "met"), *rows]:
        print(f"{row[0]:44} {row[1]:17} {row[2]:10} {row[3]:24} {row[4]}")
    for line in complaints:
        print("kernel:", line)
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if complaints or any(row[4] != "yes" for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"events: {error}")
