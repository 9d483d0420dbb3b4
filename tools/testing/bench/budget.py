#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Where the instructions of a page in and of a page out go, function by function, from the
kernel's swap_read_folio() and swap_writepage() to their end: every instruction that the
emulator executed is counted, with nothing in the machine that measures. farswap over
farswap-ram, as in instructions.py. Samples with an interrupt are left out.

farswap's own is what its functions execute and what they call; not the transport with its
copy, nor compression and its copies, nor the cipher, nor what the kernel does for a folio of any
swap device: its writeback, its lock, its being asked for by zswap.
"""

import argparse
import collections
import os
import re
import sys
import time

import harness
from harness import farswap, host, image
import counted
import instructions
from symbols import Symbols

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

# Functions that are followed from their first instruction until they return.
WAYS = {"load": "swap_read_folio", "store": "swap_writepage"}
FETCHED = re.compile(r"\[[0-9a-f]+/([0-9a-f]{16})/")
# Thunks: an indirect call goes through these.
THUNK = re.compile(r"^__x86_")
# The owner of an instruction: its innermost caller that matches.
OWNERS = (("transport", re.compile(r" \[farswap_ram\]$")),
          ("compression", re.compile(r"^farswap_((de)?compress|page_read) |^compress_to |^LZ4_")),
          ("cipher", re.compile(r"^crypto_aead_(en|de)crypt |^chacha20poly1305_")),
          ("farswap", re.compile(r" \[farswap\]$|^ftrace_trampoline ")),
          ("kernel", re.compile(r"^_*folio_(start|end)_writeback|^folio_(unlock|end_read|wake)|"
                                r"^zswap_|^psi_|^swap_(writepage|read_folio)")))
# The purpose of each function of farswap.
STAGES = (
    ("clock and histograms", re.compile(r"^ktime_get|^farswap_latency_")),
    ("request, taken and given back", re.compile(r"^farswap_request")),
    ("region, with a reference to it", re.compile(
        r"^(farswap_)?mapping_(find|get)|^farswap_write_(begin|mark)|^(farswap_)?guard_|"
        r"^fanout_begin")),
    ("completion", re.compile(
        r"^load_done|^store_end|^store_written|^fanout_write_done|^write_done|^farswap_window_le|"
        r"^farswap_mapping_release|^farswap_hook_loaded|^poll_learn")),
    ("submission", re.compile(
        r"^load_(remotely|submit)|^fanout_|^farswap_(window|write)_|"
        r"^farswap_hook_(count|swapin)|^farswap_device_sector|^farswap_slab_ahead")),
    ("slab, slot and their state; the begin of a store", re.compile(
        r"^farswap_(load|store|slab|device|activity|hook_slot|backup|rebuild)|^load_staged")),
    ("way in", re.compile(r"^ftrace_trampoline|^hook_|^swap_")),
)
INTERRUPT = re.compile(r"asm_sysvec|asm_common_interrupt|asm_exc_page_fault|common_interrupt")
LEAST = 20


def record(client, path, megabytes):
    """Traces every instruction that the guest executes from now on, up to so many MB."""
    def monitor(line):
        client.qmp("human-monitor-command", **{"command-line": line})

    monitor(f"logfile {path}")
    monitor("singlestep on")
    monitor("log exec,nochain")
    deadline = time.monotonic() + 120
    while not os.path.exists(path) or os.path.getsize(path) < megabytes << 20:
        if time.monotonic() > deadline:
            raise harness.ClusterError("the guest executes nothing")
        time.sleep(0.2)
    monitor("log none")
    monitor("singlestep off")


class Stack:
    """The call stack, reconstructed from the trace: functions that have not returned yet."""

    def __init__(self, symbols):
        self.symbols = symbols
        self.names = []
        self.owners = ["kernel"]
        self.stages = [""]

    def execute(self, address):
        """(function, whose, what for) of the instruction there."""
        name = self.symbols.name(address)
        if not self.names or name != self.names[-1]:
            if name in self.names and not self.symbols.begins(address):
                keep = len(self.names) - self.names[::-1].index(name)
                del self.names[keep:], self.owners[keep + 1:], self.stages[keep + 1:]
            else:
                self.names.append(name)
                for known, patterns in ((self.owners, OWNERS), (self.stages, STAGES)):
                    known.append(next((what for what, pattern in patterns
                                       if pattern.search(name)), known[-1]))
        return name, self.owners[-1], self.stages[-1]


def calls(path, symbols):
    """(way, {(function, whose, what for): instructions}) of every call that is there as a whole."""
    entries = {symbols.start(function): way for way, function in WAYS.items()}
    way, caller, spent, stack, before = None, None, None, None, "user"
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            match = FETCHED.search(line)
            if not match:
                continue
            address = int(match[1], 16)
            name = symbols.name(address)
            if way and name == caller:
                if not any(INTERRUPT.search(function) for function, *_ in spent):
                    yield way, spent
                way = None
            if not way and address in entries:
                way, caller = entries[address], before
                spent, stack = collections.Counter(), Stack(symbols)
            if way:
                spent[stack.execute(address)] += 1
            if not THUNK.match(name):
                before = name


def budget(args):
    """{way: {(function, whose, what for): instructions}}, means, and {way: of how many calls}."""
    with instructions.boot(args) as cluster:
        client = cluster.client
        cluster.swap_on()
        client.check(f"modprobe farswap protect={args.protect}")
        counted.use_farswap(client, args.mem)
        client.check(f"echo {args.compress} >{farswap.SYSFS}/compress")
        symbols = Symbols(client)
        job = client.spawn(f"{counted.warm(args.mem)} echo warm; "
                           f"fault -c {args.ratio} {args.mem} 1000000 1 read mixed")
        deadline = time.monotonic() + args.timeout
        while "warm" not in job.output:
            if time.monotonic() > deadline or job.ended.is_set():
                raise harness.ClusterError(f"no load\n{job.output}")
            time.sleep(0.2)
        time.sleep(args.after)
        path = os.path.join(cluster.directory, "executed")
        record(client, path, args.megabytes)
        job.kill()
        sums = {way: collections.Counter() for way in WAYS}
        numbers = collections.Counter()
        for way, spent in calls(path, symbols):
            sums[way] += spent
            numbers[way] += 1
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
    for way in WAYS:
        if numbers[way] < LEAST:
            raise harness.ClusterError(f"only {numbers[way]} calls of {WAYS[way]}() were seen")
    return {way: {key: count / numbers[way] for key, count in sums[way].items()}
            for way in WAYS}, numbers


def show(args, way, spent, number):
    owners, stages, functions = (collections.Counter() for _ in range(3))
    for (name, owner, stage), count in spent.items():
        owners[owner] += count
        functions[owner, name] += count
        if owner == "farswap":
            stages[stage] += count
    print(f"{way}: {owners['farswap']:.0f} instructions are farswap's own, "
          f"{owners['transport']:.0f} the transport's, "
          f"{owners['compression']:.0f} of compression, {owners['cipher']:.0f} the cipher's, "
          f"{owners['kernel']:.0f} the kernel's; "
          f"means of {number} calls")
    for stage, count in stages.most_common():
        print(f"  {count:8.0f}  {stage}")
    for (owner, name), count in functions.most_common():
        if count >= args.least:
            print(f"  {count:8.1f}  {owner:10}{name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mem", type=int, default=96, help="what the load uses, MB")
    parser.add_argument("--compress", default="none", help="none or lz4")
    parser.add_argument("--protect", default="none", help="none, verify or encrypt")
    parser.add_argument("--ratio", type=int, default=1, help="to which LZ4 compresses the data")
    parser.add_argument("--append", default="", help="kernel arguments")
    parser.add_argument("--timeout", type=int, default=300, help="seconds")
    parser.add_argument("--after", type=float, default=5, help="seconds from the load's beginning")
    parser.add_argument("--megabytes", type=int, default=400, help="of a recording")
    parser.add_argument("--least", type=float, default=1, help="instructions to be shown")
    args = parser.parse_args()
    harness.exit_on_signals()
    host.build(host.fetch(), HERE, "modules", "daemon", "tests")
    budgets, numbers = budget(args)
    for way, spent in budgets.items():
        show(args, way, spent, numbers[way])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"budget: {error}")
