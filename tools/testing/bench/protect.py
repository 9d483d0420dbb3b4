#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Encrypted remote memory compared with plain, in one client with one donor, alternating, while
everything else stays as it is. Prints the median of each figure, and the median of the ratios of
the rounds. The figures are compress.py's. The emulator computes a cipher's instructions one by one:
cipher.py prints what a cipher takes on this machine.
"""

import os
import subprocess
import sys

import harness
from harness import host, image
import backing as backings
import bench
import compress

HERE = os.path.dirname(os.path.abspath(__file__))

WAYS = ("none", "encrypt")
FIGURES = ("wire", "fault", "fill", "out", "in", "memory")
# Ratio of encrypt to none: at most, or (fill) at least.
GOALS = {"1": {"fault": 1.05, "fill": 0.95}}


def measure_way(args, cluster, way, ratio):
    """{figure: value}"""
    found = compress.measure_one(args, cluster, "protect", way, ratio)
    print(f"  {way}: " + ", ".join(f"{name} {found[name]:.1f}" for name in FIGURES), flush=True)
    return found


def main():
    parser = bench.common_options(__doc__, runs=5, seconds=4)
    parser.add_argument("--accesses", type=int, default=20000, help="of a random load, at most")
    args = parser.parse_args()
    args.ratios, args.folio = ["1"], 0
    backings.SLAB_MB = compress.SLAB_MB
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), HERE, "modules", "daemon", "tests", jobs=os.cpu_count())
    subprocess.run(["make", "-s", "-C", HERE, "kv"], check=True)
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    compress.show(compress.measure_all(args, WAYS, measure_way), WAYS, FIGURES, GOALS)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"protect: {error}")
