#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Draws the plots of Documentation/mm/farswap/performance.rst, in ratios, from the results of bench.py
(part local) and events.py (part death): faults.svg, local.svg, death.svg. Skips a plot without
data; the exit status is 1 if all are skipped.
"""

import argparse
import csv
import math
import os
import statistics
import sys

import plot
import report

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

DECADE = (1, 2, 5)
HALF = "50 % local"


def rows(directories, name):
    for directory in directories:
        path = os.path.join(directory, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8", newline="") as file:
                yield from csv.DictReader(file)


def raw_reads(results):
    """Medians of raw RDMA READs before and after each kind of swap, µs."""
    return [float(row["number"]) for row in results
            if (row["load"], row["setting"], row["value"]) == ("raw READ", "local", "p50_us")]


def faults(args):
    raws = raw_reads(rows(args.bench, "results.csv"))
    counts = {}
    for row in rows(args.bench, "histograms.csv"):
        if row["load"] == "read" and row["setting"] == HALF:
            found, bound = counts.setdefault(row["swap"], {}), float(row["at_most_us"])
            found[bound] = found.get(bound, 0) + int(row["count"])
    if not raws or "farswap" not in counts:
        return None
    raw = statistics.median(raws)
    curves = {swap: report.cumulated(found) for swap, found in counts.items()}
    unit = next(bound for bound, percent in curves["farswap"] if percent >= 50)
    series = {swap: [(math.log10(bound / unit), percent) for bound, percent in curve]
              for swap, curve in curves.items()}
    ticks = [(math.log10(digit * 10 ** power), f"{digit * 10 ** power:g}")
             for power in range(-1, 2) for digit in DECADE if digit * 10 ** power <= 20]
    return plot.lines(
        "Page faults, random reads", ("latency / farswap's median", "% of all faults"),
        series, -1, math.log10(20), 100, across=ticks,
        note="half of the memory is local; raw READs before and after each took "
             f"{min(raws) / raw:.1f} to {max(raws) / raw:.1f} of their median")


def local(args):
    found = {}
    for row in rows(args.bench, "results.csv"):
        if row["value"] == "accesses_per_s" and row["setting"].endswith("% local"):
            key = row["swap"], row["load"], int(row["setting"].split()[0])
            found.setdefault(key, []).append(float(row["number"]))
    rates = {key: statistics.median(numbers) for key, numbers in found.items()}
    unit = rates.get(("farswap", "read", 50))
    if not unit:
        return None
    what = {"read": "reads", "mixed": "reads and rewrites"}
    series = {f"{swap}: {what[load]}": sorted((percent, rate / unit)
                                              for (other, kind, percent), rate in rates.items()
                                              if (other, kind) == (swap, load))
              for load in what for swap in dict.fromkeys(key[0] for key in rates)}
    percents = sorted({key[2] for key in rates if key[2] < 100})
    most = max(rate for points in series.values() for percent, rate in points if percent < 100)
    ticks = [(number / 2, f"{number / 2:g}") for number in range(int(most * 2.1) + 1)]
    return plot.lines("Random accesses with less local memory",
                      ("local memory, % of the program's", "accesses a second, ratio"),
                      series, percents[0] - 5, percents[-1] + 5, most * 1.05, up=ticks,
                      across=[(percent, str(percent)) for percent in percents],
                      note="1: farswap, reads, 50 % local")


def death(args):
    series = {}
    what = {"kill": "daemon killed", "power": "power lost"}
    for row in rows([args.events], "death.csv"):
        series.setdefault(f"{what[row['how']]}, backup={row['backup']}", {}).setdefault(
            int(row["second"]), []).append(float(row["ratio"]))
    if not series:
        return None
    deaths = max(len(ratios) for seconds in series.values() for ratios in seconds.values())
    return plot.lines(
        "A donor dies", ("seconds from the death", "accesses a second, ratio"),
        {name: [(second + 0.5, statistics.median(ratios)) for second, ratios in sorted(
            seconds.items())] for name, seconds in series.items()},
        -10, 10, 1.5, up=[(number / 4, f"{number / 4:g}") for number in range(7)],
        note=f"1: the mean of the 20 seconds before; medians of {deaths} deaths of each kind")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", nargs="+", default=[os.path.join(TOP, "out/bench")],
                        metavar="DIR", help="what bench.py left")
    parser.add_argument("--events", default=os.path.join(TOP, "out/events"), metavar="DIR",
                        help="what events.py left")
    parser.add_argument("--out", default=os.path.join(TOP, "Documentation/mm/farswap"),
                        metavar="DIR", help="where the plots go")
    return parser.parse_args()


def main():
    args = arguments()
    drawn = 0
    for figure in (faults, local, death):
        text = figure(args)
        if text is None:
            print(f"{figure.__name__}.svg: no data in {' '.join(args.bench)} {args.events}")
            continue
        path = os.path.join(args.out, f"{figure.__name__}.svg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(os.path.relpath(path))
        drawn += 1
    if not drawn:
        sys.exit("figures: nothing to draw: run make bench and make bench-events first")


if __name__ == "__main__":
    main()
