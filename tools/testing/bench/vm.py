#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Measures what a hypervisor with farswap does for its virtual machines. A program with known
contents stands for a machine: its memory is the guest's. All figures to compare are ratios within
one run.

Parts:
  shared  random reads of shared memory (a guest with share=on) and of private memory, alternating;
          goal: a median fault of at most 1.05 of the other's
  grow    time until random reads spend 5 % of their time in faults, so that they have 95 % of full
          speed, after a small machine may grow, with and without pull; goal: 0.3 of the time

make bench compares the faults of a machine on a farswap host with those of one that has its own
swap over NVMe-oF: swap in a guest is swap in a machine, but for the exits of its network.
"""

import statistics
import sys
import time

import harness
from harness import host, image
import backing as backings
import bench
from programs import Asked

GOALS = {"shared": 1.05, "grow": 0.3}
# The machine's memory, and what it keeps: MB.
MACHINE_MB, SMALL_MB = 64, 16
# The part of the time that faults may take once the speed is back, and the time after which that is
# no longer expected, s. The speed itself depends on other work of the machine.
FAULTS, PATIENCE = 0.05, 240


def phase(program, name, args):
    """The numbers of a phase of fault.c."""
    return bench.numbers_of(program.ask(name, args.timeout))[0]


def make_group(client, name, high):
    path = f"/sys/fs/cgroup/{name}"
    client.check("echo +memory >/sys/fs/cgroup/cgroup.subtree_control; "
                 f"mkdir -p {path} && echo {high} >{path}/memory.high")
    return path


def measure_shared(args):
    """[(private, shared)], medians of faults in µs."""
    backing, found = backings.FarswapNone(args.mem * 2), []
    with bench.boot(args, backing, args.mem, cpus=2) as cluster:
        client = cluster.client
        backing.start(cluster)
        client.check("echo 3 >/proc/sys/vm/page-cluster")
        for number in range(args.runs):
            p50 = {}
            for option in (("", "-m "), ("-m ", ""))[number % 2]:
                group = make_group(client, "machine", f"{SMALL_MB}M")
                program = Asked(client, f"fault -i {option}-s {args.seconds} {MACHINE_MB} "
                                        f"{args.accesses} 1", group)
                for name in ("fill", "read"):
                    phase(program, name, args)
                p50[option] = phase(program, "read", args)["p50_us"]
                program.end()
            found.append((p50[""], p50["-m "]))
            print(f"  private {found[-1][0]:.0f} µs, shared {found[-1][1]:.0f} µs", flush=True)
    return found


def in_faults(numbers):
    """The part of a second that was spent in faults."""
    return numbers["faults"] * numbers["p50_us"] / 1e6


def recovery(client, program, args, pull):
    """Seconds until the speed is back after the machine may grow."""
    client.check(f"farswapctl --psi 100 shrink /machine {SMALL_MB}M", timeout=args.timeout)
    small = in_faults(phase(program, "read", args))
    began = time.monotonic()
    job = client.spawn(f"exec farswapctl {'--pull --leave 8M ' if pull else ''}grow /machine max")
    part = 1
    while part > FAULTS and time.monotonic() - began < PATIENCE:
        part = in_faults(phase(program, "read", args))
    spent = time.monotonic() - began
    job.wait(args.timeout)
    print(f"  {'with' if pull else 'without'} pull {spent:.1f} s; {100 * small:.0f} % of the time "
          f"in faults when small, {100 * part:.1f} % then", flush=True)
    return spent


def measure_grow(args):
    """[(without pull, with pull)], seconds."""
    backing, found = backings.FarswapNone(args.mem * 2), []
    # The host's memory is not short once the machine may grow.
    with bench.boot(args, backing, args.mem + 2 * MACHINE_MB, cpus=2) as cluster:
        client = cluster.client
        backing.start(cluster)
        client.check("echo 3 >/proc/sys/vm/page-cluster")
        group = make_group(client, "machine", "max")
        program = Asked(client, f"fault -i -s 1 {MACHINE_MB} 200000 1", group)
        phase(program, "fill", args)
        for number in range(args.runs):
            spent = {pull: recovery(client, program, args, pull)
                     for pull in ((False, True), (True, False))[number % 2]}
            found.append((spent[False], spent[True]))
        program.end()
    return found


def main():
    parser = bench.common_options(__doc__, runs=3, seconds=4)
    parser.add_argument("--only", default=",".join(GOALS), help="parts, with commas between")
    parser.add_argument("--accesses", type=int, default=8000, help="of a load, at most")
    args = parser.parse_args()
    args.only = args.only.split(",")
    for part in args.only:
        if part not in GOALS:
            parser.error(f"there is no part {part!r}; there are {', '.join(GOALS)}")
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), bench.HERE, "modules", "daemon", "tests")
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    for part in args.only:
        print(part, flush=True)
        measured = {"shared": measure_shared, "grow": measure_grow}
        ratios = [one / other for other, one in measured[part](args)]
        print(f"{part}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to "
              f"{max(ratios):.2f}), goal {GOALS[part]}", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"vm: {error}")
