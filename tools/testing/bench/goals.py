# SPDX-License-Identifier: GPL-2.0
"""The goals of farswap, as ratios within each run."""

import statistics

import report

NVME = "NVMe-oF, RDMA"
# Each goal: its name; its (load, setting, value); whose and which figure it is compared with (None:
# an absolute figure; the same kind of swap if whose is None); whether more is better; the value.
GOALS = (
    ("fault p50 / raw READ", ("read", "", "p50_us"), (None, ("raw READ", "faults", "p50_us")),
     False, 1.3),
    ("fault p50 / NVMe-oF RDMA", ("read", "", "p50_us"), (NVME, ("read", "", "p50_us")),
     False, 0.5),
    ("fault p99, rewriting / NVMe-oF RDMA", ("mixed", "", "p99_us"),
     (NVME, ("mixed", "", "p99_us")), False, 0.5),
    ("pages out a second / NVMe-oF RDMA", ("fill", "", "out_mb_per_s"),
     (NVME, ("fill", "", "out_mb_per_s")), True, 1.5),
    ("pages out a second / raw WRITE, 16 deep", ("fill", "", "out_mb_per_s"),
     (None, ("raw WRITE", "faults", "mb_per_s")), True, 2),
    ("farswapd's time while pages are read, ms", ("read", "", "donor_daemon_ms"), None, False, 0),
    ("farswapd's time while pages are read / are not", ("read", "", "donor_daemon_ms_per_s"),
     (None, ("idle", "", "donor_daemon_ms_per_s")), False, 1.1),
    ("client's kernel per page / NVMe-oF RDMA", ("read", "", "client_kernel_us_per_page"),
     (NVME, ("read", "", "client_kernel_us_per_page")), False, 0.6),
    *((f"{server} {mix}, half local / NVMe-oF RDMA", (f"{server} {mix}", "50 % local", "per_s"),
       (NVME, (f"{server} {mix}", "50 % local", "per_s")), True, 1.5)
      for server in ("redis", "memcached") for mix in ("ETC", "SYS")),
)


def by_run(results, swap, key, runs):
    """The median of each run, or None if a run lacks it."""
    load, setting, value = key
    numbers = results.numbers.get((load, swap, setting, value), [])
    if not numbers or len(numbers) % runs:
        return None
    each = len(numbers) // runs
    return [statistics.median(numbers[run * each:(run + 1) * each]) for run in range(runs)]


def reached(results, swap, goal, runs):
    """The figures or ratios of all runs; None where something wasn't measured."""
    _, key, reference, _, _ = goal
    ours = by_run(results, swap, key, runs)
    if reference is None or ours is None:
        return ours
    theirs = by_run(results, reference[0] or swap, reference[1], runs)
    if theirs is None or not all(theirs):
        return None
    return [one / other for one, other in zip(ours, theirs)]


def is_reached(numbers, more, limit):
    if not numbers:
        return False
    median = statistics.median(numbers)
    return median >= limit if more else median <= limit


def show(results, runs):
    """A table of the goals, by kind of farswap."""
    swaps = [swap for swap in dict.fromkeys(key[1] for key in results.numbers)
             if swap.startswith("farswap")]
    rows = []
    for goal in GOALS:
        what, _, _, more, limit = goal
        cells = [reached(results, swap, goal, runs) for swap in swaps]
        if any(cells):
            rows.append((f"{what} {'≥' if more else '≤'} {limit}", cells, more, limit))
    if not rows:
        return
    report.grid("What was to be reached, and where it was (*)", [["", *swaps], *(
        [what, *(("* " if is_reached(cell, more, limit) else "") + report.cell(cell, 2)
                 for cell in cells)] for what, cells, more, limit in rows)])
