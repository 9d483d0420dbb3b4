#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
One of two donors becomes slow: its reads take 600 ms. p99 of page faults at random, microseconds,
with and without hedged reads, in one machine over farswap-ram with backup=disk:

  well      both donors are well
  begins    from the moment at which one becomes slow
  lasts     the same length of time after that
  no hedge  as begins, with hedge=0
  disk      without farswap, before and after the others

Prints the ratio to the disk of each, and what hedging did.
"""

import os
import statistics
import sys

import harness
from harness import farswap, host, image
import bench
from programs import Asked

HERE = os.path.dirname(os.path.abspath(__file__))

CGROUP = "/sys/fs/cgroup/slow"
RAM = "/sys/module/farswap_ram/parameters"
DONORS = ("10.9.9.1", "10.9.9.2")
SLOW_MS = 600
# Time of other reads, so that the donors are no faster than a network.
DELAY_US = 200
SLAB_MB = 2
# The p99 with a slow donor may be this multiple of the disk's.
GOAL = 3
COUNTERS = ("load_remote", "load_device", "load_hedged", "load_hedge_won", "load_avoided")


class Client:
    """The client, and a program whose memory is swapped."""

    def __init__(self, cluster, args):
        self.vm, self.args = cluster.client, args
        self.vm.check("echo 0 >/proc/sys/vm/page-cluster; echo 1 >/proc/sys/vm/overcommit_memory; "
                      "for d in /sys/block/vd*/queue; do echo 0 >$d/rotational; done")
        self.vm.check(f"echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir {CGROUP} && "
                      f"echo {args.mem // 2}M >{CGROUP}/memory.high")
        cluster.swap_on()
        self.program = Asked(self.vm, f"fault -i -s {args.seconds} {args.mem} 100000 1", CGROUP)
        self.program.ask("fill", args.timeout)

    def fault(self):
        """p99 of random reads, µs"""
        numbers, _ = bench.numbers_of(self.program.ask("read", self.args.timeout))
        return numbers["p99_us"]

    def counters(self):
        return farswap.counters(self.vm.check(f"cat {farswap.DEBUG}/stats"))

    def attach(self):
        """All pages that are swapped are at the donors, too, when this returns."""
        regions = self.args.mem // SLAB_MB + 16
        self.vm.check(f"modprobe farswap && modprobe farswap-ram sparse=1 regions={regions} "
                      f"delay_us={DELAY_US} slow_ms={SLOW_MS} && "
                      f"echo {','.join(DONORS)} >{farswap.SYSFS}/donors")
        self.vm.wait_for(f"[ \"$(grep -c live {farswap.DEBUG}/donors)\" = {len(DONORS)} ]", 60,
                         f"cat {farswap.DEBUG}/donors")
        # The first pages of a slab go to the disk, until it is mapped.
        for _ in range(3):
            self.program.ask("fill", self.args.timeout)

    def recover(self):
        """The donor is well, and used again."""
        self.vm.check(f"echo 0 >{RAM}/slow")
        for _ in range(40):
            self.program.ask("read", self.args.timeout)
            if not self.is_slow():
                return
        raise harness.ClusterError("the donor has recovered, but is still avoided")

    def is_slow(self):
        head, *donors = self.vm.check(f"cat {farswap.DEBUG}/donors").splitlines()
        column = head.split().index("slow")
        return any(line.split()[column] != "0" for line in donors)


def one_round(client):
    """{name: p99}"""
    found = {"well": client.fault()}
    before = client.counters()
    client.vm.check(f"echo 1 >{RAM}/slow")
    found["begins"] = client.fault()
    found["lasts"] = client.fault()
    after = client.counters()
    client.recover()
    client.vm.check(f"echo 0 >{farswap.SYSFS}/hedge; echo 1 >{RAM}/slow")
    found["no hedge"] = client.fault()
    client.vm.check(f"echo 2 >{farswap.SYSFS}/hedge")
    client.recover()
    print("  " + ", ".join(f"{name} {value:.0f}" for name, value in found.items()) + " µs; " +
          ", ".join(f"{name} {after[name] - before[name]}" for name in COUNTERS), flush=True)
    return found


def measure(args):
    """({name: [p99]} of the rounds, [p99] of the disk)"""
    with harness.Cluster(
            # farswap-ram may come to hold as much as the disk: pages come and go on all of it.
            donors=0, client_mem=args.mem * 6, disks=[(args.mem * 3, 0)],
            append=f"farswap.hotslab=0 farswap.slab_mb={SLAB_MB} farswap.backup=disk {args.append}",
            extra_programs=[("/usr/bin/fault", os.path.join(HERE, "fault"), None)]) as cluster:
        client = Client(cluster, args)
        disk = [client.fault()]
        client.attach()
        rounds = [one_round(client) for _ in range(args.runs)]
        client.vm.check(f"echo 0 >{farswap.SYSFS}/attached", args.timeout)
        disk.append(client.fault())
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
    return {name: [found[name] for found in rounds] for name in rounds[0]}, disk


def main():
    parser = bench.common_options(__doc__, runs=3, seconds=10)
    args = parser.parse_args()
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), HERE, "modules", "daemon", "tests", jobs=os.cpu_count())
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    found, disk = measure(args)
    print(f"\ndisk p99 {disk[0]:.0f} and {disk[1]:.0f} µs; over it, median (lowest to highest):")
    usual = statistics.mean(disk)
    for name, values in found.items():
        goal = f", at most {GOAL}" if name in ("begins", "lasts") else ""
        print(f"  {name:9} {statistics.median(values) / usual:8.2f} ({min(values) / usual:.2f} to "
              f"{max(values) / usual:.2f}){goal}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"slow: {error}")
