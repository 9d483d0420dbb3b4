#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Breaks down the time of a page-out and of a page fault between two machines into stages, from the
client's trace: the medians, and the mean of the slowest per cent; for faults also the tasks that
had the processor, with kworkers by their work function. Memory is filled, then pages are read at
random, and then read and rewritten. The time of the probes is included.
"""

import collections
import os
import re
import statistics
import sys

import harness
from harness import host, image
import backing as backings
import bench
import pageouts
import report
from programs import Asked

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

TRACE = "/sys/kernel/tracing"
# Some seconds of it.
BUFFER_KB = 8192
PROBES = """p:stages/begin handle_mm_fault
r:stages/end handle_mm_fault
p:stages/out swap_writepage entry=+40(%di):x64
p:stages/submit farswap_rdma:farswap_rdma_io_submit io=%di op=+24(%di):s32
p:stages/post rdma_rxe:rxe_post_send qp=%di cqe=+8(%si):x64 pages=+24(%si):s32 op=+28(%si):s32
p:stages/sent rdma_rxe:rxe_xmit_packet qp=%di
p:stages/came rdma_rxe:rxe_comp_queue_pkt qp=%di"""
EVENTS = ("stages/begin", "stages/end", "stages/post", "stages/sent", "stages/came",
          "farswap/farswap_load_end", "sched/sched_switch",
          "workqueue/workqueue_execute_start", "workqueue/workqueue_execute_end")
PROGRAM = "fault"
# The event that ends each stage.
STAGES = {
    "posted": "until the READ is posted: the kernel's fault, memory for the page",
    "sent": "until soft RoCE has sent it",
    "came": "until the page has come: the network, the donor",
    "completed": "until its completion is handled",
    "runs": "until the task runs again",
    "mapped": "until the page is mapped and the fault has ended",
}
LOADS = ("read", "mixed")
# Stages that take less, on average of the slowest faults, are not shown.
LEAST_US = 10
LINE = re.compile(r"^ *(.+)-(\d+) +\[\d+\] \S+ +(\d+\.\d+): (\w+): (.*)$")
QP = re.compile(r"qp=(0x[0-9a-f]+)")
OF_READ = "op=4"        # IB_WR_RDMA_READ
WORK = re.compile(r"function (\S+( \[\w+\])?)")


def kind_of(task):
    """Drop the numbers in the names, to sum up tasks of a kind."""
    if task.startswith("kworker"):
        return "kworkers, between work items,"
    return "idle" if task.startswith("swapper") or task == "<idle>" else task.split("/")[0]


class Faults:
    """
    Faults of one task that read a page, from a trace: the stages in µs, and the tasks and
    interrupts that had the processor during each.
    """

    def __init__(self):
        self.found = []
        self.times = None
        self.qp = None
        self.ran = collections.Counter()
        self.switched = 0
        # The current work of kworkers, by pid; a work may sleep.
        self.works = {}

    def account(self, task, pid, time, name, text):
        """The time until an event that switches the processor to another context."""
        if self.times is not None:
            self.ran[self.works.get(pid) or kind_of(task)] += \
                time - max(self.switched, self.times["begun"])
        self.switched = time
        if name == "workqueue_execute_start":
            self.works[pid] = f"work item {WORK.search(text)[1]}"
        elif name == "workqueue_execute_end":
            self.works.pop(pid, None)

    def event(self, task, pid, time, name, text):
        if name == "sched_switch" or name.startswith("workqueue_"):
            self.account(task, pid, time, name, text)
        ours = task == PROGRAM
        if name == "begin" and ours:
            # The kernel retries a fault that has slept.
            if self.times is None or "runs" not in self.times:
                self.times, self.qp = {"begun": time}, None
                self.ran = collections.Counter()
        elif self.times is None:
            return
        elif name == "post" and ours and self.qp is None and text.endswith(OF_READ):
            self.qp = QP.search(text)[1]
            self.times["posted"] = time
        elif name in ("sent", "came") and self.qp and QP.search(text)[1] == self.qp:
            self.times.setdefault(name, time)
        elif name == "farswap_load_end" and "came" in self.times:
            self.times.setdefault("completed", time)
        elif name == "sched_switch" and f"next_comm={PROGRAM} " in text and \
                "completed" in self.times:
            self.times.setdefault("runs", time)
        elif name == "end" and ours and "completed" in self.times:
            self.end(time)

    def end(self, time):
        # Work that was queued before the task slept is not waited for.
        times = self.times | {"mapped": time}
        times.setdefault("runs", times["completed"])
        if all(stage in times for stage in STAGES):
            last, stages = times["begun"], {}
            for stage in STAGES:
                stages[stage] = (times[stage] - last) * 1e6
                last = times[stage]
            self.ran[PROGRAM] += time - max(self.switched, self.times["begun"])
            self.found.append((stages, {task: spent * 1e6 for task, spent in self.ran.items()}))
        self.times = None


def events_of(text):
    """(task, pid, time, name, what it says) of each."""
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            task, pid, time, name, rest = match.groups()
            yield task, pid, float(time), name, rest


def faults_of(text):
    faults = Faults()
    for event in events_of(text):
        faults.event(*event)
    return faults.found


def pageouts_of(text):
    outs = pageouts.PageOuts()
    for _, *event in events_of(text):
        outs.event(*event)
    return outs


def trace(client, program, load, events, timeout):
    """The kernel's trace of a program in a load, or its beginning if it is long."""
    files = " ".join(f"events/{event}/enable" for event in events)
    client.check(f"cd {TRACE} && echo >trace && for f in {files}; do echo 1 >$f; done && "
                 "echo 1 >tracing_on")
    program.ask(load, timeout)
    client.check(f"cd {TRACE} && echo 0 >tracing_on && for f in {files}; do echo 0 >$f; done")
    return client.check(f"cat {TRACE}/trace", timeout)


def prepare(client):
    client.check(f"cd {TRACE} && echo 0 >tracing_on && echo 0 >options/overwrite && "
                 f"echo {BUFFER_KB} >buffer_size_kb")
    for probe in PROBES.splitlines():
        client.check(f"echo '{probe}' >>{TRACE}/kprobe_events")


def measure(kind, args):
    """{load: [({stage: µs}, {task: µs}) of each fault]}, and PageOuts of "fill"."""
    megabytes = args.mem * 3 // 2
    backing = kind(int(megabytes * bench.DEVICE_PARTS))
    found = {}
    with bench.boot(args, backing, args.mem) as cluster:
        backing.start(cluster)
        prepare(cluster.client)
        program = Asked(cluster.client, f"fault -i -s {args.seconds} {megabytes} 100000 1")
        found["fill"] = pageouts_of(trace(cluster.client, program, "fill", pageouts.EVENTS,
                                          args.timeout))
        print(f"  {backing.name}: fill, {len(found['fill'].found)} pages put out", flush=True)
        for load in LOADS:
            # Fill the memory with pages of the load itself.
            program.ask(load, args.timeout)
            found[load] = faults_of(trace(cluster.client, program, load, EVENTS, args.timeout))
            print(f"  {backing.name}: {load}, {len(found[load])} faults", flush=True)
        program.end()
        complaints = cluster.complaints()
        if complaints:
            raise harness.ClusterError(f"kernel: {complaints[0]}")
    return found


def show_table(title, stages, rows):
    """rows: {row: [(median, mean of the slowest) of each run]}"""
    report.grid(title, [
        ["", "median", "the slowest 1 %, on average"],
        *([stages.get(row, row), report.cell([median for median, _ in pairs], 0),
           report.cell([mean for _, mean in pairs], 0)] for row, pairs in rows.items()
          if max(mean for _, mean in pairs) >= LEAST_US)])


def add_rows(rows, names, found):
    """found: {name: number} of each; one more run of them."""
    slowest = sorted(found, key=lambda one: one["in all"])[-(len(found) // 100):]
    for row in names(slowest):
        rows[row].append((statistics.median(one.get(row, 0) for one in found),
                          statistics.mean(one.get(row, 0) for one in slowest)))


def show_pageouts(swap, runs):
    rows = collections.defaultdict(list)
    for outs in runs:
        if len(outs.found) < 100:
            raise harness.ClusterError(f"{swap}: only {len(outs.found)} page-outs in the trace")
        add_rows(rows, lambda _: (*pageouts.STAGES, "in all"),
                 [stages | {"in all": sum(stages.values())} for stages in outs.found])
    show_table(f"{swap}, fill: µs of a page-out", pageouts.STAGES, rows)
    print("  pages in a WRITE: " + report.cell(
        [statistics.median(outs.together) for outs in runs], 0))


def show(swap, load, runs):
    """runs: the faults of each"""
    rows = collections.defaultdict(list)
    for faults in runs:
        if len(faults) < 100:
            raise harness.ClusterError(f"{swap}, {load}: only {len(faults)} faults in the trace")
        faults = [stages | {"in all": sum(stages.values())} |
                  {f"{task} ran": spent for task, spent in ran.items()} for stages, ran in faults]
        add_rows(rows, lambda slowest: (*STAGES, "in all", *sorted(
            {key for fault in slowest for key in fault if key.endswith(" ran")})), faults)
    show_table(f"{swap}, {load}: µs of a fault that reads a page", STAGES, rows)


def main():
    args = bench.common_options(__doc__, runs=3, seconds=7, timeout=120).parse_args()
    harness.exit_on_signals()
    host.build(host.fetch("--bench"), HERE, "modules", "daemon", jobs=os.cpu_count())
    print(f"machine: {bench.machine()}", flush=True)
    host.note_other_work()
    found = {kind: [] for kind in (backings.FarswapNone, backings.Farswap)}
    for _ in range(args.runs):
        for kind, runs in found.items():
            runs.append(measure(kind, args))
    for kind, runs in found.items():
        show_pageouts(kind.name, [run["fill"] for run in runs])
        for load in LOADS:
            show(kind.name, load, [run[load] for run in runs])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"stages: {error}")
