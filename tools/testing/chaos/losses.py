# SPDX-License-Identifier: GPL-2.0
"""
Decides which pages a run may lose, and whether it has lost others.

A donor that dies takes the pages that only it has. With backup=none as many may be lost as it
had then, no more, and none before one has died. With replica a donor may die only when
what the last one had is somewhere else again; then, as with disk, no page may be lost at all.
An adapter that fails may cost time alone, whatever the backup is, so no page is allowed for it.
"""

import collections
import contextlib
import threading
import time

import harness
from harness import farswap, farswapd

FILES = " ".join(f"{farswap.DEBUG}/{name}" for name in ("slabs", "donors", "stats"))
# The counters of pages that are written to a donor's memory.
GROWTH = ("store_remote", "moved", "rebuilt", "repaired")
# Seconds, times what a slow kernel takes: until what a dead donor had is repaired.
REPAIR = 120

# single: pages that are at one donor and nowhere else
Slab = collections.namedtuple("Slab", "state donors remote backed single")
# donors: {address: (state, session)}: its daemon's instance, and how often it was given up
UNKNOWN = ("unknown", ())
View = collections.namedtuple("View", "slabs donors stats")


def address_of(text):
    return text.rpartition(":")[0] if ":" in text else text


def view(text):
    """Parses a client's debugfs output of all FILES, in their order."""
    slabs, donors = [], {}
    names, kind = [], ""
    for words in map(str.split, text.splitlines()):
        if words[:1] in (["type"], ["address"]):
            kind, names = words[0], words
        elif kind == "type" and len(words) == len(names):
            row = dict(zip(names, words))
            at = [] if row["donors"] == "-" else map(address_of, row["donors"].split(","))
            slabs.append(Slab(row["state"], list(at), int(row["remote"]), int(row["backed"]),
                              int(row["single"])))
        elif kind == "address" and len(words) == len(names):
            row = dict(zip(names, words))
            donors[address_of(row["address"])] = (row["state"], (row["instance"], row["downs"]))
    return View(slabs, donors, farswap.counters(text))


def held(seen, address):
    """Number of a client's pages that are at a donor and not on a device."""
    return sum(slab.remote - slab.backed for slab in seen.slabs if address in slab.donors)


def unsafe(seen, dead):
    """
    Why the next donor may not die; None if it may. dead: {address: the session that the client
    had with it when it died}.
    """
    for address, session in dead.items():
        if seen.donors.get(address, UNKNOWN)[1] == session and \
                any(address in slab.donors for slab in seen.slabs):
            return f"the death of {address} is not noticed"
    for slab in seen.slabs:
        if slab.remote <= slab.backed:
            continue
        if slab.state != "mapped":
            return f"a slab is {slab.state}"
        if slab.single:
            return f"{slab.single} pages are at one donor and nowhere else"
        for address in slab.donors:
            state = seen.donors.get(address, UNKNOWN)[0]
            if state != "live":
                return f"donor {address} is {state}"
    return None


class Ledger:
    """The losses of one client since it was booted."""

    def __init__(self):
        self.allowed = 0

    def allow(self, before, after, address):
        """A donor has died between two looks at the client."""
        grown = farswap.grown(after.stats, before.stats)
        pages = held(before, address)
        if pages or held(after, address):
            self.allowed += pages + sum(grown.get(name, 0) for name in GROWTH)

    def saw(self, seen):
        """Returns a description of the error, or None."""
        lost = seen.stats.get("lost", 0)
        if lost > self.allowed:
            return f"{lost} pages are lost, {self.allowed} were only with donors that died"
        return None


class Losses:
    """The losses of all clients."""

    # pylint: disable=too-many-arguments,too-many-positional-arguments
    def __init__(self, cluster, backup, slow, fail, careless=False):
        self.cluster = cluster
        self.may_lose = backup == "none"
        self.gated = backup == "replica" and not careless
        self.patience = REPAIR * slow
        self.fail = fail
        self.lock = threading.Lock()
        # Clients that are on and set up.
        self.ledgers = {}
        self.dead = {}
        self.takers = 0
        self.waited = 0

    def booted(self, client):
        """It is set up, after a boot."""
        self.dead[client.name] = {}
        self.ledgers[client.name] = Ledger()

    def detached(self, client):
        """The client has no page at a donor, and opens new sessions when it attaches."""
        self.dead[client.name] = {}

    def off(self, client):
        """The client loses power and all its pages."""
        self.ledgers.pop(client.name, None)

    def looks(self):
        """{client: View} of those that are on; what answers late is asked again."""
        found = {}
        for client in self.cluster.clients:
            deadline = time.monotonic() + self.patience
            while client.name in self.ledgers and client.is_on():
                status, text = client.run(f"cat {FILES}", 30)
                if not status:
                    found[client.name] = view(text)
                    break
                if time.monotonic() > deadline:
                    raise harness.ClusterError(f"{client.name}: does not say what it has\n{text}")
        return found

    @contextlib.contextmanager
    def dying(self, donor):
        """The block ends the donor's daemon, or loses its memory."""
        with self.lock:
            if self.gated:
                self.wait_until_safe()
            before = self.looks()
            self.judge(before)
            yield
            for name, after in self.looks().items():
                if name in before and name in self.ledgers:
                    session = before[name].donors.get(donor.address, UNKNOWN)[1]
                    self.dead[name][donor.address] = session
            self.allow(before, donor)

    @contextlib.contextmanager
    def taking(self, donor):
        """The block evicts regions: those that are not returned in time are revoked."""
        killed = 'returns_total{how="revoked"}'
        with self.lock:
            self.takers += 1
            before = self.looks()
            had = farswapd.metric(donor, killed)
        try:
            yield
        finally:
            with self.lock:
                self.takers -= 1
                if donor.is_on() and farswapd.metric(donor, killed) != had:
                    self.allow(before, donor)

    def allow(self, before, donor):
        """Notes that a donor has lost some or all of its regions since the last look."""
        if not self.may_lose:
            return
        for name, after in self.looks().items():
            if name in before and name in self.ledgers:
                self.ledgers[name].allow(before[name], after, donor.address)

    def judge(self, seen):
        """Checks whether a client has lost a page that it must not lose. It waits while a donor is
        being taken down."""
        if self.takers:
            return
        for name, now in seen.items():
            wrong = name in self.ledgers and self.ledgers[name].saw(now)
            if wrong:
                self.fail(f"{name}: {wrong}")

    def wait_until_safe(self):
        began = time.monotonic()
        while True:
            reasons = [f"{name}: {why}" for name, seen in self.looks().items()
                       if (why := unsafe(seen, self.dead[name]))]
            if not reasons:
                break
            if time.monotonic() - began > self.patience:
                raise harness.ClusterError(f"not repaired after {self.patience} s: {reasons[0]}")
            time.sleep(0.3)
        self.waited += time.monotonic() - began

    def check(self):
        """The same now."""
        with self.lock:
            self.judge(self.looks())

    def allowed(self):
        """The number of pages that may be lost."""
        return sum(ledger.allowed for ledger in list(self.ledgers.values()))
