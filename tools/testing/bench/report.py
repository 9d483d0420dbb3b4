# SPDX-License-Identifier: GPL-2.0
"""The results of a bench: as tables, as CSV, and drawn by gnuplot."""

import csv
import os
import statistics
import subprocess

COLOURS = ("#c0392b", "#e67e22", "#f1c40f", "#2980b9", "#8e44ad", "#16a085", "#7f8c8d",
           "#2c3e50", "#d35400", "#27ae60", "#bdc3c7")
KEYS = ("run", "load", "swap", "setting", "value")


class Results:
    """Numbers by (load, swap, setting, value), some for each run; histograms, of all runs."""

    def __init__(self):
        self.numbers = {}
        self.histograms = {}

    def add(self, load, swap, setting, value, number):
        self.numbers.setdefault((load, swap, setting, value), []).append(number)

    def add_histogram(self, load, swap, setting, counts):
        """counts: {upper bound in µs: how many}"""
        whole = self.histograms.setdefault((load, swap, setting), {})
        for bound, count in counts.items():
            whole[bound] = whole.get(bound, 0) + count

    def join(self, others):
        for key, numbers in others.numbers.items():
            self.numbers.setdefault(key, []).extend(numbers)
        for key, counts in others.histograms.items():
            self.add_histogram(*key, counts)

    def median(self, *key):
        """None where there is no value."""
        return statistics.median(self.numbers[key]) if key in self.numbers else None

    def swaps(self, load, setting, value):
        """Those that have results, in the order of the runs."""
        return [key[1] for key in self.numbers
                if (key[0], *key[2:]) == (load, setting, value)]

    def settings(self, load, value):
        found = []
        for key in self.numbers:
            if (key[0], key[3]) == (load, value) and key[2] not in found:
                found.append(key[2])
        return found

    def write(self, directory):
        with open(os.path.join(directory, "results.csv"), "w", encoding="utf-8",
                  newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*KEYS, "number"])
            for key, numbers in self.numbers.items():
                writer.writerows([run, *key, f"{number:g}"]
                                 for run, number in enumerate(numbers, 1))
        with open(os.path.join(directory, "histograms.csv"), "w", encoding="utf-8",
                  newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["load", "swap", "setting", "at_most_us", "count"])
            for key, counts in self.histograms.items():
                writer.writerows([*key, f"{bound:g}", count]
                                 for bound, count in sorted(counts.items()))


def cell(numbers, digits):
    """The median, and the spread where there are several."""
    if not numbers:
        return "-"
    text = f"{statistics.median(numbers):.{digits}f}"
    if len(numbers) > 1:
        text += f" ({min(numbers):.{digits}f}–{max(numbers):.{digits}f})"
    return text


def grid(title, lines):
    """Prints a table of texts, with the headings first."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    print(f"\n{title}")
    for first, *others in lines:
        print("  " + first.ljust(widths[0]) + "".join(
            "  " + text.rjust(width) for text, width in zip(others, widths[1:])))


def table(title, rows, columns):
    """columns: (heading, numbers of a row, digits)"""
    grid(title, [["", *(heading for heading, _, _ in columns)],
                 *([row, *(cell(numbers(row), digits) for _, numbers, digits in columns)]
                   for row in rows)])


def gnuplot(directory, name, script):
    """Draw one plot as NAME.svg and NAME.png."""
    for terminal in ("svg size 900,540 dynamic background '#ffffff'", "png size 900,540"):
        kind = terminal.split()[0]
        path = os.path.join(directory, f"{name}.{kind}")
        subprocess.run(["gnuplot"], check=True, text=True, timeout=60,
                       input=f"set terminal {terminal}\nset output '{path}'\n{script}")


def block(name, rows):
    """Data within a script."""
    return f"${name} << EOD\n" + "".join(
        " ".join(f'"{word}"' if isinstance(word, str) else f"{word:g}" for word in row) + "\n"
        for row in rows) + "EOD\n"


def plot_lines(directory, name, title, labels, lines, options=""):
    """labels: of x and y; lines: {what: [(x, y)]}"""
    script = (f"set title '{title}'\nset xlabel '{labels[0]}'\nset ylabel '{labels[1]}'\n"
              f"set grid\nset key outside right\n{options}\n")
    parts = []
    for number, (what, points) in enumerate(lines.items()):
        script += block(f"d{number}", points)
        parts.append(f"$d{number} using 1:2 with linespoints pointtype 7 pointsize 0.3 "
                     f"linewidth 2 linecolor '{COLOURS[number % len(COLOURS)]}' title '{what}'")
    if parts:
        gnuplot(directory, name, script + "plot " + ", ".join(parts) + "\n")


def plot_bars(directory, name, title, label, bars, options=""):
    """bars: [(what, value, ...)] with headings for the values in the first."""
    (_, *headings), *rows = bars
    if not rows:
        return
    script = (f"set title '{title}'\nset ylabel '{label}'\nset grid ytics\n"
              "set style data histogram\nset style histogram clustered gap 1\n"
              "set style fill solid 0.8\nset xtics rotate by -35\nset key top left\n"
              f"{options}\n" + block("bars", rows))
    script += "plot " + ", ".join(
        f"$bars using {number + 2}:xtic(1) linecolor '{COLOURS[number * 3]}' title '{heading}'"
        for number, heading in enumerate(headings)) + "\n"
    gnuplot(directory, name, script)


def cumulated(counts):
    """[(µs, percent of all that took no longer)] of a histogram."""
    points, seen, total = [], 0, sum(counts.values())
    for bound, count in sorted(counts.items()):
        seen += count
        points.append((bound, 100 * seen / total))
    return points
