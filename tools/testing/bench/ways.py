#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Both ways into the kernel, in turn: farswap built in the tree, called by the patched swap
code, and built out of it, attached to the same kernel; and the first once more with a
spin as long as a read takes here. Each run boots a client and one donor for each, and puts
fault.c's loads on them: what counts is the ratio to the attached one, run by run. What each
load is for:

  random            a page at a time, no readahead: the hook itself
  with readahead    random, in a readahead of 8 pages: the fault's own page is posted first
  in order          the same, sequential
  large folios      sequential, of 64 KiB: they come back as a whole
"""

import argparse
import os
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

# Name, where below the kernel its root is, more kernel arguments. The last is compared with.
WAYS = (("direct", "", ""), ("spinning", "", "farswap.poll_us=1000"), ("attached", "attach", ""))
THP = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB"
# Name, pages of readahead as a power of two, fault.c's option, its phase, what is compared.
LOADS = (
    ("random", 0, "", "read", ("p50_us", "p99_us")),
    ("random, rewritten", 0, "", "mixed", ("p50_us", "p99_us")),
    ("with readahead", 3, "", "read", ("p50_us", "p99_us")),
    ("in order", 3, "", "sequential", ("mb_per_s",)),
    ("large folios", 3, "-h", "sequential", ("mb_per_s", "faults")),
)


def load(client, args, seed, cluster_shift, option, phase):
    """fault.c's numbers of a phase, and of the fill before it."""
    output = client.check(
        f"echo {cluster_shift} >/proc/sys/vm/page-cluster; "
        f"fault {option} {int(args.mem * args.factor)} {args.accesses} {seed} {phase}",
        args.timeout)
    numbers = {}
    for line in output.splitlines():
        name, *words = line.split()
        for key, value in zip(words[::2], words[1::2]):
            numbers[key if name == phase else f"{name} {key}"] = float(value)
    if numbers["wrong"]:
        raise harness.ClusterError(f"{phase}: {numbers['wrong']:.0f} pages were wrong")
    return numbers


def one_run(args, root, append, seed):
    """{(load, what): value}"""
    with harness.Cluster(
            donors=1, client_mem=args.mem, donor_mem=1024, disks=[(args.mem * 8, 0)],
            append=f"farswap.hotslab=0 {append} {args.append}", client_root=root,
            extra_programs=[("/usr/bin/fault", os.path.join(HERE, "fault"), None)]) as cluster:
        client = cluster.client
        results = {("raw READ", "p50_us"): raw.read_latency(client, cluster.donors[0])[0]}
        cluster.up()
        client.check(f"echo 1 >/proc/sys/vm/overcommit_memory; echo madvise >{THP}/enabled")
        for name, shift, option, phase, keys in LOADS:
            if args.only and name not in args.only.split(","):
                continue
            numbers = load(client, args, seed, shift, option, phase)
            results |= {(name, key): numbers[key] for key in keys}
            results[name, "fill mb_per_s"] = numbers["fill mb_per_s"]
        stats = farswap.counters(client.check(f"cat {farswap.DEBUG}/stats"))
        results["everything", "remote %"] = farswap.remote_share(stats)
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
        return results


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def table(runs):
    """Of runs: the results of each of WAYS, one after the other."""
    names = [name for name, _, _ in WAYS]
    print(f"\n{'':18} {'':13} " + "".join(f"{name:>10}" for name in names)
          + "".join(f"   {name} / {names[-1]}" for name in names[:-1]))
    for what in runs[0][0]:
        columns = list(zip(*[[way[what] for way in run] for run in runs]))
        text = f"{what[0]:18} {what[1]:13} "
        text += "".join(f"{statistics.median(column):10.1f}" for column in columns)
        for column in columns[:-1]:
            text += "   " + spread([one / other for one, other in zip(column, columns[-1])])
        print(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--mem", type=int, default=192, help="client's memory, MB")
    parser.add_argument("--factor", type=float, default=1.3, help="of it a load uses")
    parser.add_argument("--accesses", type=int, default=8000, help="of a random load")
    parser.add_argument("--only", default="", help="loads, by name, separated by commas")
    parser.add_argument("--append", default="", help="client's kernel arguments")
    parser.add_argument("--timeout", type=int, default=300, help="of each load, seconds")
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    host.build(host.fetch(), HERE, "modules", "daemon")
    kernel = subprocess.run([os.path.join(TOP, "tools/testing/tree/kernel.sh")], check=True,
                            text=True, stdout=subprocess.PIPE).stdout.strip()
    host.note_other_work()
    runs = []
    for seed in range(1, args.runs + 1):
        # Not always the same first: its caches are the colder ones.
        order = [(seed + i) % len(WAYS) for i in range(len(WAYS))]
        results = {}
        for i in order:
            name, below, append = WAYS[i]
            results[i] = one_run(args, os.path.join(kernel, below), append, seed)
            print(f"run {seed}, {name}: " + ", ".join(
                f"{load} {what} {value:.1f}" for (load, what), value in results[i].items()),
                  flush=True)
        runs.append([results[i] for i in range(len(WAYS))])
    table(runs)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"ways: {error}")
