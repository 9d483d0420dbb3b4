#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Compressed remote memory compared with uncompressed, for data that LZ4 does not compress, halves
and quarters, and for a Redis with JSON values: in one client with one donor, alternating, while
everything else stays as it is. Prints the median of each figure, and the median of the ratios of
the rounds.

  regions   regions mapped per GB that is swapped
  wire      bytes on the network per page that is paged out, page-out only
  fault     p50 of a page fault, microseconds
  fill      page-out throughput, MB a second
  out, in   the client's kernel time per page, page-out and page-in, microseconds
  memory    of the client for slabs and places, per cent of the mapped regions
"""

import os
import statistics
import subprocess
import sys

import harness
from harness import farswap, host, image, raw
import backing as backings
import bench
import measure
from programs import Asked

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

RATIOS = ("1", "2", "4", "json")
# Small, so that few pages fill a region.
SLAB_MB = 8
WAYS = ("none", "lz4")
THP = "/sys/kernel/mm/transparent_hugepage"
FIGURES = ("regions", "wire", "fault", "fill", "out", "in", "memory")
# Keys of Redis, and the memory that it may have at the client, MB.
KEYS, KEYS_MB = 100000, 40
# Ratio of lz4 to none: at most, or (fill) at least.
GOALS = {
    "1": {"regions": 1.05, "wire": 1.05, "fault": 1.05, "fill": 0.95, "out": 1.05, "in": 1.05},
    "2": {"regions": 0.60, "wire": 0.55, "fault": 1.05, "fill": 0.95},
    "4": {"regions": 0.36, "wire": 0.30, "fault": 1.05, "fill": 1.3},
    "json": {"regions": 0.50},
}


class Remapped(backings.FarswapNone):
    """No region is mapped here: each measurement maps new ones."""

    def warm(self, cluster):
        pass


def occupied(client):
    """{figure: value} of the donor's memory for what is swapped now, and of the client's for it."""
    stats = farswap.counters(client.check(f"cat {farswap.DEBUG}/stats"))
    swapped = int(client.check("awk 'NR == 2 { print $4 }' /proc/swaps"))
    return {"regions": stats["mapped_slabs"] / (swapped / 2 ** 20),
            "memory": 100 * stats["slab_bytes"] / max(stats["mapped_slabs"] * SLAB_MB << 20, 1)}


def fresh(client, setting, way):
    """Start without mapped regions, and with a setting, such as compress, at a value."""
    client.check(f"echo 0 >{farswap.SYSFS}/attached && echo {way} >{farswap.SYSFS}/{setting} && "
                 f"echo 1 >{farswap.SYSFS}/attached")
    client.wait_for(f"grep -q ' live ' {farswap.DEBUG}/donors", 20, f"cat {farswap.DEBUG}/donors")


def measure_one(args, cluster, setting, way, ratio):
    """{figure: value}"""
    client, found = cluster.client, {}
    fresh(client, setting, way)
    # The first region is mapped when the first pages are stored, which go to the disk.
    client.check(f"fault -c {ratio} {args.mem * 5 // 4} 1 1 clean >/dev/null", args.timeout)
    large = "-h" if args.folio else ""
    program = Asked(client, f"fault -c {ratio} {large} -i -s {args.seconds} {args.mem * 2} "
                            f"{args.accesses} 1")
    with measure.Costs(cluster) as out:
        numbers, _ = bench.numbers_of(program.ask("fill", args.timeout))
    found["fill"] = numbers["mb_per_s"]
    found["wire"] = out.costs["wire_mb"] * 1e6 / out.costs["pages_out"]
    found["out"] = out.costs["client_kernel_us_per_page"]
    found |= occupied(client)
    with measure.Costs(cluster) as read:
        numbers, _ = bench.numbers_of(program.ask("read", args.timeout))
    found["fault"] = numbers["p50_us"]
    found["in"] = read.costs["client_kernel_us_per_page"]
    program.end()
    return found


def measure_redis(args, cluster, way):
    """{figure: value}"""
    client = cluster.client
    fresh(client, "compress", way)
    client.check(f"mkdir -p {bench.CGROUP} && echo {KEYS_MB}M >{bench.CGROUP}/memory.high && "
                 "rm -f /run/redis.sock")
    server = client.spawn(f"echo $$ >{bench.CGROUP}/cgroup.procs && exec {bench.SERVERS['redis']}")
    client.wait_for("[ -S /run/redis.sock ]", 20)
    program = Asked(client, f"kv redis /run/redis.sock {KEYS} 1 json")
    with measure.Costs(cluster) as out:
        bench.numbers_of(program.ask("fill", args.timeout))
    found = {"wire": out.costs["wire_mb"] * 1e6 / out.costs["pages_out"], **occupied(client)}
    bench.numbers_of(program.ask(f"run 75 {args.seconds}", args.timeout))
    program.end()
    server.kill()
    server.wait(20)
    return found


def measure_way(args, cluster, way, ratio):
    """{figure: value}"""
    found = (measure_redis(args, cluster, way) if ratio == "json" else
             measure_one(args, cluster, "compress", way, ratio))
    print(f"  {ratio}, {way}: " +
          ", ".join(f"{name} {found[name]:.1f}" for name in FIGURES if name in found), flush=True)
    return found


def measure_all(args, ways, measure_way):
    """{ratio: [({figure: value} of the first way, of the other)]}"""
    rounds = {ratio: [] for ratio in args.ratios}
    with bench.boot(args, Remapped(args.mem * 3), args.mem,
                    programs=bench.server_programs()) as cluster:
        cluster.client.check("echo +memory >/sys/fs/cgroup/cgroup.subtree_control")
        if args.folio:
            cluster.client.check(f"echo always >{THP}/hugepages-{args.folio}kB/enabled")
        print(f"raw READ p50 {raw.read_latency(cluster.client, cluster.donors[0])[0]:.0f} µs",
              flush=True)
        cluster.up()
        for number in range(args.runs):
            for ratio in args.ratios:
                found = {way: measure_way(args, cluster, way, ratio)
                         for way in (ways, ways[::-1])[number % 2]}
                rounds[ratio].append(tuple(found[way] for way in ways))
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
    return rounds


def show(rounds, ways, figures, goals):
    one, other = ways
    print(f"\n{'data':6}{'figure':10}{one:>10}{other:>10}   {other} / {one}, median (lowest to "
          "highest), goal")
    for ratio, pairs in rounds.items():
        for figure in filter(pairs[0][0].get, figures):
            before, after = ([found[figure] for found in column] for column in zip(*pairs))
            ratios = [value / base for base, value in zip(before, after) if base]
            goal = goals.get(ratio, {}).get(figure)
            print(f"{ratio:6}{figure:10}{statistics.median(before):10.1f}"
                  f"{statistics.median(after):10.1f}   {statistics.median(ratios):.2f} "
                  f"({min(ratios):.2f} to {max(ratios):.2f}), {goal or 'none'}")


def arguments():
    parser = bench.common_options(__doc__, runs=5, seconds=4)
    parser.add_argument("--ratios", default=",".join(RATIOS),
                        help="of the data, with commas between")
    parser.add_argument("--folio", type=int, default=0, metavar="KB",
                        help="let memory have folios of that size")
    parser.add_argument("--accesses", type=int, default=20000, help="of a random load, at most")
    args = parser.parse_args()
    args.ratios = args.ratios.split(",")
    if set(args.ratios) - set(RATIOS):
        parser.error(f"--ratios {','.join(args.ratios)}: only {','.join(RATIOS)}")
    return args


def main():
    args = arguments()
    backings.SLAB_MB = SLAB_MB
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), HERE, "modules", "daemon", "tests", jobs=os.cpu_count())
    subprocess.run(["make", "-s", "-C", HERE, "kv"], check=True)
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    show(measure_all(args, WAYS, measure_way), WAYS, FIGURES, GOALS)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"compress: {error}")
