# SPDX-License-Identifier: GPL-2.0
"""Stops and starts a donor's farswapd, and reads its metrics."""

from harness.machine import Machine

END = ("pid=$(pidof farswapd) && kill -%s $pid && i=0 && while kill -0 $pid 2>/dev/null;"
       " do i=$((i + 1)); [ $i -lt 300 ] || exit 1; sleep 0.1; done")


def kill(vm: Machine, timeout: float = 60) -> None:
    """kill -9, and wait until it has gone."""
    vm.check(END % 9, timeout)


def stop(vm: Machine, timeout: float = 60) -> None:
    """SIGTERM, and wait for its end."""
    vm.check(END % "TERM", timeout)


def start(vm: Machine, timeout: float = 60) -> None:
    """Until it answers."""
    vm.check("donor-start", timeout)


def metric(vm: Machine, name: str) -> float | None:
    """The value of a metric, given with its labels; None if it does not exist."""
    for line in vm.check("farswapctl metrics").splitlines():
        if line.startswith(f"farswapd_{name} "):
            return float(line.split()[-1])
    return None


def median(vm: Machine, name: str) -> float | None:
    """The median of a histogram, interpolated within its bucket; None without samples."""
    below, bound_before, buckets = 0.0, 0.0, []
    for line in vm.check("farswapctl metrics").splitlines():
        if line.startswith(f'farswapd_{name}_bucket{{le="') and '"+Inf"' not in line:
            bound, count = line.split('le="')[1].split('"} ')
            buckets.append((float(bound), float(count)))
    half = buckets[-1][1] / 2 if buckets else 0
    for bound, count in buckets:
        if half and count >= half:
            return bound_before + (bound - bound_before) * (half - below) / (count - below)
        below, bound_before = count, bound
    return None
