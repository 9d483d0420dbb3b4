#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Compares the slowest faults of random reads and rewrites. Each kind of swap has machines of its
own, all on at once, and they are measured one after the other in each round, in changing order.
Prints for each kind the median over the rounds, and its ratios to the last kind in each round; and
the same of all faults of all rounds, as the kernel pages out in bursts that some rounds miss.
"""

import collections
import contextlib
import statistics
import sys

import harness
from harness import host, image
import backing as backings
import bench
from measure import Costs
from programs import Asked

KINDS = (backings.FarswapNone, backings.Farswap, backings.NvmeRdma, backings.NvmeTcp)
FIGURES = {"p50_us": "fault, median, µs", "p99_us": "fault, p99, µs",
           "accesses_per_s": "accesses a second",
           "client_kernel_us_per_page": "client's kernel, µs a page",
           "wire_packets_per_page": "packets a page", "pages_out_per_in": "pages out for one in"}


class Contender:
    """A kind of swap, with its machines and the program."""

    def __init__(self, kind, args, stack):
        megabytes = args.mem * 3 // 2
        self.args = args
        self.name = kind.name
        self.found = {figure: [] for figure in FIGURES}
        self.pages = collections.Counter()
        self.buckets = collections.Counter()
        backing = kind(int(megabytes * bench.DEVICE_PARTS))
        self.cluster = stack.enter_context(bench.boot(args, backing, args.mem))
        backing.start(self.cluster)
        self.program = Asked(self.cluster.client, f"fault -b -i -s {args.seconds} {megabytes} "
                                                  "100000 1")
        # Fill the memory with rewritten pages.
        for load in ("fill", "dirty", args.load):
            self.program.ask(load, args.timeout)

    def measure(self):
        with Costs(self.cluster) as costs:
            numbers, buckets = bench.numbers_of(
                self.program.ask(self.args.load, self.args.timeout))
        numbers |= costs.costs
        self.buckets.update(buckets)
        self.pages.update({name: numbers[name] for name in ("pages_in", "pages_out")})
        for figure, found in self.found.items():
            found.append(numbers[figure])
        print(f"  {self.name}: {numbers['faults']:.0f} faults, p50 {numbers['p50_us']:.0f} µs, "
              f"p99 {numbers['p99_us']:.0f} µs", flush=True)

    def percentile(self, percent):
        """Of all faults: the upper bound of its bucket, µs."""
        left = sum(self.buckets.values()) * percent / 100
        for bound, count in sorted(self.buckets.items()):
            left -= count
            if left <= 0:
                break
        return bound

    def show(self, other):
        """Compare with another one."""
        print(self.name)
        for figure, name in FIGURES.items():
            ratios = [mine / theirs for mine, theirs in
                      zip(self.found[figure], other.found[figure])]
            print(f"  {name:28}{statistics.median(self.found[figure]):9.1f}   / {other.name}: "
                  f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        for percent in (50, 99):
            mine, theirs = self.percentile(percent), other.percentile(percent)
            print(f"  {f'p{percent} of all faults, µs':28}{mine:9.1f}   / {other.name}: "
                  f"{mine / theirs:.2f}")
        print(f"  {'pages in, out':28}{self.pages['pages_in']:9.0f} {self.pages['pages_out']:.0f}")

    def end(self):
        self.program.end()
        complaints = self.cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"{self.name}: kernel: {complaints[0]}")


def main():
    parser = bench.common_options(__doc__, runs=5, seconds=6)
    names = {kind.name.replace(",", "").replace(" ", "-").lower(): kind for kind in KINDS}
    parser.add_argument("--swap", default=",".join(names), help="kinds, with commas between")
    parser.add_argument("--load", default="mixed", help="of fault.c")
    args = parser.parse_args()
    for name in args.swap.split(","):
        if name not in names:
            parser.error(f"invalid kind of swap {name!r} (known: {' '.join(names)})")
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), bench.HERE, "modules", "daemon", "tests")
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    with contextlib.ExitStack() as stack:
        contenders = [Contender(names[name], args, stack) for name in args.swap.split(",")]
        for number in range(args.runs):
            print(f"round {number + 1}", flush=True)
            first = number % len(contenders)
            for contender in contenders[first:] + contenders[:first]:
                contender.measure()
        for contender in contenders:
            contender.show(contenders[-1])
        for contender in contenders:
            contender.end()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"tails: {error}")
