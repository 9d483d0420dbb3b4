# SPDX-License-Identifier: GPL-2.0
"""Steers cachelines.c, a plugin of the emulator, and reads what it has counted."""

import collections
import ctypes
import mmap
import os
import re
import struct
import subprocess
import time

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
PLUGIN = os.path.join(HERE, "cachelines.so")

# The first two are called once a page. A transfer counts for the innermost function.
PAGING = ("swap_read_folio", "swap_writepage")
IN = ("swap_read_folio", "do_swap_page")
OUT = ("swap_writepage", "shrink_folio_list", "try_to_free_mem_cgroup_pages", "reclaim_pages",
       "balance_pgdat")
# The function that copies pages to the staging pool.
COPY = "copy_mc_to_kernel"
WAYS = (*PAGING, "do_swap_page", *OUT[1:], "handle_softirqs", "free_swap_cache",
        "__folio_batch_add_and_move", "do_wp_page", COPY)
LEAVES = re.compile(
    r"^(_raw_(spin|read|write)_\w+|native_queued_spin_lock_slowpath|queued_\w+_slowpath|"
    r"__pv_queued\w+|mutex_(lock|unlock|trylock|spin_on_owner)|__mutex_\w+|osq_\w+|"
    r"percpu_counter_\w+|refcount_\w+|__rcu_read_(un)?lock|rcuref_\w+|_find_(next|first|last)\w*|"
    r"xas_\w+|xa_(load|store|erase)|list_lru_\w+|llist_\w+|sbitmap_\w+|__sbitmap_\w+|sbq_\w+|"
    r"__list_(add|del_entry)_valid_or_report|queue_work_on)$")
SKIP = re.compile(
    r"^(__)?(memset|memmove|memset_orig|clear_page\w*|copy_page\w*|rep_movs_alternative|"
    r"rep_stos_alternative|copy_user_\w+|lzo\w*|LZ4\w*|lz4\w*|page_same_filled|ram_do|"
    r"ram_copy_page)( \[\w+\])?$")
THUNKS = re.compile(r"^__x86_(indirect|return)_\w*thunk")
INTERRUPTS = re.compile(r"asm_sysvec_|asm_common_interrupt$|asm_exc_nmi$")
# Functions that copy the contents of pages, other than COPY and those in SKIP.
CONTENTS = re.compile(r"^(ram_do|ram_copy|copy_(to|from)_brd|crc32_\w+|(__)?memcpy(_orig)?$)")
MODULES = {"farswap": "mm/farswap.ko", "farswap_rdma": "rdma/farswap-rdma.ko",
           "farswap_ram": "tools/testing/modules/farswap-ram.ko"}
# Its counter is slowed as timers are; jiffies would otherwise follow the TSC, which is not.
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
# Address of each processor's local APIC.
FIXMAP = 0xffffffffff000000

KINDS = ("read of a modified line", "write of a modified line", "write of a line others have read")
LEAF = 1 << 31
ENTRY = struct.Struct("<QQIIII")
RANGES = 256

Row = collections.namedtuple("Row", "name module where line side kind count")


class Control(ctypes.Structure):
    """cachelines.c's struct control."""

    _fields_ = [(name, ctypes.c_uint32) for name in (
        "size", "instrument", "count", "slow", "quantum", "pause_ns", "nr_ways", "nr_skip",
        "nr_thunks", "nr_irqs", "nr_leaves", "nr_paging", "contents", "unused")] + [
            ("ways", ctypes.c_uint64 * 16), ("irqs", ctypes.c_uint64 * RANGES),
            ("skip", ctypes.c_uint64 * 2 * RANGES), ("thunks", ctypes.c_uint64 * 2 * RANGES),
            ("leaves", ctypes.c_uint64 * 2 * RANGES), ("own", ctypes.c_uint64 * 2),
            ("switch_to", ctypes.c_uint64), ("lost", ctypes.c_uint64),
            ("shared", ctypes.c_uint64 * 2), ("percpu", ctypes.c_uint64 * 2)]


class Counter:
    """Counts transfers in a machine that was started with the plugin."""

    def __init__(self, client, symbols, directory):
        self.client, self.symbols = client, symbols
        self.ways = ["", *(way for way in WAYS if way in symbols.names), "interrupt"]
        self.bases = {module: int(client.check(f"cat /sys/module/{module}/sections/.text"), 16)
                      for module in MODULES
                      if client.run(f"[ -e /sys/module/{module}/sections/.text ]")[0] == 0}
        self.events = self._map(os.path.join(directory, "events"))
        self.control = Control.from_buffer(self._map(os.path.join(directory, "control")))
        if self.control.size != ctypes.sizeof(Control):
            raise harness.ClusterError(
                f"cachelines.so has a control of {self.control.size} bytes (should be "
                f"{ctypes.sizeof(Control)}): build it again")
        self._fill()

    @staticmethod
    def _map(path):
        with open(path, "r+b") as file:
            return mmap.mmap(file.fileno(), 0)

    def _fill(self):
        control, symbols = self.control, self.symbols
        for name, pattern in (("skip", SKIP), ("leaves", LEAVES), ("thunks", THUNKS)):
            ranges = symbols.ranges(pattern)
            if len(ranges) > RANGES:
                raise harness.ClusterError(f"{name}: {len(ranges)} functions (range 0-{RANGES})")
            for place, (first, end) in enumerate(ranges):
                getattr(control, name)[place][:] = first, end
            setattr(control, f"nr_{name}", len(ranges))
        for place, way in enumerate(self.ways[1:-1]):
            control.ways[place] = symbols.start(way)
        control.nr_ways, control.nr_paging = len(self.ways) - 2, len(PAGING)
        control.contents = self.ways.index(COPY) if COPY in self.ways else 0
        for place, (first, _) in enumerate(symbols.ranges(INTERRUPTS)):
            control.irqs[place] = first
            control.nr_irqs = place + 1
        own = symbols.ranges(re.compile(r".* \[farswap\]$"))
        if own:
            control.own[:] = own[0][0], own[-1][1]
        control.switch_to = symbols.start("__switch_to_asm")

    def begin(self, quantum, pause_ns, slow):
        """Translate all code again, now with calls of the plugin."""
        self.client.check(f"echo acpi_pm >{CLOCK} && grep -q acpi_pm {CLOCK}")
        control = self.control
        control.quantum, control.pause_ns, control.slow = quantum, pause_ns, slow
        control.instrument = 1
        self.client.qmp("human-monitor-command", **{"command-line": "log nochain"})

    def count(self, run):
        """Returns the result of run() and the counters of transfers during it."""
        control = self.control
        self.events[:] = bytes(len(self.events))
        control.lost = 0
        control.shared[:] = control.percpu[:] = 0, 0
        control.count = 1
        result = run()
        control.count = 0
        time.sleep(0.2)
        if control.lost:
            raise harness.ClusterError(f"{control.lost} transfers had no room in a table")
        return result

    def _sources(self, addresses):
        """{address: place in the tree, innermost first} of functions of MODULES."""
        found = {}
        for module, base in self.bases.items():
            mine = [pc for pc in addresses if self.symbols.name(pc).endswith(f" [{module}]")]
            if not mine:
                continue
            output = subprocess.run(
                ["addr2line", "-i", "-a", "-j", ".text", "-e", os.path.join(TOP, MODULES[module])],
                input="\n".join(hex(pc - base) for pc in mine), capture_output=True, text=True,
                check=True).stdout
            place = None
            order = iter(mine)
            for text in output.splitlines():
                if text.startswith("0x"):
                    place = found.setdefault(next(order), [])
                else:
                    place.append(text.split(" (")[0])
        return found

    def rows(self):
        """[Row] of all transfers but those of pages' contents that the plugin skips."""
        entries = [entry for entry in ENTRY.iter_unpack(self.events)
                   if entry[3] and entry[1] < FIXMAP]
        sources = self._sources({entry[0] for entry in entries})
        sides = {way: "in" for way in IN} | {way: "out" for way in OUT} | {COPY: "contents"}
        rows = []
        for pc, line, way_kind, count, *_ in entries:
            name, _, module = self.symbols.name(pc).partition(" [")
            way = self.ways[(way_kind & ~LEAF) >> 2]
            if way != COPY and CONTENTS.match(name):
                continue
            rows.append(Row(name + (" (lock)" if way_kind & LEAF else ""), module.rstrip("]"),
                            sources.get(pc, []), line, sides.get(way, "elsewhere"), way_kind & 3,
                            count))
        return rows
