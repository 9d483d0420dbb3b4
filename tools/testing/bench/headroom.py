#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A machine that lends its memory while a program on it grows until it needs all of
it, as in figure 14 of the Infiniswap paper: the memory over time as a plot
(headroom.svg) and as numbers (memory.csv, steps.csv).

A client fills a donor's memory and then leaves it alone. A program on the donor
grows, pauses, and grows on, reading what it has; at the same time the same program
grows on a like machine that lends nothing. The verdict: free memory (MemAvailable)
was never under half the headroom, and neither the program's whole way nor any ten
seconds of it took more than 5 % longer than on the other machine: the median of some
rounds. The random difference of two emulated machines is printed (two standard errors of
the steps' times) and subtracted.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import harness
from harness import farswapd, host, image
import plot
from programs import Program

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

MB = 1 << 20
SAMPLE_MS = 200
# The part of the memory beyond the headroom that the program leaves, MB.
SPARE = 24
# Samples before the program begins and after it has ended, seconds.
BEFORE, AFTER = 4, 12


def pairs(line):
    words = line.split()
    return {name: int(value) for name, value in zip(words[::2], words[1::2])}


class Machine:
    """A machine that lends memory or did so, and the output of its programs."""

    def __init__(self, vm, lends):
        self.vm = vm
        self.steps = []
        self.wrong = 0
        self.watch = Program(vm, f"grow sample {SAMPLE_MS}{' /run/farswapd/control' * lends}")

    def samples(self):
        return [pairs(line) for line in self.watch.lines]

    def grow(self, args, nr):
        return self.vm.spawn(f"exec grow steps {nr} {nr // 2} {args.plateau * 1000 // args.period}"
                             f" {args.step_kb} {args.period} {args.reads}")

    def grown(self, job, timeout):
        status, output = job.wait(timeout)
        if status:
            raise harness.ClusterError(f"{self.vm.name}: the program ended with {status}\n"
                                       f"{output[-500:]}{self.vm.log_tail(20)}")
        *lines, last = output.splitlines()
        self.steps = [pairs(line) for line in lines]
        self.wrong = pairs(last)["wrong"]


def warm_up(cluster):
    """
    Touch the memory of both donors once, because the emulator is slow at the first access to a
    page. Only the first then lends.
    """
    for vm in cluster.donors:
        farswapd.stop(vm, 20)
    warm = "kb=$(awk '$1 == \"MemAvailable:\" { print $2 - 16384 }' /proc/meminfo); " \
           "exec grow steps 1 1 0 $kb 0 0"
    for job in [vm.spawn(warm) for vm in cluster.donors]:
        status, output = job.wait(60)
        if status:
            raise harness.ClusterError(f"warming up gave {status}\n{output}")
    farswapd.start(cluster.donors[0])


def fill(cluster, args):
    """Lend the first donor's memory to the client. The Job that has it."""
    donor = cluster.donors[0]
    job = cluster.client.spawn(f"exec grow hold {args.client_mem + args.lent * 9 // 10}")
    deadline, lent, last = time.monotonic() + args.timeout, 0, -1
    while lent < args.lent * 9 // 10 and time.monotonic() < deadline:
        time.sleep(2)
        lent = int(farswapd.metric(donor, 'regions{state="mapped"}')
                   * farswapd.metric(donor, "region_bytes")) // MB
        if lent != last and sys.stdout.isatty():
            print(f"\r{lent} MB of {args.lent} MB are lent ", end="", flush=True)
        last = lent
    print("\r" * sys.stdout.isatty() + f"{lent} MB of {args.lent} MB are lent ")
    if lent < args.lent // 2:
        raise harness.ClusterError(f"only {lent} MB were lent in {args.timeout} s")
    return job


def one_round(cluster, args):
    """(the lender, the other machine)"""
    lender, other = cluster.donors
    holder = fill(cluster, args)
    machines = Machine(lender, True), Machine(other, False)
    time.sleep(BEFORE)
    now = machines[0].samples()[-1]
    megabytes = (now["available"] + now["held"] - now["headroom"]) // MB - SPARE
    nr = megabytes * 1024 // args.step_kb + args.plateau * 1000 // args.period
    print(f"the program grows to {megabytes} MB, {args.step_kb * 1000 // args.period // 1024} MB "
          f"a second, in {nr * args.period / 1000:.0f} s", flush=True)
    jobs = []
    for machine in machines:
        jobs.append(machine.grow(args, nr))
        # Run them one after the other, because they share the host's processors.
        time.sleep(args.period / 2000)
    for machine, job in zip(machines, jobs):
        machine.grown(job, args.timeout + nr * args.period // 1000)
    time.sleep(AFTER)
    for machine in machines:
        machine.watch.end()
    holder.kill()
    holder.wait(20)
    return machines


def in_time(machine):
    """Samples, with seconds from the program's first step."""
    begin = machine.steps[0]["at_ms"]
    return [dict(sample, seconds=(sample["at_ms"] - begin) / 1000) for sample in machine.samples()]


def slowdown(ours, theirs):
    """
    (how much longer our steps took than theirs, %, the random part of that as two standard errors).
    Two emulated machines share the host's processors.
    """
    means, errors = zip(*((statistics.mean(times), statistics.stdev(times) / len(times) ** 0.5)
                          for times in ([step["busy_us"] for step in run]
                                        for run in (ours, theirs))))
    ratio = means[0] / means[1]
    chance = 2 * ratio * sum((error / mean) ** 2 for error, mean in zip(errors, means)) ** 0.5
    return 100 * (ratio - 1), 100 * chance


def part(rounds, begin, end):
    """slowdown() of some steps: the median of the rounds."""
    return [statistics.median(column) for column in zip(
        *(slowdown(lender.steps[begin:end], other.steps[begin:end]) for lender, other in rounds))]


def parts(rounds, steps):
    """The slowdown of each window of so many steps and the window's first step, worst first."""
    nr = min(len(lender.steps) for lender, _ in rounds)
    return sorted(((*part(rounds, begin, begin + steps), begin)
                   for begin in range(0, nr - steps + 1, steps)), reverse=True)


def write_csv(path, names, rows):
    with open(path, "w", encoding="ascii") as file:
        print(",".join(names), file=file)
        for row in rows:
            print(",".join(f"{value:.1f}" if isinstance(value, float) else str(value)
                           for value in row), file=file)


def write_results(rounds, directory):
    """All rounds as numbers, the first as a plot."""
    os.makedirs(directory, exist_ok=True)
    names = ("total", "free", "available", "held", "lent", "headroom")
    write_csv(os.path.join(directory, "memory.csv"),
              ("round", "seconds", *(f"{name}_mb" for name in names)),
              ((number, sample["seconds"], *(sample[name] / MB for name in names))
               for number, (lender, _) in enumerate(rounds, 1) for sample in in_time(lender)))
    write_csv(os.path.join(directory, "steps.csv"),
              ("round", "seconds", "megabytes", "lending_us", "alone_us"),
              ((number, (ours["at_ms"] - lender.steps[0]["at_ms"]) / 1000, ours["megabytes"],
                ours["busy_us"], theirs["busy_us"])
               for number, (lender, other) in enumerate(rounds, 1)
               for ours, theirs in zip(lender.steps, other.steps)))
    lender, other = rounds[0]
    with open(os.path.join(directory, "headroom.svg"), "w", encoding="utf-8") as file:
        file.write(plot.memory(in_time(lender), lender.steps, other.steps))


def verdict(rounds, args, complaints):
    samples = [sample for lender, _ in rounds for sample in in_time(lender)
               if sample["seconds"] >= 0]
    headroom = samples[0]["headroom"]
    least = min(sample["available"] for sample in samples)
    windows = parts(rounds, args.window * 1000 // args.period)
    whole = part(rounds, 0, None)
    longest = [max(step["busy_us"] for machine in machines for step in machine.steps) / 1000
               for machines in zip(*rounds)]
    lent = [sample["lent"] for sample in samples]
    left = max(min(sample["lent"] for sample in lender.samples()) for lender, _ in rounds)
    worst = windows[0]
    rows = [
        ("lent", f"{max(lent) / MB:.0f} MB", f"before, {left / MB:.0f} MB at the least"),
        ("headroom", f"{headroom / MB:.0f} MB", ""),
        ("least that was available", f"{least / MB:.0f} MB", ""),
        ("the program's time", f"{whole[0]:+.1f} %",
         f"against the machine that lends nothing (± {whole[1]:.1f})"),
        (f"  worst {args.window} s", f"{worst[0]:+.1f} %",
         f"at {worst[2] * args.period / 1000:.0f} s (± {worst[1]:.1f})"),
        ("  longest step", f"{longest[0]:.0f} ms", f"{longest[1]:.0f} ms on the other")]
    print()
    for name, value, remark in rows:
        print(f"{name:26}{value:>9}  {remark}".rstrip())
    for line in complaints:
        print("kernel:", line)
    results = [
        ("free memory was never under half the headroom", least >= headroom / 2),
        ("the program was never more than 5 % slower, beyond what chance explains",
         all(percent - chance <= 5 for percent, chance, *_ in [whole, *windows])),
        ("what was lent was taken back", left < max(lent) / 4),
        ("no page of the program was wrong",
         not any(machine.wrong for machines in rounds for machine in machines)),
        ("the kernels had nothing to complain about", not complaints)]
    for text, good in results:
        print(f"{'yes' if good else 'NO':3} {text}")
    return 0 if all(good for _, good in results) else 1


def run(args):
    with harness.Cluster(
            donors=2, client_mem=args.client_mem, donor_mem=args.donor_mem,
            disks=[(args.client_mem + 2 * args.lent, 0)], params=False,
            daemon=f"memory={args.lent}M,slab=8M",
            append="farswap.slab_mb=8 farswap.hotslab=0 farswap.donors=10.0.0.2",
            extra_programs=[("/usr/bin/grow", os.path.join(HERE, "grow"), None)]) as cluster:
        warm_up(cluster)
        cluster.client.check("echo 1 >/proc/sys/vm/overcommit_memory")
        cluster.up(donors=1)
        return [one_round(cluster, args) for _ in range(args.rounds)], cluster.complaints()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="the median of which counts")
    parser.add_argument("--output", default=os.path.join(TOP, "out/headroom"), metavar="DIR")
    parser.add_argument("--donor-mem", type=int, default=768, help="of both donors, MB")
    parser.add_argument("--client-mem", type=int, default=192, help="MB")
    parser.add_argument("--lent", type=int, default=448, help="what the donor lends, MB")
    parser.add_argument("--step-kb", type=int, default=4096, help="what a step takes")
    parser.add_argument("--period", type=int, default=250, help="of a step, ms")
    parser.add_argument("--plateau", type=int, default=8, help="seconds without growth, half-way")
    parser.add_argument("--reads", type=int, default=30000, help="pages read in a step")
    parser.add_argument("--window", type=int, default=10, help="of the comparison, seconds")
    parser.add_argument("--timeout", type=int, default=200, help="seconds to fill the donor")
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    host.build(host.fetch(), HERE, "modules", "daemon")
    host.note_other_work()
    rounds, complaints = run(args)
    write_results(rounds, args.output)
    print(f"plot and numbers: {args.output}/headroom.svg, memory.csv, steps.csv")
    return verdict(rounds, args, complaints)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"headroom: {error}")
