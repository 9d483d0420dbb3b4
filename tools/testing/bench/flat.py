#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Does a page cost more where there are more slabs, or more donors? Instructions of a fault that
reads a page, the median, and of a page that is put out, over farswap-ram in a machine whose
virtual time counts them; beside each, the ratio to the first line's. A device of 10,000 slabs
contains a page in each of them beside the load (ballast.c).
"""

import argparse
import os
import sys

import harness
from harness import farswap, host, image
import counted

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

# Donors, the size of a slab, of the load, of the swap device and of the machine's memory, MB;
# slabs with a page of something else. None is half full: then the kernel frees slots early.
SETTINGS = (
    (1, 256, 96, 256, 768, 0),
    (1, 2, 96, 256, 768, 0),
    (2, 2, 96, 256, 768, 0),
    (4, 2, 96, 256, 768, 0),
    (8, 2, 96, 256, 768, 0),
    (1, 2, 96, 2048, 768, 960),
    (1, 2, 96, 20000, 1536, 9800),
)
GOAL = 1.05
# Per cent of the reads. While slabs are being mapped their first pages go to the disk; the median
# fault still reads from a donor.
LEAST_REMOTE, LEAST_REMOTE_AMONG = 99, 90


def one_setting(args, setting):
    """(instructions of a fault, of a page out, slabs of the device, slabs that are mapped)"""
    donors, slab_mb, mem, disk, memory, ballast = setting
    programs = [(f"/usr/bin/{name}", os.path.join(HERE, name), None)
                for name in ("fault", "ballast")]
    with counted.machine(mem, append=args.append, programs=programs, memory=memory, disk=disk,
                         slab_mb=slab_mb) as cluster:
        client = cluster.client
        client.check("echo 1 >/proc/sys/vm/overcommit_memory; echo 0 >/proc/sys/vm/page-cluster; "
                     "echo 0 >/sys/block/vda/queue/rotational")
        cluster.swap_on()
        counted.use_farswap(client, mem, donors, disk // slab_mb + 2)
        if ballast:
            # Each slab that the load fills has the next one mapped in advance. A page table per
            # page would exceed the memory limit of the load.
            client.check(f"{counted.warm(mem)} echo $$ >/sys/fs/cgroup/cgroup.procs && "
                         f"ballast {ballast}", args.timeout)
        before = farswap.counters(client.check(f"cat {farswap.DEBUG}/stats"))
        output = client.check(
            f"{counted.warm(mem)} fault {mem} {args.accesses} 1 read out && "
            f"cat {farswap.DEBUG}/stats", args.timeout)
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
    stats = farswap.counters(output)
    share = farswap.remote_share(farswap.grown(stats, before))
    if share < (LEAST_REMOTE_AMONG if ballast else LEAST_REMOTE):
        raise harness.ClusterError(f"only {share:.0f} % of all reads were of donors; "
                                   f"{stats['mapped_slabs']} slabs are mapped")
    numbers = {}
    for line in output.splitlines():
        phase, *words = line.split()
        if phase in ("read", "out"):
            numbers |= dict(zip(words[::2], map(float, words[1::2])))
    return (1000 * numbers["p50_us"], 1000 * numbers["us_per_page"], disk // slab_mb,
            stats["mapped_slabs"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accesses", type=int, default=4000, help="of the random load")
    parser.add_argument("--append", default="", help="kernel arguments")
    parser.add_argument("--timeout", type=int, default=900, help="of a load, seconds")
    args = parser.parse_args()
    harness.exit_on_signals()
    host.build(host.fetch(), HERE, "modules", "daemon", "tests")
    first, met = None, True
    print(f"{'donors':>6}{'slabs':>7}{'mapped':>8}{'a fault':>9}{'':>7}{'a page out':>12}")
    for setting in SETTINGS:
        fault, out, slabs, mapped = one_setting(args, setting)
        first = first or (fault, out)
        ratios = fault / first[0], out / first[1]
        met = met and max(ratios) <= GOAL
        print(f"{setting[0]:6}{slabs:7}{mapped:8}{fault:9.0f}{ratios[0]:7.3f}{out:12.0f}"
              f"{ratios[1]:7.3f}", flush=True)
    print(f"goal: none above {GOAL}: {'met' if met else 'not met'}")
    return 0 if met else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"flat: {error}")
