#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A machine sends a donor connect requests that it never completes. Without and with them, in turns:

  fault     p99 of a page fault of another client that has a session, microseconds, and their ratio
  connect   how long a client needs to connect and to get a region, seconds

Also while that machine computes instead of sending: an emulated machine that is busy slows the
others down. Prints how many requests the donor got a second, fewer than are asked for.
"""

import os
import re
import statistics
import sys
import time

import harness
from harness import farswap, host, image
import bench
from programs import Asked

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
PEER = os.path.join(TOP, "tools/testing/selftests/farswap/peer")

CONNECT_GOAL, FAULT_GOAL = 2, 2


def boot(args):
    return harness.Cluster(
        clients=2, donors=1, client_mem=args.mem, donor_mem=args.donor_mem,
        disks=[(args.mem * 3, 0)], daemon=f"memory={args.donor_mem - 224}M,slab=8M",
        append=f"farswap.hotslab=0 farswap.slab_mb=8 farswap.backup=disk {args.append}",
        extra_programs=[("/usr/bin/fault", os.path.join(HERE, "fault"), None),
                        ("/usr/bin/peer", PEER, None)])


def faults(program, args):
    """p99 of random reads, µs"""
    numbers, _ = bench.numbers_of(program.ask("read", args.timeout))
    return numbers["p99_us"]


def connects(client, donor):
    """
    Seconds until a client has a connection, and then a region. "peer" gives up if an answer is
    missing, where farswap retries, so it is run again.
    """
    begun = time.monotonic()
    for _ in range(5):
        lost = time.monotonic() - begun
        _, said = client.run(f"peer {donor.address} want 1", 60)
        parts = [int(ms) for ms in re.findall(r"(?:connected|regions) after (\d+) ms", said)]
        if len(parts) == 2:
            return lost + sum(parts) / 1000
    raise harness.ClusterError(f"peer: {said[-200:]}")


def busy(machine, args):
    machine.check("setsid sh -c 'while :; do :; done' >/dev/null 2>&1 </dev/null & "
                  "echo $! >/run/busy.pid")
    time.sleep(args.seconds / 6)


def busy_end(machine):
    machine.check("kill $(cat /run/busy.pid)")


def flood(machine, donor, args):
    machine.check(f"setsid peer {donor.address} burst {args.rate} >/run/burst 2>&1 </dev/null & "
                  "echo $! >/run/burst.pid")
    time.sleep(args.seconds / 3)


def flood_end(machine):
    """Requests a second."""
    said = machine.check("kill $(cat /run/burst.pid); tail -n 1 /run/burst").split()
    return int(said[1]) * 1000 / int(said[4])


def show(what, values, bases):
    ratios = [value / base for value, base in zip(values, bases)]
    print(f"fault p99, {what}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to "
          f"{max(ratios):.2f}), at most {FAULT_GOAL}")


def measure(args):
    quiet, computes, loud, rates = [], [], [], []
    with boot(args) as cluster:
        client, other, donor = *cluster.clients, cluster.donors[0]
        client.check("echo 0 >/proc/sys/vm/page-cluster; echo 1 >/proc/sys/vm/overcommit_memory; "
                     "for d in /sys/block/vd*/queue; do echo 0 >$d/rotational; done")
        cluster.up()
        program = Asked(client, f"fault -i -s {args.seconds} {args.mem * 2} 100000 1")
        program.ask("fill", args.timeout)
        for number in range(args.runs):
            quiet.append((faults(program, args), connects(client, donor)))
            busy(other, args)
            computes.append(faults(program, args))
            busy_end(other)
            flood(other, donor, args)
            loud.append((faults(program, args), connects(client, donor)))
            rates.append(flood_end(other))
            print(f"  round {number + 1}: {rates[-1]:.0f} requests a second; without, with: fault "
                  f"p99 {quiet[-1][0]:.0f}, {loud[-1][0]:.0f} µs, beside a busy machine "
                  f"{computes[-1]:.0f}; connect {quiet[-1][1]:.2f}, {loud[-1][1]:.2f} s",
                  flush=True)
            time.sleep(1)
        program.end()
        counters = farswap.counters(client.check(f"cat {farswap.DEBUG}/stats"))
        if counters["donor_down"]:
            raise harness.ClusterError("the session ended")
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
    show("with / without", [value for value, _ in loud], [value for value, _ in quiet])
    show("with / beside a busy machine", [value for value, _ in loud], computes)
    print(f"connect: {statistics.median(seconds for _, seconds in loud):.2f} s, at longest "
          f"{max(seconds for _, seconds in loud):.2f}, at most {CONNECT_GOAL}")


def main():
    parser = bench.common_options(__doc__, runs=3, seconds=30)
    parser.add_argument("--rate", type=int, default=1000, help="connect requests a second")
    args = parser.parse_args()
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), HERE, "modules", "daemon", "tests", jobs=os.cpu_count())
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    measure(args)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"flood: {error}")
