#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Counts the instructions of a page-in and a page-out, in thousands, for the kinds of swap that keep
pages in local memory: farswap over farswap-ram, which copies, zram, and a RAM disk (brd). Without a
network the cost is the kernel's share, farswap's own and one copy of a page. fault.c's pages are
incompressible. The kernel reads RAM disks and zram past its swap cache. budget.py shows farswap's
own share.
"""

import argparse
import os
import sys

import harness
from harness import farswap, host, image
import counted

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

DEVICES = ("farswap", "zram", "brd")
# The printed values of fault.c's output: phase, value.
ROWS = (("read", "p50_us"), ("read", "p99_us"), ("mixed", "p50_us"), ("out", "us_per_page"))


def use(client, device, mem):
    kilobytes = mem * 1024 * 4 // 3
    if device == "farswap":
        counted.use_farswap(client, mem)
        return
    counted.make_cgroup(client, mem)
    if device == "zram":
        client.check(f"modprobe zram && echo {kilobytes}K >/sys/block/zram0/disksize && "
                     "mkswap /dev/zram0 && swapon /dev/zram0")
    else:
        client.check(f"modprobe brd rd_nr=1 rd_size={kilobytes} && mkswap /dev/ram0 && "
                     "swapon /dev/ram0")


def boot(args):
    """A machine that is set up for a load."""
    programs = [("/usr/bin/fault", os.path.join(HERE, "fault"), None)]
    cluster = counted.machine(args.mem, append=args.append, programs=programs)
    cluster.client.check(
        "echo 1 >/proc/sys/vm/overcommit_memory; echo 0 >/proc/sys/vm/page-cluster; "
        "echo 0 >/sys/block/vda/queue/rotational")
    return cluster


def one_run(args, device, seed):
    """{(phase, what): value}"""
    with boot(args) as cluster:
        client = cluster.client
        if device == "farswap":
            cluster.swap_on()
        use(client, device, args.mem)
        output = client.check(
            f"{counted.warm(args.mem)} fault {args.mem} {args.accesses} {seed} read mixed out",
            args.timeout)
        numbers = {}
        for line in output.splitlines():
            phase, *words = line.split()
            numbers |= {(phase, key): float(value)
                        for key, value in zip(words[::2], words[1::2])}
        if device == "farswap":
            stats = farswap.counters(client.check(f"cat {farswap.DEBUG}/stats"))
            share = farswap.remote_share(stats)
            if share < 99:
                raise harness.ClusterError(f"only {share:.0f} % of all reads were farswap's")
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
        return {row: numbers[row] for row in ROWS}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mem", type=int, default=96, help="what the load uses, MB")
    parser.add_argument("--accesses", type=int, default=8000, help="of a random load")
    parser.add_argument("--append", default="", help="kernel arguments")
    parser.add_argument("--timeout", type=int, default=300, help="seconds")
    args = parser.parse_args()
    harness.exit_on_signals()
    host.build(host.fetch(), HERE, "modules", "daemon", "tests")
    results = [one_run(args, device, 1) for device in DEVICES]
    print(f"{'1000 instructions':18}" + "".join(f"{device:>10}" for device in DEVICES))
    for row in ROWS:
        print(f"{' '.join(row).replace('_us', '').replace('us_', ''):18}"
              + "".join(f"{result[row]:10.2f}" for result in results))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"instructions: {error}")
