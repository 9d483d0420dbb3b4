#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of losses.py, on what clients' debugfs may say, and of schedule.py. Prints KTAP."""

import sys

import losses
import schedule

A, B, C = "10.0.0.2", "10.0.0.3", "10.0.0.4"
FIRST = "37156fbda46fbacf"
CASES = []


def case(function):
    CASES.append(function)
    return function


def view(slabs, states=None, downs=0, **stats):
    """slabs: (state, donors, remote, backed, single)"""
    text = "type index state donors remote backed activity missing single\n"
    for index, (state, donors, remote, backed, single) in enumerate(slabs):
        text += f"0 {index} {state} {donors} {remote} {backed} 7 9 {single}\n"
    text += "address state slabs free_mb node instance downs last_error suspects resumes\n"
    for address in (A, B, C):
        state = (states or {}).get(address, "live")
        text += f"{address} {state} 1 90 node {FIRST} {downs} 0 0 0\n"
    text += "".join(f"{name} {value}\n" for name, value in stats.items())
    return losses.view(text)


TWICE = ("mapped", f"{A},{B}", 100, 20, 0)


@case
def what_is_held_is_what_no_device_has():
    seen = view([TWICE, ("mapped", f"{A}:9401", 50, 50, 0), ("unmapped", "-", 0, 0, 0)])
    return losses.held(seen, A) == 80 and losses.held(seen, B) == 80 and not losses.held(seen, C)


@case
def pages_at_two_donors_are_safe():
    return losses.unsafe(view([TWICE]), {}) is None


@case
def pages_on_a_device_are_safe_at_one_donor():
    return losses.unsafe(view([("mapped", A, 50, 50, 0)]), {}) is None


@case
def pages_that_only_one_of_two_donors_has_are_not():
    return "at one donor" in losses.unsafe(view([TWICE, ("mapped", f"{A},{B}", 100, 20, 3)]), {})


@case
def pages_that_are_staged_are_safe_at_one_donor():
    return losses.unsafe(view([TWICE, ("mapped", B, 51, 50, 0)]), {}) is None


@case
def pages_at_a_suspect_donor_are_not():
    return "suspect" in losses.unsafe(view([TWICE], {B: "suspect"}), {})


@case
def pages_of_a_slab_that_is_lost_are_not():
    return "lost" in losses.unsafe(view([("lost", f"{A},{B}", 100, 20, 0)]), {})


@case
def a_death_that_is_not_noticed_is_waited_for():
    return "not noticed" in losses.unsafe(view([TWICE]), {A: (FIRST, "0")}) \
        and losses.unsafe(view([TWICE], downs=1), {A: (FIRST, "0")}) is None \
        and losses.unsafe(view([TWICE]), {A: ("another", "0")}) is None \
        and losses.unsafe(view([TWICE]), {C: (FIRST, "0")}) is None


@case
def nothing_may_be_lost_before_a_donor_dies():
    ledger = losses.Ledger()
    return ledger.saw(view([], lost=0)) is None and "1 pages" in ledger.saw(view([], lost=1))


@case
def a_dead_donor_may_cost_what_it_held_and_got_meanwhile():
    ledger = losses.Ledger()
    ledger.allow(view([TWICE], store_remote=10, moved=1),
                 view([TWICE], store_remote=15, moved=2), A)
    return ledger.saw(view([], lost=86)) is None and ledger.saw(view([], lost=87)) is not None


@case
def a_dead_donor_that_held_nothing_may_cost_nothing():
    ledger = losses.Ledger()
    ledger.allow(view([TWICE], store_remote=10), view([TWICE], store_remote=15), C)
    return ledger.saw(view([], lost=1)) is not None


@case
def the_schedule_follows_from_its_arguments():
    machines = schedule.Machines(2, 0, 3)
    events = schedule.schedule(7, 200, machines=machines)
    return events == schedule.schedule(7, 200, machines=machines) \
        and events != schedule.schedule(8, 200, machines=machines) \
        and {event.kind for event in events} == set(schedule.KINDS)


@case
def a_machine_without_power_has_no_other_events():
    events = schedule.schedule(7, 2000, machines=schedule.Machines(2, 0, 3))
    ends = {}
    for event in events:
        machine = schedule.machine_of(event.lane)
        if event.at < ends.get(machine, 0):
            return False
        if event.kind == "poweroff":
            ends[machine] = event.at + event.hold + schedule.KINDS["poweroff"].settle
    return len(ends) == 5


def main():
    print(f"TAP version 13\n1..{len(CASES)}")
    failed = 0
    for number, function in enumerate(CASES, 1):
        good = function()
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {function.__name__.replace('_', ' ')}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
