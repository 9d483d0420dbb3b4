#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Compares farswap's prefetching with the kernel's readahead on the same transport: in one client with
one donor, alternating, with everything else unchanged. Prints the results of both for each load,
and the ratio of each round.

Loads, of memory one and a half times the machine's:
  sequential  all pages in order
  strided     every tenth
  runs        24 pages in order, and so on elsewhere
  both        a page in order and one at random, in turn
  read        at random
"""

import os
import statistics
import sys

import harness
from harness import farswap, host, image, raw
import backing as backings
import bench
from programs import Asked

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

# Each load, with the goal for its ratio.
LOADS = {"sequential": 1.3, "strided": 1, "runs": 1, "both": 1, "read": 0.98}
COUNTED = ("prefetched", "prefetch_used", "prefetch_unused")


def run_load(client, program, args, load, pages):
    """Accesses a second, and what was counted."""
    client.check(f"echo {pages} >{farswap.SYSFS}/prefetch_pages")
    before = farswap.counters(client.check(f"cat {farswap.DEBUG}/stats"))
    numbers, _ = bench.numbers_of(program.ask(load, args.timeout))
    after = farswap.counters(client.check(f"cat {farswap.DEBUG}/stats"))
    return numbers["accesses_per_s"], farswap.grown(after, before)


def measure(args):
    """({load: [(kernel's, ours)]}, {load: {counter: sum}})"""
    backing = backings.FarswapNone(args.mem * 2)
    rates, counts = {}, {}
    with bench.boot(args, backing, args.mem) as cluster:
        client = cluster.client
        print(f"raw READ p50 {raw.read_latency(client, cluster.donors[0])[0]:.0f} µs")
        backing.start(cluster)
        client.check("echo 3 >/proc/sys/vm/page-cluster")
        program = Asked(client, f"fault -i -s {args.seconds} {args.mem * 3 // 2} "
                                f"{args.accesses} 1")
        for load in ("fill", "sequential"):
            program.ask(load, args.timeout)
        for number in range(args.runs):
            for load in args.loads:
                found = {}
                for pages in ((0, args.pages), (args.pages, 0))[number % 2]:
                    found[pages], grown = run_load(client, program, args, load, pages)
                    if pages:
                        sums = counts.setdefault(load, dict.fromkeys(COUNTED, 0))
                        for name in COUNTED:
                            sums[name] += grown[name]
                rates.setdefault(load, []).append((found[0], found[args.pages]))
        program.end()
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
    return rates, counts


def show(rates, counts):
    print(f"\n{'accesses a second':18}{'readahead':>10}{'prefetch':>10}{'used':>7}"
          "   prefetch / readahead, median (lowest to highest), goal")
    for load, found in rates.items():
        kernel, ours = zip(*found)
        ratios = [one / other for other, one in found]
        known = counts[load]["prefetch_used"] + counts[load]["prefetch_unused"]
        used = 100 * counts[load]["prefetch_used"] / known if known else 0
        print(f"{load:18}{statistics.median(kernel):10.0f}{statistics.median(ours):10.0f}"
              f"{used:5.0f} %   {statistics.median(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f}), {LOADS[load]}")


def arguments():
    parser = bench.common_options(__doc__, runs=5, seconds=4)
    parser.add_argument("--loads", default=",".join(LOADS), help="with commas between")
    parser.add_argument("--pages", type=int, default=32, help="farswap's prefetch_pages")
    parser.add_argument("--accesses", type=int, default=100000, help="of a load, at most")
    args = parser.parse_args()
    args.loads = args.loads.split(",")
    return args


def main():
    args = arguments()
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), HERE, "modules", "daemon", "tests", jobs=os.cpu_count())
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    show(*measure(args))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"prefetch: {error}")
