#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A cluster in which every machine swaps and lends, as in figures 15 and 16 of the Infiniswap
paper: programs at random on six machines, half of them with all the memory that they need, three
in ten with 75 % of it and one in five with 50 %. The same programs run over disks alone, then
over farswap. Prints how much of the cluster's memory is in use and how evenly, how long each
kind of program takes, and where its pages come from; machines.csv and programs.csv have the
numbers, cluster.svg the plot.

Memory in use is what a machine's programs take, and what it lends. It is counted, as the pages
that are read are, from the moment at which every program has filled its memory and read it
once; a program that has done its work keeps its memory. Every slab is mapped as soon as it is
used (hotslab 0).
"""

import argparse
import collections
import csv
import os
import random
import statistics
import subprocess
import sys
import time

import harness
from harness import farswap, host, image
import plot
from programs import Program

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

MB = 1 << 20
SLAB_MB = 4
# Accesses of each program, so that all need about the same CPU time.
KINDS = {"etc": 40, "sys": 40, "sort": 1, "graph": 6}
SHARES = (100, 100, 75, 100, 50, 100, 75, 100, 50, 75)
NEEDS = (20, 24, 28, 32, 36)
# As uneven as the paper's cluster is without farswap, the largest machine by the median.
UNEVEN = (2.0, 2.8)
SOCKET = "/run/farswapd/control"
COUNTERS = ("load_remote", "load_device", "load_fallback")
# Why the disk alone has pages: their page-outs did not go to a donor, by cause, or the donor took
# the region back before all of it was copied. The last two counters are of such pages that were
# later written to donors.
ASTRAY = ("store_no_slab", "store_busy", "map_failed", "slab_evicted", "slab_gave_way",
          "rebuilt", "promoted")
TX = "/sys/class/net/eth0/statistics/tx_bytes"

Container = collections.namedtuple("Container", "number machine kind need share seed")


def local_mb(container):
    return container.need * container.share // 100


def draw_containers(args):
    """Distributes fixed numbers of programs at random, until the imbalance is as wanted."""
    for attempt in range(10000):
        draw = random.Random(f"{args.seed} {attempt}")
        weights = [draw.random() ** 2 + 0.03 for _ in range(args.machines)]
        containers = [
            Container(number, draw.choices(range(args.machines), weights)[0],
                      list(KINDS)[number % len(KINDS)], NEEDS[number * 3 % len(NEEDS)],
                      SHARES[number % len(SHARES)], draw.randrange(1, 1 << 30))
            for number in range(args.containers)]
        used = [sum(local_mb(c) for c in containers if c.machine == machine)
                for machine in range(args.machines)]
        if max(used) <= args.most and min(used) > 0 and \
                UNEVEN[0] <= max(used) / statistics.median(used) <= UNEVEN[1]:
            return containers
    raise harness.ClusterError("no placement is as uneven as the paper's: give more --machines, "
                               "or another number of --containers")


class Machine:
    """A guest: its programs, and the use of its memory, second by second."""

    def __init__(self, vm, containers, lends):
        self.vm = vm
        self.watch = Program(vm, f"grow sample 1000{f' {SOCKET}' * lends}")
        self.watch.wait_lines(2)
        self.idle = self.used(self.sample())
        self.total = self.sample()["total"]
        vm.check("rm -f /run/go")
        self.programs = [(c, self.start(c)) for c in containers]
        self.before = {}

    def start(self, container):
        group = f"c{container.number}"
        return Program(self.vm, f"container {container.kind} {container.need} "
                       f"{KINDS[container.kind]} {container.seed}",
                       local=local_mb(container) if container.share < 100 else container.need + 8,
                       group=group)

    def samples(self):
        return [{name: int(value) for name, value in zip(words[::2], words[1::2])}
                for words in map(str.split, self.watch.lines)]

    def sample(self):
        return self.samples()[-1]

    @staticmethod
    def used(sample):
        """By the machine's own programs and its kernel."""
        return sample["total"] - sample["available"] - sample["held"]

    def in_use(self, sample):
        return max(self.used(sample) - self.idle, 0) + sample["lent"]

    def counters(self):
        text = self.vm.check(f"cat {farswap.DEBUG}/stats 2>/dev/null; echo sent $(cat {TX}); "
                             "awk '$1 ~ /^pswp/ { print }' /proc/vmstat")
        return farswap.counters(text)

    def has_said(self, word):
        return all(any(line.startswith(word) for line in program.lines)
                   for _, program in self.programs)

    def broken(self):
        return [f"{self.vm.name}: {c.kind} {c.number}: {program.job.output[-300:]}"
                for c, program in self.programs if program.job.ended.is_set()]

    def end(self):
        for _, program in self.programs:
            program.end()
        self.watch.end()


def wait_for(machines, word, timeout):
    deadline = time.monotonic() + timeout
    while not all(machine.has_said(word) for machine in machines):
        broken = [text for machine in machines for text in machine.broken()]
        if broken:
            raise harness.ClusterError("a program ended\n" + "\n".join(broken))
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


class Run:
    """Runs all programs once, with or without farswap."""

    def __init__(self, args, containers, far):
        self.name = "farswap" if far else "disks alone"
        with harness.Cluster(
                donors=0, both=args.machines, client_mem=args.memory, slab_mb=SLAB_MB,
                daemon=f"memory={args.memory * 3 // 4}M,slab={SLAB_MB}M",
                disks=[(512, args.iops)], min_free_kb=8192,
                append="farswap.hotslab=0" if far else "fs.start=0",
                extra_programs=[(f"/usr/bin/{name}", os.path.join(HERE, name), None)
                                for name in ("container", "grow")]) as cluster:
            for vm in cluster.clients:
                vm.check("echo never >/sys/kernel/mm/transparent_hugepage/enabled; "
                         "echo 1 >/sys/block/vda/queue/rotational; echo +memory "
                         ">/sys/fs/cgroup/cgroup.subtree_control")
            if far:
                cluster.up()
            else:
                cluster.swap_on()
            self.machines = [
                Machine(vm, [c for c in containers if c.machine == number], far)
                for number, vm in enumerate(cluster.clients)]
            self.play(args)
            self.complaints = cluster.complaints()

    def play(self, args):
        if not wait_for(self.machines, "filled", args.timeout):
            raise harness.ClusterError("not all programs filled their memory in time")
        self.first = [len(machine.samples()) for machine in self.machines]
        for machine in self.machines:
            machine.before = machine.counters()
        for machine in self.machines:
            machine.vm.check("touch /run/go")
        began = time.monotonic()
        self.finished = wait_for(self.machines, "done", args.timeout)
        time.sleep(max(args.window - (time.monotonic() - began), 0))
        self.counted = [farswap.grown(machine.counters(), machine.before)
                        for machine in self.machines]
        self.series = [[machine.in_use(sample) for sample in machine.samples()[first:]]
                       for machine, first in zip(self.machines, self.first)]
        self.capacity = [machine.total - machine.idle for machine in self.machines]
        self.results = []
        for machine in self.machines:
            for container, program in machine.programs:
                words = next((line.split() for line in program.lines
                              if line.startswith("done")), None)
                self.results.append((container, float(words[2]) if words else None,
                                     int(words[4]) if words else 0))
        for machine in self.machines:
            machine.end()

    def used(self, window):
        """The share of each machine's memory that is in use, averaged over the window."""
        return [statistics.mean(series[:window]) / capacity
                for series, capacity in zip(self.series, self.capacity)]

    def utilisation(self, window):
        return sum(statistics.mean(series[:window]) for series in self.series) \
            / sum(self.capacity)

    def seconds(self, kind, share):
        return [seconds for container, seconds, _ in self.results
                if container.kind == kind and container.share == share]

    def wrong(self):
        return sum(wrong for _, _, wrong in self.results)

    def sum(self, name):
        return sum(counted.get(name, 0) for counted in self.counted)


def percentile(values, percent):
    values = sorted(values)
    at = (len(values) - 1) * percent / 100
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def ratio(a, b):
    return f"{a / b:.1f}" if b else "-"


def print_use(runs, args):
    print(f"\n{'':14}{'in use':>8}{'max/median':>12}{'max/min':>9}{'p90/p10':>9}"
          f"{'sent, MB a machine':>20}")
    for run in runs:
        used = run.used(args.window)
        print(f"{run.name:14}{100 * run.utilisation(args.window):7.1f}%"
              f"{ratio(max(used), statistics.median(used)):>12}{ratio(max(used), min(used)):>9}"
              f"{ratio(percentile(used, 90), percentile(used, 10)):>9}"
              f"{run.sum('sent') / MB / args.machines:20.1f}")


def mean_time(run, kind, share):
    times = run.seconds(kind, share)
    if not times:
        return None
    return None if None in times else statistics.mean(times)


def print_times(runs, args):
    disks, far = runs
    print(f"\nseconds to do its work (mean; > {args.timeout}: not done by then)")
    print(f"{'':8}{'has':>6}{'disks':>10}{'farswap':>10}{'ratio':>8}")
    for kind in KINDS:
        for share in sorted(set(SHARES), reverse=True):
            if not disks.seconds(kind, share):
                continue
            old, new = mean_time(disks, kind, share), mean_time(far, kind, share)
            words = [f"{seconds:.1f}" if seconds is not None else f"> {args.timeout}"
                     for seconds in (old, new)]
            print(f"{kind:8}{share:5}%{words[0]:>10}{words[1]:>10}"
                  f"{ratio(old, new) if old and new else '-':>8}")


def share_of_donors(run):
    remote, *others = (run.sum(name) for name in COUNTERS)
    return remote / max(remote + sum(others), 1), remote + sum(others)


def write_results(runs, args):
    os.makedirs(args.output, exist_ok=True)
    with open(os.path.join(args.output, "machines.csv"), "w", encoding="ascii") as file:
        rows = csv.writer(file)
        rows.writerow(("run", "machine", "second", "in_use_mb", "capacity_mb"))
        for run in runs:
            for number, (series, capacity) in enumerate(zip(run.series, run.capacity), 1):
                for second, used in enumerate(series):
                    rows.writerow((run.name, number, second, round(used / MB, 1),
                                   round(capacity / MB, 1)))
    with open(os.path.join(args.output, "programs.csv"), "w", encoding="ascii") as file:
        rows = csv.writer(file)
        rows.writerow(("run", "number", "machine", "kind", "need_mb", "share", "seconds"))
        for run in runs:
            for container, seconds, _ in run.results:
                rows.writerow((run.name, container.number, container.machine + 1,
                               container.kind, container.need, container.share,
                               "" if seconds is None else seconds))
    with open(os.path.join(args.output, "cluster.svg"), "w", encoding="utf-8") as file:
        file.write(plot.machines([(run.name, sorted(run.used(args.window), reverse=True))
                                  for run in runs]))


def verdict(runs, args):
    disks, far = runs
    gain = far.utilisation(args.window) / disks.utilisation(args.window)
    share, pages = share_of_donors(far)
    print(f"\nutilisation with farswap: {gain:.2f} times that without")
    print(f"pages read from donors: {100 * share:.1f} % of {pages}")
    print("why the disk was read, and what was done: " +
          ", ".join(f"{name} {far.sum(name)}" for name in ASTRAY))
    for run in runs:
        for line in run.complaints:
            print(f"kernel, {run.name}: {line}")
    results = [
        ("the cluster's memory is used at least 1.4 times as much", gain >= 1.4),
        ("at least 99 % of the pages that are read come from donors", share >= 0.99),
        ("every program has done its work over farswap", far.finished),
        ("no value was wrong", not disks.wrong() and not far.wrong()),
        ("the kernels had nothing to complain about",
         not disks.complaints and not far.complaints)]
    for text, good in results:
        print(f"{'yes' if good else 'NO':3} {text}")
    return 0 if all(good for _, good in results) else 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--machines", type=int, default=6)
    parser.add_argument("--containers", type=int, default=20)
    parser.add_argument("--memory", type=int, default=320, help="of each machine, MB")
    parser.add_argument("--most", type=int, default=150,
                        help="of a machine's memory that its programs have, MB")
    parser.add_argument("--iops", type=int, default=250, help="of each disk")
    parser.add_argument("--window", type=int, default=40,
                        help="seconds over which use is counted, from the first command on")
    parser.add_argument("--timeout", type=int, default=300,
                        help="seconds for the programs to fill their memory, and for their work")
    parser.add_argument("--output", default=os.path.join(TOP, "out/cluster"), metavar="DIR")
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    containers = draw_containers(args)
    host.build(host.fetch(), HERE, "modules", "daemon")
    host.note_other_work()
    for number in range(args.machines):
        print(f"machine {number + 1}: " + ", ".join(
            f"{c.kind} {c.need} MB, {c.share} %" for c in containers if c.machine == number))
    runs = []
    for far in (False, True):
        runs.append(harness.once_more(lambda far=far: Run(args, containers, far)))
        print(f"{runs[-1].name}: in use {100 * runs[-1].utilisation(args.window):.1f} %",
              flush=True)
    write_results(runs, args)
    print_use(runs, args)
    print_times(runs, args)
    print(f"numbers and plot: {args.output}/machines.csv, programs.csv, cluster.svg")
    return verdict(runs, args)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"cluster_wide: {error}")
