# SPDX-License-Identifier: GPL-2.0
"""
Schedules the events: a pure function of the seed, the time and the kinds.

Each event belongs to a lane: a machine, or a load or another part of one that swaps, as
"client2/anon". The events of one lane follow one another; different lanes don't wait for
each other, except for the power loss of a machine.
"""

import collections
import math
import random

LOADS = ("anon", "fork", "shmem", "huge")

# Where an event may happen: at any machine, at one that lends, at one that swaps, or at a load.
ANY, LENDS, SWAPS, LOAD = range(4)

# part: of a machine that swaps. hold: how long it lasts, seconds. settle: about how long the
# lane needs to be itself again, under emulation. details: one is drawn.
Kind = collections.namedtuple("Kind", "where part hold settle details what")

# How an adapter fails for a while: parameters of farswap-adapter, which explains them. An
# "event" comes once, at the beginning; the others are set to 0 at the end.
FAULTS = {
    "loses": "lose_every=50",
    "loses_flushed": "lose_flushed=1 lose_every=50",
    "holds": "hold_every=3",
    "cannot_map": "map_fails=1",
    "maps_little": "map_max=16384",
    "slow": "register_ms=1000 qp_ms=100",
    "access_error": "event=access",
    "request_error": "event=request",
    "fatal_error": "event=fatal",
    "device_error": "event=device",
    "port_error": "event=port_down event=port_up",
}

KINDS = {
    "kill": Kind(LENDS, "", (0, 4), 3, (), "kill -9 of the daemon, and start it again"),
    "restart": Kind(LENDS, "", (0, 0), 3, (), "end the daemon, and start it again"),
    "poweroff": Kind(ANY, "", (0.5, 6), 20, (), "power loss, and boot"),
    "pause": Kind(ANY, "", (0.1, 6), 1, (), "the whole machine stands still"),
    "evict": Kind(LENDS, "", (0, 0), 2, ("1", "3", "all", "all"), "take regions back"),
    "grow": Kind(LENDS, "", (1, 4), 5, (), "programs there want the memory themselves"),
    "drain": Kind(LENDS, "", (1, 5), 3, (), "take all regions back, lend nothing for a while"),
    "cut": Kind(ANY, "", (0.1, 10), 1, ("unplugged", "silent"), "no network"),
    "lose": Kind(ANY, "", (2, 8), 1, ("5",), "lose that many percent of packets"),
    "delay": Kind(ANY, "", (2, 6), 1, ("50",), "packets come so many ms late"),
    "port": Kind(ANY, "", (0.1, 8), 2, (), "the interface goes down, and up"),
    "link": Kind(ANY, "", (0.1, 4), 3, (), "soft RoCE's link is deleted, and made anew"),
    "reset": Kind(ANY, "", (0.1, 4), 4, (), "the network adapter's driver is unbound, and bound"),
    "mtu": Kind(ANY, "", (1, 6), 1, ("1500",), "set the interface's MTU, and back"),
    "address": Kind(ANY, "", (0.1, 8), 2, (), "the address is removed, and added"),
    "adapter": Kind(SWAPS, "adapter", (1, 6), 2, tuple(FAULTS),
                    "the adapter fails as real ones do"),
    "backup": Kind(SWAPS, "policy", (0, 0), 1, ("disk", "replica", "none"), "set it"),
    "compress": Kind(SWAPS, "compressor", (0, 0), 1, ("lz4", "lz4", "none"), "set it"),
    "attach": Kind(SWAPS, "hook", (0.2, 4), 3, (), "detach, and attach again"),
    "disable": Kind(SWAPS, "stores", (0.2, 4), 1, (), "no stores to donors for a while"),
    "swap": Kind(SWAPS, "swap", (0.5, 4), 10, (), "one of two swap devices off, and on again"),
    "slowdisk": Kind(SWAPS, "disks", (1, 5), 2, ("300",), "so many operations a second at most"),
    "zswap": Kind(SWAPS, "zswap", (1, 8), 1, (), "on, and off again"),
    "limit": Kind(LOAD, "", (0, 0), 1, ("5", "8", "12", "24"),
                  "memory.high of a load, in MB, and memory.reclaim"),
}

# These events occupy all lanes of a machine.
WHOLE = ("poweroff",)

# Seconds before the first event, and between two.
FIRST = 6
GAP = (0.4, 3.2)
# Time for the last event to end before the loads are stopped.
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


class Machines(collections.namedtuple("Machines", "clients donors both")):
    """So many machines of each kind, with the names of cluster.py."""

    def _both(self):
        return [f"both{n + 1}" for n in range(self.both)]

    def swap(self):
        return [f"client{n + 1}" if n else "client" for n in range(self.clients)] + self._both()

    def lend(self):
        return [f"donor{n + 1}" for n in range(self.donors)] + self._both()

    def loads(self, name):
        """All loads run on the first machine and half of them on others, because all machines share
        the host."""
        at = self.swap().index(name)
        return LOADS if not at else LOADS[at % 2::2]

    def lanes(self, kind):
        """Where it may happen."""
        kind = KINDS[kind]
        if kind.where == LENDS:
            return self.lend()
        if kind.where == SWAPS:
            return [f"{name}/{kind.part}" for name in self.swap()]
        if kind.where == LOAD:
            return [f"{name}/{load}" for name in self.swap() for load in self.loads(name)]
        return [*self.lend(), *(name for name in self.swap() if name not in self.lend())]


def machine_of(lane):
    return lane.partition("/")[0]


def next_kind(deck, kinds, lanes_of, is_free, draw):
    """
    The first kind in the deck that a lane is free for, and the lane. A deck holds
    each kind once, so that a short run has them all.
    """
    if len(deck) < len(kinds):
        deck += draw.shuffled(kinds)
    for position, kind in enumerate(deck):
        lanes = [lane for lane in lanes_of(kind) if is_free(kind, lane)]
        if lanes:
            del deck[position]
            return kind, draw.one_of(lanes)
    return None, None


def schedule(seed, seconds, kinds=tuple(KINDS), modes=KINDS["backup"].details,
             machines=Machines(1, 3, 0)):
    """The events, by time; modes: what "backup" may be set to."""
    draw, deck, free, whole, events = Draw(seed), [], {}, {}, []
    at = FIRST

    def is_free(kind, lane):
        if kind in WHOLE:
            return all(until <= at for other, until in free.items()
                       if machine_of(other) == lane)
        return max(free.get(lane, 0), whole.get(machine_of(lane), 0)) <= at

    while at < seconds - TAIL:
        kind, lane = next_kind(deck, kinds, machines.lanes, is_free, draw)
        if kind:
            what = KINDS[kind]
            hold = round(draw.hold(*what.hold), 1)
            details = modes if kind == "backup" else what.details
            detail = draw.one_of(details) if details else ""
            events.append(Event(len(events) + 1, round(at, 1), kind, lane, hold, detail))
            free[lane] = at + hold + what.settle
            if kind in WHOLE:
                whole[lane] = free[lane]
        at += draw.between(*GAP)
    return events


def describe(event):
    text = f"#{event.number} {event.kind} {event.lane}"
    if event.detail:
        text += f" {event.detail}"
    return text + (f" for {event.hold} s" if event.hold else "")
