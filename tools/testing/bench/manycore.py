#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Counts the cache lines that move between processors per page-in and page-out on many processors. The
emulator counts them (cachelines.c), so the host may have fewer processors. A load of fault.c with a
thread on each; farswap over farswap-ram, zram, and a RAM disk (brd); farswap and NVMe-oF over soft
RoCE to another machine.

A count shows contention that limits scaling, not time. Caches are unlimited, contents of
pages are counted apart or not at all, and the kernel's own transfers are in columns of their
own; most of those are interrupts that flush TLBs, since the threads share one address space.

Controls, whose failure is an error: a line that each page writes changes hands at 0.8 to 1.0 of
them, or at 0.6 where threads wait for the network and fewer take turns; no other processor writes
to the memory that farswap has for each processor, but for completions of the network; with one
processor nothing changes hands.

Status 0 if each goal is met, and repeated runs differ by at most 10 %; the goals need all of the
runs.
"""

import argparse
import collections
import os
import re
import shutil
import sys
import tempfile

import harness
from harness import farswap, host, image
import backing as backings
import coherence
import counted
import instructions
import plot
import programs
import report
from symbols import Symbols

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

Setting = collections.namedtuple("Setting", "device backup cpus")
SETTINGS = {
    "none-8": Setting("farswap", "none", 8),
    "disk-8": Setting("farswap", "disk", 8),
    "none-16": Setting("farswap", "none", 16),
    "none-1": Setting("farswap", "none", 1),
    "zram-8": Setting("zram", "", 8),
    "brd-8": Setting("brd", "", 8),
    "rdma-8": Setting("farswap, RDMA", "none", 8),
    "nvme-8": Setting("NVMe-oF, RDMA", "", 8),
}
OWNERS = {"farswap": ("farswap",), "zram": ("zram", "zsmalloc"), "brd": ("brd",),
          "farswap, RDMA": ("farswap", "farswap_rdma"),
          "NVMe-oF, RDMA": ("nvme_core", "nvme_fabrics", "nvme_rdma")}
TRANSPORT = "farswap_ram"
# farswap's transfers, by the file of the innermost function.
GROUPS = (
    ("donor's window", re.compile(r"/mm/donor/window\.")),
    ("donor", re.compile(r"/mm/donor/")),
    ("mapping", re.compile(r"/mm/slab/mapping\.")),
    ("slots' bits", re.compile(r"/mm/slab/slabmap\.")),
    ("slab", re.compile(r"/mm/slab/")),
    ("staging pool", re.compile(r"/mm/backup/staging\.")),
    ("backups' table", re.compile(r"/mm/backup/")),
    ("I/O", re.compile(r"/mm/(io|hook)/")),
)
OTHERS = "others"
# (what, setting, figure, at most)
GOALS = (
    ("a page in", "none-8", "in", 1.5),
    ("a page out, backup=none", "none-8", "out", 2.5),
    ("a page out, backup=disk", "disk-8", "out", 7),
    ("lines of contents for a page out, backup=disk", "disk-8", "contents", 10),
    ("the worst line, a page in or out", "none-8", "worst", 0.3),
)
# in + out with 16 processors over in + out with 8.
GOAL_GROWTH = 1.1
# Highest over lowest of repeated runs.
REPEATS = 1.1
SHARED, SHARED_REMOTE = (0.8, 1.0), (0.6, 1.0)
# Highest part of the accesses to a processor's own memory that find another's writes: the network
# completes on one processor what another has begun and counted.
PERCPU, PERCPU_REMOTE = 0, 0.01
# Instructions between sleeps of a processor, the length of these, and how much slower timers are.
QUANTUM, PAUSE_NS, SLOW = 600, 60000, 30
# Fewest page-outs and page-ins for a meaningful run.
LEAST_PAGES = 2000


class Nvme(backings.NvmeRdma):
    """The target's clock is not slowed, so it would miss keep-alives."""

    options = ",keep_alive_tmo=0"


REMOTE = {"farswap, RDMA": backings.FarswapNone, "NVMe-oF, RDMA": Nvme}


def needs(args, setting):
    """Arguments of Cluster()."""
    if setting.device not in REMOTE:
        return {"donors": 0}
    far = is_farswap(setting)
    lent = megabytes(args, setting) * 4 // 3 + 2 * args.slab
    return {"donors": 1, "donor_mem": lent + 256, "params": far,
            "daemon": f"memory={lent}M,slab={args.slab}M",
            "donor_append": "" if far else "fs.start=0",
            "extra_modules": REMOTE[setting.device](0).modules}


def is_farswap(setting):
    return "farswap" in OWNERS[setting.device]


def megabytes(args, setting):
    """What the load uses: in proportion to the processors, beyond the eight that --mem is for."""
    return args.mem * max(setting.cpus, 8) // 8


def boot(args, setting, directory):
    mem = megabytes(args, setting)
    memory = mem * 4 + 192 + 8 * setting.cpus + 2 * args.slab
    cluster = harness.Cluster(
        **needs(args, setting), client_mem=memory, client_cpus=setting.cpus,
        disks=[(mem * 4 // 3 + args.slab, 0)], start=False,
        append="nokaslr rcupdate.rcu_cpu_stall_suppress=1 farswap.hotslab=0 fs.hung=0 "
               f"farswap.slab_mb={args.slab} farswap.backup={setting.backup or 'none'} "
               f"{args.append}",
        extra_programs=[("/usr/bin/fault", os.path.join(HERE, "fault"), None)])
    try:
        cluster.client.plugin = coherence.PLUGIN, f"directory={directory}"
        cluster.start()
        cluster.client.check(
            "echo 1 >/proc/sys/vm/overcommit_memory; echo 0 >/proc/sys/vm/page-cluster; "
            "echo 0 >/sys/block/vda/queue/rotational")
    except BaseException:
        cluster.close()
        raise
    return cluster


def use(args, cluster, setting):
    client, device, mem = cluster.client, setting.device, megabytes(args, setting)
    if device == "farswap":
        cluster.swap_on()
        counted.make_cgroup(client, mem)
        regions = (mem * 4 // 3 + args.slab) // args.slab + 2
        client.check(f"modprobe farswap && modprobe farswap-ram regions={regions} && "
                     f"echo 10.9.9.1 >{farswap.SYSFS}/donors")
        client.wait_for(f"grep -q live {farswap.DEBUG}/donors", 60, f"cat {farswap.DEBUG}/donors")
    elif device in REMOTE:
        REMOTE[device](mem * 4 // 3 + args.slab).start(cluster)
        counted.make_cgroup(client, mem)
    else:
        instructions.use(client, device, mem)
    # At memory.high the kernel would throttle it.
    client.check(f"echo {mem // 4}M >{counted.CGROUP}/memory.max; "
                 f"echo max >{counted.CGROUP}/memory.high")


def pages(client):
    words = client.check("grep -E '^pswp(in|out) ' /proc/vmstat", 120).split()
    return dict(zip(words[::2], map(int, words[1::2])))


def one_run(args, setting):
    """(rows, pages in, pages out, control.shared, control.percpu)"""
    directory = tempfile.mkdtemp(prefix="farswap-manycore-")
    try:
        with boot(args, setting, directory) as cluster:
            client = cluster.client
            use(args, cluster, setting)
            counter = coherence.Counter(client, Symbols(client), directory)
            load = programs.Asked(client, f"fault -i -t {setting.cpus} -s 60 "
                                          f"{megabytes(args, setting)} {args.accesses} 1",
                                  counted.CGROUP)
            load.ask("fill")
            load.ask("read")
            counter.begin(args.quantum, PAUSE_NS, SLOW)
            # Warm up: translations, and the states of all lines.
            counter.count(lambda: load.ask("out"))
            before = pages(client)
            answer = counter.count(lambda: load.ask("out"))
            after = pages(client)
            load.end()
            if not any("wrong 0" in line for line in answer):
                raise harness.ClusterError(f"a page is wrong: {answer}")
            complaints = cluster.complaints()
            if complaints:
                raise harness.ClusterError(f"kernel: {complaints[0]}")
            moved = [after[name] - before[name] for name in ("pswpin", "pswpout")]
            if min(moved) < LEAST_PAGES:
                raise harness.ClusterError(f"{moved[0]} pages in, {moved[1]} out (at least "
                                           f"{LEAST_PAGES} of each are needed)")
            return (counter.rows(), *moved, list(counter.control.shared),
                    list(counter.control.percpu))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def own_place(row):
    """The innermost source line of farswap that caused a transfer."""
    return next((place for place in row.where if "/mm/" in place.removeprefix(TOP)), "")


def group_of(row):
    place = own_place(row).removeprefix(TOP)
    return next((name for name, pattern in GROUPS if pattern.search(place)), OTHERS)


def check_controls(name, setting, rows, shared, percpu):
    share = shared[1] / shared[0]
    least, most = SHARED_REMOTE if setting.device in REMOTE else SHARED
    found = PERCPU_REMOTE if setting.device in REMOTE else PERCPU
    if setting.cpus == 1:
        moved = sum(row.count for row in rows)
        if moved or shared[1]:
            raise harness.ClusterError(f"{name}: {moved} transfers with one processor (should "
                                       "be 0)")
    elif not least <= share <= most:
        raise harness.ClusterError(f"{name}: the shared line moved at {share:.2f} of all pages "
                                   f"(range {least}-{most})")
    if percpu[1] > found * percpu[0] or (is_farswap(setting) and not percpu[0]):
        raise harness.ClusterError(f"{name}: {percpu[1]} of {percpu[0]} accesses to per-CPU "
                                   f"memory find another's writes (at most {found:.0%})")


def figures(setting, run):
    """({figure: value}, {(group, side): value}), all a page."""
    rows, pages_in, pages_out, shared, _ = run
    per = {"in": pages_in, "out": pages_out}
    sums, groups, lines = (collections.Counter() for _ in range(3))
    for row in rows:
        # Completions, and writes of the backup, belong to pages that were put out.
        own = row.module in OWNERS[setting.device]
        side = "in" if row.side == "in" else "out"
        if row.side == "contents":
            sums["contents", "out"] += row.count
        elif row.module == TRANSPORT:
            sums["transport", side] += row.count
        elif not own:
            sums["kernel", side] += row.count
        else:
            sums["own", side] += row.count
            lines[row.line] += row.count
            if is_farswap(setting):
                groups[group_of(row), side] += row.count
    worst = max(lines.values(), default=0)
    return ({"in": sums["own", "in"] / pages_in, "out": sums["own", "out"] / pages_out,
             "contents": sums["contents", "out"] / pages_out,
             "worst": worst / (pages_in + pages_out),
             "transport": (sums["transport", "in"] + sums["transport", "out"])
                          / (pages_in + pages_out),
             "kernel_in": sums["kernel", "in"] / pages_in,
             "kernel_out": sums["kernel", "out"] / pages_out,
             "all": (sum(sums.values()) - sums["contents", "out"]) / (pages_in + pages_out),
             "shared": shared[1] / shared[0]},
            {key: count / per[key[1]] for key, count in groups.items()})


def show_places(setting, run, top):
    """The instructions and the cache lines with most transfers per page-in or page-out."""
    rows, pages_in, pages_out, *_ = run
    total = pages_in + pages_out
    by_place = collections.Counter()
    by_line = collections.defaultdict(collections.Counter)
    for row in rows:
        if row.module in OWNERS[setting.device] and row.side != "contents":
            place = own_place(row).rpartition("/")[2]
            by_place[row.name, place, row.side, coherence.KINDS[row.kind]] += row.count
            by_line[row.line][row.name, place, row.side] += row.count
    for key, count in by_place.most_common(top):
        print(f"  {count / total:8.3f}  {key[0]:38} {key[1]:24} {key[2]:10} {key[3]}")
    worst = sorted(by_line.items(), key=lambda item: -sum(item[1].values()))[:top // 2]
    for line, places in worst:
        print(f"  {sum(places.values()) / total:8.3f}  line {line:#x}")
        for key, count in places.most_common(6):
            print(f"  {count / total:16.3f}  {' '.join(key)}")


def show(results, groups, path):
    names = list(results)

    def numbers(figure):
        return lambda name: [run[figure] for run in results[name]]

    report.table("Cache lines that change hands, a page", names, [
        ("in", numbers("in"), 2), ("out", numbers("out"), 2),
        ("contents", numbers("contents"), 1), ("worst line", numbers("worst"), 2),
        ("transport", numbers("transport"), 2), ("kernel in", numbers("kernel_in"), 1),
        ("kernel out", numbers("kernel_out"), 1), ("all, in or out", numbers("all"), 1),
        ("shared (control)", numbers("shared"), 2)])
    own = [name for name in names if groups[name][0]]
    for side in ("in", "out"):
        if own:
            report.table(f"farswap's own, a page {side}, by what they are for",
                         [group for group, _ in GROUPS] + [OTHERS], [
                             (name, lambda group, name=name, side=side: [
                                 run.get((group, side), 0) for run in groups[name]], 2)
                             for name in own])
    many = [name for name in names if SETTINGS[name].cpus > 1]
    series = {what: [report.statistics.median(run[figure] for run in results[name])
                     for name in many]
              for what, figure in (("a page in", "in"), ("a page out", "out"),
                                   ("of the contents of a page out", "contents"))}
    if many:
        with open(path, "w", encoding="utf-8") as file:
            file.write(plot.bars(
                "Cache lines that change hands between processors", "lines a page",
                [f"{SETTINGS[name].device} {SETTINGS[name].backup}, {SETTINGS[name].cpus} CPUs"
                 for name in many], series, "counted by the emulator; the swap device's own"))
        print(f"\nplot: {os.path.relpath(path)}")


def met(results):
    def median(name, figure):
        return report.statistics.median(run[figure] for run in results[name])

    reached = True
    checks = [(what, median(name, figure), most) for what, name, figure, most in GOALS
              if name in results]
    if "none-8" in results and "none-16" in results:
        growth = ((median("none-16", "in") + median("none-16", "out"))
                  / (median("none-8", "in") + median("none-8", "out")))
        checks.append(("16 processors over 8", growth, GOAL_GROWTH))
    for what, value, most in checks:
        reached = reached and value <= most
        print(f"{what}: {value:.2f}, goal at most {most}: {'' if value <= most else 'not '}met")
    return reached


def repeats(results):
    """Whether in + out of each setting is about the same in all of its runs."""
    good = True
    for name, runs in results.items():
        sums = [run["in"] + run["out"] for run in runs]
        if len(sums) > 1 and min(sums):
            ratio = max(sums) / min(sums)
            good = good and ratio <= REPEATS
            print(f"{name}: highest run over lowest {ratio:.2f}, at most {REPEATS}")
    return good


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    local = [name for name, setting in SETTINGS.items() if setting.device not in REMOTE]
    parser.add_argument("--only", type=lambda text: text.split(","), default=local,
                        help=f"runs, by commas: {', '.join(SETTINGS)}; default: {', '.join(local)}")
    parser.add_argument("--runs", type=int, default=1, help="of each")
    parser.add_argument("--mem", type=int, default=32,
                        help="what the load uses with eight processors or fewer, MB")
    parser.add_argument("--accesses", type=int, default=4000, help="of a phase")
    parser.add_argument("--slab", type=int, default=64, help="MB")
    parser.add_argument("--quantum", type=int, default=QUANTUM,
                        help="instructions of a processor before others run")
    parser.add_argument("--append", default="", help="kernel arguments")
    parser.add_argument("--places", type=int, default=0, metavar="N",
                        help="show so many places in the source")
    parser.add_argument("--out", default=os.path.join(TOP, "out/manycore"), metavar="DIR",
                        help="where the plot goes")
    args = parser.parse_args()
    unknown = set(args.only) - set(SETTINGS)
    if unknown:
        parser.error(f"invalid run \"{unknown.pop()}\" ({', '.join(SETTINGS)})")
    return args


def main():
    args = arguments()
    harness.exit_on_signals()
    host.build(host.fetch(), HERE, "modules", "daemon", "tests")
    results, groups = ({name: [] for name in args.only} for _ in range(2))
    for _ in range(args.runs):
        for name in args.only:
            run = one_run(args, SETTINGS[name])
            check_controls(name, SETTINGS[name], run[0], *run[3:])
            found, by_group = figures(SETTINGS[name], run)
            results[name].append(found)
            groups[name].append(by_group)
            print(f"{name}: {run[1]} pages in, {run[2]} out; {found['in']:.2f} and "
                  f"{found['out']:.2f} lines each", flush=True)
            if args.places:
                show_places(SETTINGS[name], run, args.places)
    os.makedirs(args.out, exist_ok=True)
    show(results, groups, os.path.join(args.out, "manycore.svg"))
    return 0 if met(results) & repeats(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"manycore: {error}")
