# SPDX-License-Identifier: GPL-2.0
"""
What happens when: a pure function of the seed, the time and the kinds of events.

Each event belongs to a lane: a donor, a load, or another part of the client. What one lane
gets is one thing after the other; different lanes don't wait for each other.
"""

import collections
import math
import random

DONORS = ("donor1", "donor2", "donor3")
LOADS = ("anon", "fork", "shmem", "huge")

# lanes: where it may happen. hold: how long it lasts, seconds. settle: about how
# long the lane needs to be itself again, under emulation. details: one is drawn.
Kind = collections.namedtuple("Kind", "lanes hold settle details what")

KINDS = {
    "kill": Kind(DONORS, (0, 4), 3, (), "kill -9 of the daemon, and start it again"),
    "restart": Kind(DONORS, (0, 0), 3, (), "end the daemon, and start it again"),
    "poweroff": Kind(DONORS, (0.5, 6), 20, (), "power loss, and boot"),
    "pause": Kind(DONORS, (0.1, 6), 1, (), "the whole machine stands still"),
    "evict": Kind(DONORS, (0, 0), 2, ("1", "3", "all", "all"), "take regions back"),
    "grow": Kind(DONORS, (1, 4), 5, (), "programs there want the memory themselves"),
    "drain": Kind(DONORS, (1, 5), 3, (), "take all regions back, lend nothing for a while"),
    "cut": Kind((*DONORS, "network"), (0.1, 10), 1, ("unplugged", "silent"),
                "no network, to a donor or to the client"),
    "lose": Kind((*DONORS, "network"), (2, 8), 1, ("5",), "lose that many percent of packets"),
    "delay": Kind((*DONORS, "network"), (2, 6), 1, ("50",), "packets come so many ms late"),
    "backup": Kind(("policy",), (0, 0), 1, ("disk", "replica", "none"), "set it"),
    "attach": Kind(("hook",), (0.2, 4), 3, (), "detach, and attach again"),
    "disable": Kind(("stores",), (0.2, 4), 1, (), "no stores to donors for a while"),
    "swap": Kind(("swap",), (0.5, 4), 10, (), "one of two swap devices off, and on again"),
    "slowdisk": Kind(("disks",), (1, 5), 2, ("300",), "so many operations a second at most"),
    "zswap": Kind(("zswap",), (1, 8), 1, (), "on, and off again"),
    "limit": Kind(LOADS, (0, 0), 1, ("5", "8", "12", "24"),
                  "memory.high of a load, in MB, and memory.reclaim"),
}

# Seconds before the first event, and between two.
FIRST = 6
GAP = (0.4, 3.2)
# The last one has so long to be over before the loads are stopped.
TAIL = 4

Event = collections.namedtuple("Event", "number at kind lane hold detail")


class Draw:
    """Only random() is the same in every version of Python."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def between(self, low, high):
        return low + (high - low) * self.random()

    def one_of(self, things):
        return things[int(self.random() * len(things))]

    def shuffled(self, things):
        things, order = list(things), []
        while things:
            order.append(things.pop(int(self.random() * len(things))))
        return order

    def hold(self, low, high):
        """Short ones are as likely as long ones, where they differ that much."""
        if not low or high < 20 * low:
            return self.between(low, high)
        return math.exp(self.between(math.log(low), math.log(high)))


def next_kind(deck, kinds, free, at, draw):
    """
    The first kind in the deck that a lane is free for, and the lane. A deck holds
    each kind once, so that a short run has them all.
    """
    if len(deck) < len(kinds):
        deck += draw.shuffled(kinds)
    for position, kind in enumerate(deck):
        lanes = [lane for lane in KINDS[kind].lanes if free.get(lane, 0) <= at]
        if lanes:
            del deck[position]
            return kind, draw.one_of(lanes)
    return None, None


def schedule(seed, seconds, kinds=tuple(KINDS), modes=KINDS["backup"].details):
    """The events, by time; modes: what "backup" may be set to."""
    draw, deck, free, events = Draw(seed), [], {}, []
    at = FIRST
    while at < seconds - TAIL:
        kind, lane = next_kind(deck, kinds, free, at, draw)
        if kind:
            what = KINDS[kind]
            hold = round(draw.hold(*what.hold), 1)
            details = modes if kind == "backup" else what.details
            detail = draw.one_of(details) if details else ""
            events.append(Event(len(events) + 1, round(at, 1), kind, lane, hold, detail))
            free[lane] = at + hold + what.settle
        at += draw.between(*GAP)
    return events


def describe(event):
    text = f"#{event.number} {event.kind} {event.lane}"
    if event.detail:
        text += f" {event.detail}"
    return text + (f" for {event.hold} s" if event.hold else "")
