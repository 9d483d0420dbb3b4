#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Compares the state diagrams of the documents with the code. A diagram is a block
".. kernel-render:: DOT" whose graph has the name "DIRECTORY: TABLE":

  digraph "mm: slab_moves" {          a table of legal moves, TABLE[FROM] = BIT(TO) | ...
  digraph "mm: farswap_backup_state" {     an enum: only the names of the states are compared

A node is a state in lower case, without the prefix that all states share. A node with
shape=point is the absence of the object. Prints each difference, and each table of moves
in the code that has no diagram; status 1 if there is one. For a .dot file it checks
that the .svg beside it has the same labels.
"""

import glob
import html
import os
import re
import sys

DIRECTORIES = ("mm", "rdma", "daemon")
BLOCK = re.compile(r"^\.\. kernel-render:: DOT\n((?:[ \t].*\n|\n)+)", re.M)
GRAPH = re.compile(r'digraph\s+"(\w+): (\w+)"\s*{(.*)}', re.S)
EDGE = re.compile(r"(\w+)\s*->\s*(\w+)")
TABLE = re.compile(r"\b(\w+_moves)\[\w+\]\s*=\s*{(.*?)\n};", re.S)
ROW = re.compile(r"\[(\w+)\]\s*=([^\[]*)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources(directory, kinds):
    """Paths of a directory's own C files, tests left out."""
    return sorted(path for kind in kinds
                  for path in glob.glob(f"{directory}/**/*.{kind}", recursive=True)
                  if "/tests/" not in path and not path.endswith(".mod.c"))


def short(names):
    """{name: the name in lower case, without the prefix that all share}"""
    prefix = os.path.commonprefix(names)
    prefix = prefix[:prefix.rfind("_") + 1]
    return {name: name[len(prefix):].lower() for name in names}


def tables():
    """{"mm: slab_moves": (path, {(from, to)})} of the code"""
    found = {}
    for directory in DIRECTORIES:
        for path in sources(directory, "c"):
            for name, body in TABLE.findall(COMMENT.sub("", read(path))):
                rows = {row: re.findall(r"BIT\((\w+)\)", moves) for row, moves in ROW.findall(body)}
                names = short(sorted(set(rows).union(*rows.values())))
                found[f"{directory}: {name}"] = (path, {
                    (names[row], names[other]) for row, others in rows.items()
                    for other in others})
    return found


def states(directory, name):
    """(path, the states of an enum), or None."""
    for path in sources(directory, "hc"):
        body = re.search(rf"\benum {name} {{(.*?)\n}};", COMMENT.sub("", read(path)), re.S)
        if body:
            names = re.findall(r"^\s*(\w+)\s*(?:=[^,]*)?,?$", body[1], re.M)
            return path, set(short(names).values())
    return None


def diagrams():
    """(path, "mm: slab_moves", body)"""
    for path in sorted(glob.glob("Documentation/**/*.rst", recursive=True)):
        for block in BLOCK.findall(read(path)):
            graph = GRAPH.search(block)
            if graph:
                yield path, f"{graph[1]}: {graph[2]}", graph[3]


def differences(path, name, body, known):
    edges = set(EDGE.findall(re.sub(r'"[^"]*"', "", body)))
    absent = set(re.findall(r"(\w+)\s*\[shape=point", body))
    if name in known:
        source, moves = known[name]
        for one, other in sorted(edges - moves):
            yield f"{path}: {name}: {source} has no move {one} -> {other}"
        for one, other in sorted(moves - edges):
            yield f"{path}: {name}: the move {one} -> {other} of {source} is missing"
        return
    found = states(*name.split(": "))
    if not found:
        yield f"{path}: {name}: no such table of moves or enum"
        return
    source, names = found
    nodes = {node for edge in edges for node in edge} - absent
    for node in sorted(nodes - names):
        yield f"{path}: {name}: {source} has no state {node}"
    for node in sorted(names - nodes):
        yield f"{path}: {name}: the state {node} of {source} is missing"


def undrawn():
    """Labels of a .dot file that the .svg beside it does not have."""
    for path in sorted(glob.glob("Documentation/**/*.dot", recursive=True)):
        texts = {html.unescape(text).strip()
                 for text in re.findall(r">([^<>]*)</text>", read(path[:-3] + "svg"))}
        for label in re.findall(r'label="([^"]*)"', read(path)):
            for line in label.split("\\n"):
                if line.strip() not in texts:
                    yield f"{path}: \"{line.strip()}\" is not in the drawing: make drawings"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
    known, drawn, bad = tables(), set(), []
    for path, name, body in diagrams():
        drawn.add(name)
        bad += differences(path, name, body, known)
    bad += [f"{known[name][0]}: no document has a diagram of {name}"
            for name in sorted(set(known) - drawn)]
    bad += undrawn()
    if not drawn:
        bad.append("no diagram found")
    print(*bad, sep="\n", end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
