#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Compares two revisions, alternating, on this machine: what a page costs in instructions
(instructions.py), and page faults over the network (bench.py; with --runs 0 none). Prints for
each figure the ratio of this tree to the other revision. The programs that measure, and the
guests' kernel, are this tree's in both.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import harness
from harness import host, image
import backing as backings
import bench
import instructions

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

# Load, figure, whether more is better.
FIGURES = (("fill", "mb_per_s", True), ("fill", "out_mb_per_s", True),
           ("read", "p50_us", False), ("read", "p99_us", False),
           ("mixed", "p50_us", False), ("mixed", "p99_us", False),
           ("sequential", "mb_per_s", True), ("strided", "accesses_per_s", True),
           ("fill", "client_kernel_us_per_page", False),
           ("read", "client_kernel_us_per_page", False))


def check_out(revision, directory):
    """Its commit, once it is in that directory."""
    commit = subprocess.check_output(["git", "rev-parse", "--verify", revision + "^{commit}"],
                                     cwd=TOP, text=True).strip()
    archive = subprocess.Popen(["git", "archive", commit], cwd=TOP, stdout=subprocess.PIPE)
    with archive:
        subprocess.run(["tar", "-x", "-C", directory], stdin=archive.stdout, check=True)
    if archive.returncode:
        raise image.ImageError(f"{revision} can't be checked out")
    return commit


def counted_rows(trees):
    """[(figure, {tree: value})]"""
    args = argparse.Namespace(mem=96, accesses=8000, append="", timeout=300)
    found = {}
    for name, directory in trees.items():
        image.BUILT = directory
        found[name] = instructions.one_run(args, "farswap", 1)
    return [(" ".join(row).replace("_us", "").replace("us_", "") + ", 1000 instructions",
             {name: numbers[row] for name, numbers in found.items()})
            for row in instructions.ROWS]


def network_run(args, directory):
    """{(load, figure): value}"""
    image.BUILT = directory
    run = bench.Bench(args)
    harness.once_more(lambda: run.attempt("faults", backings.Farswap))
    if run.failed:
        raise harness.ClusterError(run.failed[0])
    name = backings.Farswap.name
    return {(load, figure): run.results.median(load, name, "", figure)
            for load, figure, _ in FIGURES}


def print_network(runs):
    """runs: [{tree: network_run()}]"""
    base, ours = runs[0]
    print(f"\n{'':36}{base[:10]:>12}{ours:>12}   {ours} / {base[:10]}, median (lowest to highest)")
    for load, figure, more in FIGURES:
        values = {name: [run[name][load, figure] for run in runs] for name in (base, ours)}
        ratios = [new / old for old, new in zip(values[base], values[ours])]
        print(f"{load + ' ' + figure:36}"
              + "".join(f"{statistics.median(values[name]):12.1f}" for name in (base, ours))
              + f"   {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}), "
              + ("more" if more else "less") + " is better")


def arguments():
    parser = bench.common_options(__doc__, runs=5, seconds=10)
    parser.add_argument("base", help="the other revision")
    parser.add_argument("--accesses", type=int, default=10000, help="of a random load")
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    kdir = host.fetch("--bench")
    with tempfile.TemporaryDirectory(prefix="farswap-compare-") as directory:
        base = check_out(args.base, directory)
        trees = {base: directory, "this tree": TOP}
        for tree in trees.values():
            host.build(kdir, HERE, "modules", "daemon", "tests", jobs=os.cpu_count(),
                       top=tree)
        print(f"machine: {bench.machine()}", flush=True)
        for figure, values in counted_rows(trees):
            old, new = values.values()
            print(f"{figure:36}{old:12.2f}{new:12.2f}   {new / old:.3f}", flush=True)
        host.note_other_work()
        runs = []
        for number in range(args.runs):
            # Alternate the order.
            order = sorted(trees, reverse=bool(number % 2))
            found = {name: network_run(args, trees[name]) for name in order}
            runs.append({name: found[name] for name in trees})
        if runs:
            print_network(runs)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"compare: {error}")
