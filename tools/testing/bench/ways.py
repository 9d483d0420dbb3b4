#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Compares both hook modes, alternating: farswap built in the tree, called by the patched swap
code, and built out of it, attached to the same kernel. fault.c's loads, checked. Their
purposes:

  random            a page at a time, no readahead: the hook itself
  in order          sequential, with readahead
  large folios      sequential, of 64 KiB: they come back as a whole
  a link            one I/O after the other, and an interrupt for each, as a network card's:
                    what spinning saves

The fault's own page is read before what is read ahead both ways: farswap sees to that itself.

On one machine alone, over a transport that copies at once or, where it says so, after a
while, and whose time counts its instructions: this has no noise; and the direct way once
more, without spinning. With --network between two machines, where what counts is the ratio,
run by run; and the direct way once more, with a spin as long as a read takes here.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys

import harness
from harness import farswap, host, image, raw
import counted

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

# Name, where below the kernel its root is, more kernel arguments. The last one is the reference.
DIRECT = ("direct", "", "")
ASLEEP = ("asleep", "", "farswap.poll_us=0")
SPINNING = ("spinning", "", "farswap.poll_us=1000")
ATTACHED = ("attached", "attach", "")
THP = "/sys/kernel/mm/transparent_hugepage"
# 4 KiB at 10 and at 100 Gb/s, ns, and what a card and a switch take, µs.
LINK_10G = 3277
LINK_100G = 328
LINK_US = 3
# Name, what an I/O takes where there is no network: µs, and ns of a link; pages of readahead as
# a power of two, fault.c's option, its phase, what is compared.
LOADS = (
    ("random", 0, 0, 0, "", "read", ("p50_us", "p99_us")),
    ("random, rewritten", 0, 0, 0, "", "mixed", ("p50_us", "p99_us")),
    ("random, slow", 20, 0, 0, "", "read", ("p50_us", "p99_us")),
    ("in order", 0, 0, 3, "", "sequential", ("mb_per_s",)),
    ("large folios", 0, 0, 3, "-h", "sequential", ("mb_per_s", "faults")),
    ("in order, slow", 20, 0, 3, "", "sequential", ("mb_per_s",)),
    ("large folios, slow", 20, 0, 3, "-h", "sequential", ("mb_per_s", "faults")),
    ("random, link", LINK_US, LINK_100G, 0, "", "read", ("p50_us", "p99_us")),
    ("random, slow link", LINK_US, LINK_10G, 0, "", "read", ("p50_us", "p99_us")),
)


def run_load(client, args, seed, prefix, megabytes, load):
    """The figures of a load that are compared, by (load, what)."""
    name, _, _, shift, option, phase, keys = load
    stats = f"{{ echo =; cat {farswap.DEBUG}/stats; }}"
    output, *stats = client.check(
        f"echo {shift} >/proc/sys/vm/page-cluster; {prefix} {stats} >/tmp/before; "
        f"fault {option} {megabytes} {args.accesses} {seed} {phase} && "
        f"cat /tmp/before && {stats}", args.timeout).split("=")
    before, after = [farswap.counters(text) for text in stats]
    numbers = {"remote %": farswap.remote_share(
        {key: value - before[key] for key, value in after.items()})}
    for line in output.splitlines():
        which, *words = line.split()
        for key, value in zip(words[::2], words[1::2]):
            numbers[key if which == phase else f"{which} {key}"] = float(value)
    if numbers["wrong"]:
        raise harness.ClusterError(f"{name}: {numbers['wrong']:.0f} pages were wrong")
    return {(name, key): numbers[key] for key in (*keys, "fill mb_per_s", "remote %")}


def prepare(client):
    """Enable large folios only on request, with a disk that takes them whole."""
    client.check(f"echo 1 >/proc/sys/vm/overcommit_memory; echo never >{THP}/enabled; "
                 f"echo madvise >{THP}/hugepages-64kB/enabled; "
                 "echo 0 >/sys/block/vda/queue/rotational")


def check_quiet(cluster):
    complaints = cluster.complaints()
    if complaints:
        raise harness.ClusterError(f"kernel: {complaints[0]}")


def run_network(args, root, append, seed, programs):
    """{(load, what): value}"""
    with harness.Cluster(
            donors=1, client_mem=args.mem, donor_mem=1024, disks=[(args.mem * 8, 0)],
            append=f"farswap.hotslab=0 {append} {args.append}", client_root=root,
            extra_programs=programs) as cluster:
        client = cluster.client
        results = {("raw READ", "p50_us"): raw.read_latency(client, cluster.donors[0])[0]}
        prepare(client)
        cluster.up()
        for load in args.loads:
            results |= run_load(client, args, seed, "", int(args.mem * args.factor), load)
        check_quiet(cluster)
        return results


def run_alone(args, root, append, seed, programs):
    """{(load, what): value}"""
    with counted.machine(args.mem, root, f"{append} {args.append}", programs) as cluster:
        client = cluster.client
        prepare(client)
        cluster.swap_on()
        counted.use_farswap(client, args.mem)
        results = {}
        for load in args.loads:
            client.check(f"echo {load[1]} >{counted.RAM}/delay_us; "
                         f"echo {load[2]} >{counted.RAM}/link_ns")
            results |= run_load(client, args, seed, counted.warm(args.mem), args.mem, load)
        check_quiet(cluster)
        return results


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def table(runs, ways):
    """Prints the results of each hook mode, run by run."""
    names = [name for name, _, _ in ways]
    print(f"\n{'':20} {'':13} " + "".join(f"{name:>10}" for name in names)
          + "".join(f"   {name} / {names[-1]}" for name in names[:-1]))
    for what in runs[0][0]:
        columns = list(zip(*[[way[what] for way in run] for run in runs]))
        text = f"{what[0]:20} {what[1]:13} "
        text += "".join(f"{statistics.median(column):10.1f}" for column in columns)
        for column in columns[:-1]:
            text += "   " + spread([one / other for one, other in zip(column, columns[-1])])
        print(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", action="store_true", help="two machines")
    parser.add_argument("--runs", type=int, help="default: 5 with a network, else 1")
    parser.add_argument("--mem", type=int, default=192,
                        help="MB: client's memory; without a network what a load uses")
    parser.add_argument("--factor", type=float, default=1.3, help="of it a load uses")
    parser.add_argument("--accesses", type=int, default=8000, help="of a random load")
    parser.add_argument("--only", help="loads, by name, separated by semicolons")
    parser.add_argument("--append", default="", help="client's kernel arguments")
    parser.add_argument("--timeout", type=int, default=300, help="of each load, seconds")
    args = parser.parse_args()
    # With a network, the transport adds no delay of its own.
    args.loads = [load for load in LOADS
                  if not args.network or not re.search("slow|link", load[0])]
    if args.only:
        args.loads = [load for load in args.loads if load[0] in args.only.split(";")]
    if not args.loads:
        parser.error("no such load; there are: " + "; ".join(load[0] for load in LOADS))
    args.runs = args.runs or (5 if args.network else 1)
    return args


def main():
    args = arguments()
    harness.exit_on_signals()
    host.build(host.fetch(), HERE, "modules", "daemon", "tests")
    kernel = subprocess.run([os.path.join(TOP, "tools/testing/tree/kernel.sh")], check=True,
                            text=True, stdout=subprocess.PIPE).stdout.strip()
    ways = (DIRECT, SPINNING if args.network else ASLEEP, ATTACHED)
    one_run = run_network if args.network else run_alone
    programs = [("/usr/bin/fault", os.path.join(HERE, "fault"), None)]
    if args.network:
        host.note_other_work()
    runs = []
    for seed in range(1, args.runs + 1):
        # Alternate the order, because the caches are cold for the first.
        order = [(seed + i) % len(ways) for i in range(len(ways))]
        results = {}
        for i in order:
            name, below, append = ways[i]
            results[i] = one_run(args, os.path.join(kernel, below), append, seed, programs)
            print(f"run {seed}, {name}: " + ", ".join(
                f"{load} {what} {value:.1f}" for (load, what), value in results[i].items()),
                  flush=True)
        runs.append([results[i] for i in range(len(ways))])
    table(runs, ways)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"ways: {error}")
