# SPDX-License-Identifier: GPL-2.0
"""Analyses the page-outs in the trace of a client with one processor and one donor."""

import collections
import re

EVENTS = ("stages/out", "stages/submit", "stages/post", "stages/sent", "stages/came",
          "farswap/farswap_store_end")
# The event that ends each stage.
STAGES = {
    "submitted": "until it is given to the transport: the kernel's writeback, its slab, a request",
    "posted": "until its WRITE is posted: others are ahead, and some go with it",
    "sent": "until soft RoCE has sent it",
    "acknowledged": "until the donor's acknowledgment has come",
    "ended": "until its completion is handled: its writeback ends",
}
WRITE = 0           # IB_WR_RDMA_WRITE
IO_WRITE = 1        # FARSWAP_IO_WRITE
IO_BYTES = 512
SURE = 16
FIELD = re.compile(r"(\w+)=(0x[0-9a-f]+|-?\d+)")


class Page:
    """A page-out: the end of each stage, s, and the number of pages in the same WRITE."""

    def __init__(self, time, entry):
        self.times = {"begun": time}
        self.entry = entry
        self.io = None
        self.qp = None
        self.together = 0


class PageOuts:
    """
    Pages put out, stage by stage, in µs. The pages of a merged WRITE are those submitted after its
    first, because one processor has one queue. A page is a packet; its acknowledgment is the last
    one before its completion. Other writes (promotion) are skipped.
    """

    def __init__(self):
        self.found = []
        self.together = []
        self.begun = {}             # by the pid that does it
        self.waiting = []
        # Distance of a work request's completion from its I/O, which is constant because both are
        # in one structure.
        self.distances = collections.Counter()
        self.unsent = collections.defaultdict(collections.deque)    # pages or None, by queue pair
        self.came = {}              # the last acknowledgment, likewise
        self.by_entry = {}

    def position(self, cqe):
        """The index of a posted request among the waiting ones, or None."""
        likely = self.distances.most_common(1)
        if not likely or likely[0][1] < SURE:
            self.distances.update(cqe - page.io for page in self.waiting
                                  if 0 < cqe - page.io < IO_BYTES)
            return None
        ios = [page.io for page in self.waiting]
        io = cqe - likely[0][0]
        return ios.index(io) if io in ios else None

    def post(self, time, qp, cqe, pages):
        at = self.position(cqe)
        write = [None] * pages
        if at is not None:
            write = self.waiting[at:at + pages]
            del self.waiting[:at + pages]
        for page in filter(None, write):
            page.times["posted"] = time
            page.qp = qp
            page.together = pages
        self.unsent[qp].extend(write)

    def event(self, pid, time, name, text):
        fields = {key: int(value, 0) for key, value in FIELD.findall(text)}
        if name == "out":
            self.begun[pid] = Page(time, fields["entry"])
        elif name == "submit" and fields["op"] == IO_WRITE and pid in self.begun:
            page = self.begun.pop(pid)
            page.times["submitted"] = time
            page.io = fields["io"]
            self.by_entry[page.entry] = page
            self.waiting.append(page)
        elif name == "post" and fields["op"] == WRITE:
            self.post(time, fields["qp"], fields["cqe"], fields["pages"])
        elif name == "sent" and self.unsent[fields["qp"]]:
            page = self.unsent[fields["qp"]].popleft()
            if page:
                page.times["sent"] = time
        elif name == "came":
            self.came[fields["qp"]] = time
        elif name == "farswap_store_end" and fields["entry"] in self.by_entry:
            self.end(time, self.by_entry.pop(fields["entry"]))

    def end(self, time, page):
        if page in self.waiting:
            self.waiting.remove(page)
        times = page.times | {"acknowledged": self.came.get(page.qp, 0), "ended": time}
        last, stages = times["begun"], {}
        for stage in STAGES:
            if times.get(stage, 0) < last:
                return
            stages[stage] = (times[stage] - last) * 1e6
            last = times[stage]
        self.found.append(stages)
        self.together.append(page.together)
