#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Profiles both machines during page-out to a donor and during random page-in: samples the call stacks
some hundred times a second. Compares farswap without a backup, farswap with one on the disk, and
NVMe over RDMA, in microseconds of a machine's time per page. Code that runs with interrupts off is
counted where they are enabled again.
"""

import collections
import functools
import os
import re
import sys

import harness
from harness import host, image
import backing as backings
import bench
import measure
import report
from programs import Asked
from symbols import Symbols

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

SWAPS = (backings.FarswapNone, backings.Farswap, backings.NvmeRdma)
# The pages that each load moves.
LOADS = {"fill": "pswpout", "read": "pswpin"}
# The owner of a sample: its innermost function that matches.
PARTS = (
    ("idle", r"^(default_idle|pv_native_safe_halt|native_safe_halt|cpu_idle_poll)$"),
    ("checksum of each packet", r"^(crc32|rxe_(crc32|icrc))"),
    ("device: the emulator takes a packet", r"^(vp_notify|iowrite16|virtqueue_(kick|notify))"),
    ("soft RoCE", r" \[(rdma_rxe|ib_core|ib_uverbs|rdma_cm|ib_cm)\]$"),
    ("network below it",
     r" \[(virtio_net|net_failover|udp_tunnel|ip6_udp_tunnel)\]$|^_*(dev_|ip_|ip6_|udp|netif_|"
     r"napi_|net_(rx|tx)_|skb_|alloc_skb|kfree_skb|consume_skb|pskb_|sch_|eth_|nf_|fib_|neigh_|"
     r"gro_|vring_|virtqueue_|qdisc|sock_|dst_)"),
    ("farswap", r" \[farswap(_rdma)?\]$"),
    ("NVMe, disks, the block layer",
     r" \[(nvme|nvmet|brd|virtio_blk)[a-z_]*\]$|^_*(blk_|bio_|submit_bio|brd_|sg_)"),
    ("memory management",
     r"^_*(shrink_|try_to_|do_swap_page|swap_|add_to_swap|folio_|handle_mm_fault|"
     r"do_anonymous_page|kswapd|balance_pgdat|lru_|rmap_|alloc_pages|get_page_from_freelist|"
     r"free_unref)"),
    ("timers",
     r"^_*(hrtimer_|tick_|clockevents_|lapic_|run_timer|sysvec_apic_timer|timekeeping_|"
     r"update_process_times|perf_)"),
    ("scheduling",
     r"^_*(schedule|try_to_wake_up|ttwu_|pick_next|finish_task|wake_up|default_wake|do_idle|"
     r"cpuidle_|process_one_work|worker_thread)"),
    ("interrupts and faults, in and out",
     r"^_*(asm_|exc_|sysvec_|common_interrupt|handle_.*irq|irq_|handle_softirqs|"
     r"do_user_addr_fault|entry_|syscall_|do_syscall)"),
    ("programs", r"^user$"),
)
REST = "other"
ALL = "all but idle"
PACKETS = ("packets it receives", "packets it sends")
IDLE = PARTS[0][0]
PATTERNS = [(part, re.compile(pattern)) for part, pattern in PARTS]


@functools.cache
def part_of(function):
    return next((part for part, pattern in PATTERNS if pattern.search(function)), None)


class Sampled:
    """Samples a machine in a "with" block, in counts: {(part, function): samples}."""

    def __init__(self, vm, hertz):
        self.vm = vm
        self.symbols = Symbols(vm)
        self.hertz = hertz
        self.counts = collections.Counter()
        self.job = None
        self.seconds = 0
        self.packets = ()

    def now(self):
        """The machine's clock, and its counts of received and sent packets."""
        seconds, received, sent = self.vm.check(
            "cut -d' ' -f1 /proc/uptime; cd /sys/class/net/eth0/statistics; "
            "cat rx_packets tx_packets").split()
        return float(seconds), (int(received), int(sent))

    def __enter__(self):
        self.job = self.vm.spawn(f"exec sampler {self.hertz}")
        self.vm.wait_for("[ -n \"$(pidof sampler)\" ]", 10)
        self.seconds, self.packets = self.now()

    def __exit__(self, kind, value, traceback):
        seconds, packets = self.now()
        self.seconds = seconds - self.seconds
        self.packets = [new - old for new, old in zip(packets, self.packets)]
        self.vm.run("kill $(pidof sampler)")
        status, output = self.job.wait(60)
        if kind:
            return
        lines = output.split("\n")
        if status or lines[-2:] != ["lost 0", ""]:
            raise harness.ClusterError(f"sampler: {status}, {output[-200:]}")
        self.counts = collections.Counter(map(self.sample, lines[1:-2]))

    def sample(self, line):
        names = [line] if line == "user" else [
            self.symbols.name(int(word, 16)) for word in line.split()]
        return next(filter(None, map(part_of, names)), REST), names[0]


def one_load(cluster, program, load, args):
    """{machine: ({part: µs a page}, {(part, function): µs a page})}"""
    machines = {name: Sampled(vm, args.hertz) for name, vm in cluster.machines.items()}
    client, donor = machines.values()
    before = measure.sample(cluster.client)
    with client, donor:
        program.ask(load, args.timeout)
    pages = measure.sample(cluster.client)[LOADS[load]] - before[LOADS[load]]
    found = {}
    for name, sampled in machines.items():
        unit = sampled.seconds * 1e6 / pages / sum(sampled.counts.values())
        parts = collections.Counter()
        for (part, _), count in sampled.counts.items():
            parts[part] += count * unit
            parts[ALL] += count * unit if part != IDLE else 0
        parts |= {what: nr / pages for what, nr in zip(PACKETS, sampled.packets)}
        found[name] = parts, {key: count * unit for key, count in sampled.counts.items()}
    return found


def measure_swap(kind, args):
    """{load: what one_load() says}"""
    megabytes = args.mem * 3 // 2
    backing = kind(int(megabytes * bench.DEVICE_PARTS))
    with bench.boot(args, backing, args.mem, programs=[
            ("/usr/bin/sampler", os.path.join(HERE, "sampler"), None)]) as cluster:
        backing.start(cluster)
        program = Asked(cluster.client, f"fault -i -s {args.seconds} {megabytes} 100000 1")
        found = {}
        for load in LOADS:
            found[load] = one_load(cluster, program, load, args)
            print(f"  {backing.name}: {load}", flush=True)
            # Wait for pending page-outs, so that they do not disturb the reads.
            program.ask("clean", args.timeout)
        program.end()
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
    return found


def show_functions(swap, functions, least):
    for (part, function), spent in sorted(functions.items(), key=lambda item: -item[1]):
        if spent >= least:
            print(f"  {swap}: {spent:6.1f}  {function}, {part}")


def show(found, args):
    """found: {swap: [what measure_swap() says of each run]}"""
    for load in LOADS:
        for machine in found[SWAPS[0].name][0][load]:
            spent = {swap: [run[load][machine] for run in runs] for swap, runs in found.items()}
            report.table(
                f"{load}: µs of the {machine} for each page",
                [*(part for part, _ in PARTS), REST, ALL], [
                    (swap, lambda part, runs=runs: [parts[part] for parts, _ in runs], 1)
                    for swap, runs in spent.items()])
            report.table("", PACKETS, [
                (swap, lambda what, runs=runs: [parts[what] for parts, _ in runs], 2)
                for swap, runs in spent.items()])
            for swap, runs in spent.items():
                if args.least:
                    show_functions(swap, runs[-1][1], args.least)


def arguments():
    parser = bench.common_options(__doc__, runs=3, seconds=10, timeout=120)
    parser.add_argument("--hertz", type=int, default=250, help="samples a second")
    parser.add_argument("--least", type=float, default=0,
                        help="also functions that take so many µs a page, in the last run")
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), HERE, "modules", "daemon", "tests", jobs=os.cpu_count())
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    found = {kind.name: [] for kind in SWAPS}
    for _ in range(args.runs):
        for kind in SWAPS:
            found[kind.name].append(measure_swap(kind, args))
    show(found, args)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"hotspots: {error}")
