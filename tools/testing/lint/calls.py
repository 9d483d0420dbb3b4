#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which file calls which, from the symbols of the built objects.

Calls between the folders of mm/ go down only: main.c and the others that hear from outside
(top), hook, the other files of mm/ itself, io, migrate, backup, slab, donor. Files that every other
may use (state.c, stats.c, latency.c) and the functions of hook/kernel.c are below all of them. In
rdma/ the files that use verbs call those of protocol/, which call none of them; noise*.c is a
library. No more than CIRCLES files of a folder call each other in a circle. Pointers to functions
are not calls. Prints what is wrong; exit status 1 if anything is.
"""
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable

CIRCLES = {"mm": 6, "rdma": 2, "daemon": 6}
FLOORS = ["top", "hook", "", "io", "migrate", "backup", "slab", "donor", "below"]
BELOW = {"mm/state", "mm/stats", "mm/latency", "mm/hook/kernel", "mm/hook/direct"}
TOP = {"mm/main", "mm/sessions", "mm/settings"}
# The symbols of a tracepoint are where it is made, and everybody fires it.
GENERATED = ("__tracepoint_", "__SC", "__traceiter_", "__sanitizer", "__asan", "__this_module")

Calls = dict[tuple[str, str], set[str]]


def objects(top: str) -> list[str]:
    """The objects below a folder that have a source file."""
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".o") and os.path.exists(path[:-2] + ".c") and ".mod." not in name:
                found.append(path)
    return sorted(found)


def symbols(path: str) -> tuple[set[str], set[str]]:
    """Names that an object defines for others, and those that it needs."""
    defined: set[str] = set()
    needed: set[str] = set()
    for line in subprocess.run(["nm", path], check=True, capture_output=True,
                               text=True).stdout.splitlines():
        kind, name = line.split()[-2:]
        if name.startswith(GENERATED):
            continue
        if kind == "U":
            needed.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, needed


def calls_of(top: str) -> Calls:
    """(caller, callee): the names by which one file uses another."""
    where: dict[str, str] = {}
    needs: dict[str, set[str]] = {}
    calls: Calls = defaultdict(set)
    for path in objects(top):
        defined, needs[path] = symbols(path)
        where.update(dict.fromkeys(defined, path))
    for path, names in needs.items():
        for name in names:
            if where.get(name, path) != path:
                calls[path[:-2], where[name][:-2]].add(name)
    return calls


def floor(file: str) -> int:
    """The height of a file of mm/ or rdma/, counted from the top."""
    if file.startswith("rdma/"):
        return 2 if file.startswith("rdma/noise") else int(file.startswith("rdma/protocol/"))
    if file in BELOW:
        return FLOORS.index("below")
    if file in TOP:
        return FLOORS.index("top")
    return FLOORS.index(os.path.dirname(file)[3:])


def upward(calls: Calls) -> Iterable[str]:
    """Calls from a lower folder to a higher one."""
    for (caller, callee), names in sorted(calls.items()):
        if floor(caller) > floor(callee):
            yield f"{caller}.c calls up into {callee}.c: {', '.join(sorted(names))}"


def circles(calls: Calls) -> list[list[str]]:
    """Files that reach each other, largest circle first."""
    reach: dict[str, set[str]] = defaultdict(set)
    for caller, callee in calls:
        reach[caller].add(callee)
    for file in list(reach):
        todo = list(reach[file])
        while todo:
            for callee in reach.get(todo.pop(), set()) - reach[file]:
                reach[file].add(callee)
                todo.append(callee)
    found = {tuple(sorted(other for other in reach[file] if file in reach.get(other, ())))
             for file in reach if file in reach[file]}
    return sorted((list(circle) for circle in found), key=len, reverse=True)


def main() -> int:
    """Look at mm/, rdma/ and daemon/."""
    wrong = []
    for top in ("mm", "rdma", "daemon"):
        calls = calls_of(top)
        if not calls:
            wrong.append(f"{top}/: no objects; build first")
        if top != "daemon":
            wrong.extend(upward(calls))
        for circle in circles(calls):
            if len(circle) > CIRCLES[top]:
                wrong.append(f"{len(circle)} files call each other in a circle, "
                             f"{CIRCLES[top]} may: {' '.join(circle)}")
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
    sys.exit(main())
