#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Page fault latency over farswap and over the swap device alone, beside a raw
RDMA READ of a page between the same two machines. Each run boots a client and
one donor afresh; a run has the raw READ before and after, then the load of
fault.c. What counts is the ratio of faults to raw READs within one run.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
sys.path.insert(0, os.path.join(TOP, "tools/testing/qemu"))

# pylint: disable=wrong-import-position
import cluster as harness   # noqa: E402
import farswap              # noqa: E402
import host                 # noqa: E402
import image                # noqa: E402
import raw                  # noqa: E402


def load(cluster, args, seed):
    """fault.c's numbers: {"read p50_us": ...}."""
    megabytes = int(args.mem * args.factor)
    output = cluster.client.check(
        "echo 0 >/proc/sys/vm/page-cluster; echo 1 >/proc/sys/vm/overcommit_memory; "
        f"fault {megabytes} {args.accesses} {seed}", args.timeout)
    numbers = {}
    for line in output.splitlines():
        phase, *words = line.split()
        for name, value in zip(words[::2], words[1::2]):
            numbers[f"{phase} {name}"] = float(value)
    return numbers


def one_run(args, remote, seed):
    with harness.Cluster(
            donors=1, client_mem=args.mem, client_cpus=args.cpus, donor_mem=1024,
            disks=[(args.mem * 8, args.iops)],
            append=f"farswap.hotslab=0 {args.append}", params=remote,
            extra_programs=[("/usr/bin/fault", os.path.join(HERE, "fault"), None)]) as cluster:
        numbers = {}
        before = raw.read_latency(cluster.client, cluster.donors[0])
        if remote:
            cluster.up()
        else:
            cluster.swap_on()
        numbers.update(load(cluster, args, seed))
        if remote:
            stats = farswap.counters(cluster.client.check(f"cat {farswap.DEBUG}/stats"))
            numbers["remote %"] = farswap.remote_share(stats)
        after = raw.read_latency(cluster.client, cluster.donors[0])
        numbers["raw p50_us"] = (before[0] + after[0]) / 2
        numbers["raw p99_us"] = (before[1] + after[1]) / 2
        numbers["raw drift"] = after[0] / before[0]
        for phase in ("read", "mixed"):
            numbers[f"{phase} ratio"] = numbers[f"{phase} p50_us"] / numbers["raw p50_us"]
        numbers["complaints"] = len(cluster.complaints())
        kernel = cluster.client.check("uname -r").strip()
        return numbers, kernel


def table(title, runs):
    print(f"\n{title}, {len(runs)} runs\n  {'':18} {'median':>10} {'lowest':>10} {'highest':>10}")
    for name in ("raw p50_us", "raw p99_us", "raw drift", "fill mb_per_s", "read faults",
                 "read p50_us", "read p99_us", "read ratio", "mixed faults", "mixed p50_us",
                 "mixed p99_us", "mixed ratio", "remote %"):
        values = [run[name] for run in runs if name in run]
        if values:
            print(f"  {name:18} {statistics.median(values):10.2f} {min(values):10.2f}"
                  f" {max(values):10.2f}")
    wrong = sum(run["read wrong"] + run["mixed wrong"] for run in runs)
    complaints = sum(run["complaints"] for run in runs)
    print(f"  wrong pages {wrong:.0f}, kernel complaints {complaints}")
    return wrong or complaints


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    qemu = subprocess.check_output(["qemu-system-x86_64", "--version"], text=True).splitlines()[0]
    return (f"{os.cpu_count()} CPUs, {model[1] if model else '?'}, "
            f"load {os.getloadavg()[0]:.1f}; {qemu}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--mem", type=int, default=192, help="client's memory, MB")
    parser.add_argument("--factor", type=float, default=1.5, help="of it the load uses")
    parser.add_argument("--cpus", type=int, default=1, help="client's processors")
    parser.add_argument("--accesses", type=int, default=20000, help="of each phase")
    parser.add_argument("--iops", type=int, default=0, help="limit of the disk, 0: none")
    parser.add_argument("--append", default="", help="client's kernel arguments")
    parser.add_argument("--timeout", type=int, default=300, help="of each load, seconds")
    parser.add_argument("--only", choices=("farswap", "disk"))
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    host.build(host.fetch(), HERE, "modules", "daemon")
    print(f"machine: {machine()}")
    host.note_other_work()
    bad = 0
    for title, remote in (("farswap", True), ("swap device alone", False)):
        if args.only and args.only not in title.replace("swap device alone", "disk"):
            continue
        runs = []
        for seed in range(1, args.runs + 1):
            numbers, kernel = one_run(args, remote, seed)
            runs.append(numbers)
            print(f"{title} run {seed}: read p50 {numbers['read p50_us']:.0f} µs, "
                  f"raw READ {numbers['raw p50_us']:.0f} µs", flush=True)
        bad += bool(table(title, runs))
    print(f"\nguests: Linux {kernel}, client {args.mem} MB and {args.cpus} CPU, donor 1024 MB; "
          f"soft RoCE, MTU 9000; accelerator {os.environ.get('FARSWAP_ACCEL', 'tcg')}\n"
          f"load: {args.factor} times memory, {args.accesses} accesses a phase, page-cluster 0, "
          f"hotslab 0, disk limit {args.iops or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")
