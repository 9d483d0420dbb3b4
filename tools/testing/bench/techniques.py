#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Measures the effect of techniques, mostly ones that farswap does not use: each is a patch in
techniques/ that describes itself and adds a switch. The patched tree is built separately. The
switch alternates between two virtual machines, or in a client with two processors, so that nothing
else differs. Prints for each load the ratio of each other value of the switch to 0, turn by turn,
and how the technique's own counters grew.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile

import harness
from harness import host, image
import backing as backings
import bench
from programs import Asked

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

PATCHES = os.path.join(HERE, "techniques")
PARAMETERS = "/sys/module/farswap*/parameters/technique"
# For each load: the figures, and whether more is better.
FIGURES = {"fill": {"mb_per_s": True}, "sequential": {"mb_per_s": True},
           "read": {"p50_us": False, "p99_us": False, "accesses_per_s": True},
           "mixed": {"p50_us": False, "p99_us": False, "accesses_per_s": True}}


class Technique:
    """A patch and its description."""

    def __init__(self, name):
        self.name = name
        self.path = os.path.join(PATCHES, f"{name}.patch")
        with open(self.path, encoding="ascii") as file:
            text = file.read().split("\n--- ")[0]
        self.about = text.splitlines()[1]
        said = dict(re.findall(r"^(\w+): (.*)$", text, re.MULTILINE))
        self.loads = said["Loads"].split()
        self.values = said.get("Values", "0 1").split()
        self.processors = int(said.get("Processors", 1))
        self.threads = int(said.get("Threads", 1))

    def apply(self, directory):
        subprocess.run(["git", "apply", self.path], cwd=directory, check=True)


def all_names():
    return sorted(name[:-len(".patch")] for name in os.listdir(PATCHES))


def copy_tree(directory):
    """Copies this tree, with uncommitted changes."""
    subprocess.run(["git", "clone", "-q", TOP, directory], check=True)
    diff = subprocess.check_output(["git", "diff", "--binary", "HEAD"], cwd=TOP)
    if diff:
        subprocess.run(["git", "apply"], cwd=directory, input=diff, check=True)


class Turns:
    """A client in which a technique is turned on and off."""

    def __init__(self, args, technique, client):
        self.args = args
        self.technique = technique
        self.client = client
        self.memory = args.mem * 3 // 2
        # By (load, figure): a list for each value of the switch; by value: {counter: growth}
        self.found = {}
        self.grown = {value: {} for value in technique.values}

    def counters(self):
        output = self.client.check(f"grep -H . {PARAMETERS}_* 2>/dev/null || :")
        return {name: int(value) for name, value in
                re.findall(r"technique_(\w+):(\d+)", output)}

    def one(self, value, load, ask):
        self.client.check(f"echo {value} >$(echo {PARAMETERS})")
        before = self.counters()
        numbers, _ = bench.numbers_of(ask())
        for name, number in self.counters().items():
            sums = self.grown[value]
            sums[name] = sums.get(name, 0) + number - before[name]
        for figure in FIGURES[load]:
            values = self.found.setdefault((load, figure), {})
            values.setdefault(value, []).append(numbers[figure])
        print(f"  {load}, {value}: " + ", ".join(f"{figure} {numbers[figure]:.1f}"
                                                for figure in FIGURES[load]), flush=True)

    def each(self, load, ask):
        """One turn of each value, in alternating order."""
        values = self.technique.values
        for number in range(self.args.runs):
            for i in range(len(values)):
                self.one(values[(number + i) % len(values)], load, ask)

    def fill_anew(self):
        """Memory that another program has freed since."""
        return self.client.check(f"fault -t {self.technique.threads} {self.memory} 1 1 read",
                                 self.args.timeout).splitlines()

    def all(self):
        if "fill" in self.technique.loads:
            self.each("fill", self.fill_anew)
        rest = [load for load in self.technique.loads if load != "fill"]
        if not rest:
            return
        program = Asked(self.client, f"fault -i -s {self.args.seconds} {self.memory} 100000 1")
        for command in ("fill", f"threads {self.technique.threads}", "mixed"):
            program.ask(command, self.args.timeout)
        for load in rest:
            self.client.check(f"echo {bench.READAHEAD.get(load, 0)} >/proc/sys/vm/page-cluster")
            self.each(load, lambda load=load: program.ask(load, self.args.timeout))
        program.end()

    def show(self):
        base, *others = self.technique.values
        for (load, figure), values in self.found.items():
            for value in others:
                ratios = [new / old for old, new in zip(values[base], values[value])]
                print(f"{load + ' ' + figure:28}{base}: {statistics.median(values[base]):9.1f}   "
                      f"{value}: {statistics.median(values[value]):9.1f}   {value} / {base} "
                      f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), "
                      f"{'more' if FIGURES[load][figure] else 'less'} is better")
        for value, sums in self.grown.items():
            if sums:
                print(f"  {value}: " + ", ".join(f"{name} {number}"
                                                 for name, number in sums.items()))
        sys.stdout.flush()


def measure(args, technique, kdir):
    print(f"\n{technique.name}: {technique.about}", flush=True)
    with tempfile.TemporaryDirectory(prefix="farswap-technique-") as directory:
        copy_tree(directory)
        technique.apply(directory)
        host.build(kdir, HERE, "modules", "daemon", "tests", jobs=os.cpu_count(), top=directory)
        if args.build:
            return
        image.BUILT = directory
        backing = backings.FarswapNone(args.mem * 3)
        with bench.boot(args, backing, args.mem, cpus=technique.processors) as cluster:
            backing.start(cluster)
            turns = Turns(args, technique, cluster.client)
            turns.all()
            complaints = cluster.complaints()
            if complaints:
                raise harness.ClusterError(f"kernel: {complaints[0]}")
        turns.show()


def arguments():
    parser = bench.common_options(__doc__, runs=6, seconds=4)
    parser.add_argument("names", nargs="*", metavar="TECHNIQUE",
                        help=f"all, if none is named: {', '.join(all_names())}")
    parser.add_argument("--build", action="store_true",
                        help="only see that each applies and builds")
    args = parser.parse_args()
    for name in args.names:
        if name not in all_names():
            parser.error(f"there is no technique {name!r}; there are {', '.join(all_names())}")
    return args


def main():
    args = arguments()
    harness.exit_on_signals()
    kdir = host.fetch("--bench")
    if not args.build:
        host.build(kdir, HERE, "modules", "daemon")
        print(f"machine: {bench.machine()}", flush=True)
        host.note_other_work()
    for name in args.names or all_names():
        measure(args, Technique(name), kdir)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"techniques: {error}")
