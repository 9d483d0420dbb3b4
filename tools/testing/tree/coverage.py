#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Shows which lines of mm/ and rdma/ have run, in a kernel of "kernel.sh coverage" whose gcov
files run-selftests.py --coverage=DIR has collected. Prints a line for each
file and the totals, writes what has not run to out/coverage/missed, with its functions, and
fails if less than --least per cent have run.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
OUT = os.path.join(TOP, "out/coverage")
# The places of our directories in a kernel's tree.
PLACES = {"mm/farswap/": "mm/", "drivers/infiniband/ulp/farswap/": "rdma/"}
TESTS = ("mm/tests/", "rdma/tests/")
# The directory with the objects of a build.
NOTES = ("mm/farswap/", "drivers/infiniband/ulp/farswap/", "attach/")


def own_name(path):
    """The path in this tree of a file that gcov names; None if it is not ours."""
    head, _, tail = path.partition("/attach/")
    for place, here in PLACES.items():
        if tail.startswith(here):
            name = tail
        elif place in path:
            name = here + path.rpartition(place)[2]
        else:
            continue
        return None if name.startswith(TESTS) or not head else name
    return None


def notes_of(data):
    """Where the kernel's directory has the notes of an object; None if it isn't ours."""
    # The path there begins with the place of the build.
    for part in NOTES:
        at = data.find("/" + part)
        if at >= 0:
            return data[at + 1:-len(".gcda")] + ".gcno"
    return None


def gcov(notes, data, stage):
    """gcov's JSON for one object, or None if its data is of another build."""
    if not os.path.exists(notes):
        return None
    for name in os.listdir(stage):
        os.unlink(os.path.join(stage, name))
    shutil.copy(notes, os.path.join(stage, "it.gcno"))
    if data:
        shutil.copy(data, os.path.join(stage, "it.gcda"))
    done = subprocess.run(["gcov", "--json-format", "--stdout", "it.gcno"], cwd=stage,
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode or "mismatch" in done.stderr:
        return None
    return json.loads(done.stdout)


def objects(kernel, directories):
    """(notes, data) of all that have run, then (notes, None) of all there are."""
    for top in directories:
        for directory, _, names in os.walk(top):
            for name in names:
                data = os.path.join(directory, name)
                # Compare without the build directory, whose name differs.
                notes = notes_of("/" + os.path.relpath(data, top))
                if name.endswith(".gcda") and notes:
                    yield os.path.join(kernel, notes), data
    for part in NOTES:
        for directory, _, names in os.walk(os.path.join(kernel, part)):
            for name in names:
                if name.endswith(".gcno"):
                    yield os.path.join(directory, name), None


def collect(kernel, directories):
    """{file: {line: times}} and {file: {line: function}}, summed up."""
    times = collections.defaultdict(collections.Counter)
    functions = collections.defaultdict(dict)
    read = 0
    with tempfile.TemporaryDirectory(prefix="farswap-gcov-") as stage:
        for notes, data in objects(kernel, directories):
            said = gcov(notes, data, stage)
            read += bool(said and data)
            for file in said["files"] if said else ():
                own = own_name(file["file"])
                for line in file["lines"] if own else ():
                    times[own][line["line_number"]] += line["count"]
                    functions[own][line["line_number"]] = line.get("function_name", "")
    if not read:
        sys.exit("coverage: no gcov file of this kernel in " + " ".join(directories))
    return times, functions


def missed(times, functions):
    """The lines that have not run, as text, grouped by function."""
    text = []
    for file in sorted(times):
        with open(os.path.join(TOP, file), encoding="utf-8") as source:
            lines = source.read().splitlines()
        function = None
        for number in sorted(number for number, count in times[file].items() if not count):
            if function != functions[file][number]:
                function = functions[file][number]
                text.append(f"{file}: {function}()")
            text.append(f"{number:6} {lines[number - 1]}")
    return "\n".join(text) + "\n"


def percent(part, whole):
    return 100 * part / whole if whole else 0.0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", help="as kernel.sh coverage prints it")
    parser.add_argument("directory", nargs="+", help="of run-selftests.py --coverage")
    parser.add_argument("--least", type=float, default=85, metavar="PERCENT",
                        help="of the lines of mm/, and of those of rdma/ (%(default)s)")
    return parser.parse_args()


def main():
    args = arguments()
    times, functions = collect(args.kernel, args.directory)
    totals = {here: [0, 0] for here in PLACES.values()}
    for file in sorted(times):
        run = sum(1 for count in times[file].values() if count)
        print(f"{percent(run, len(times[file])):5.1f} % of {len(times[file]):4} lines: {file}")
        total = totals[file.partition("/")[0] + "/"]
        total[0] += run
        total[1] += len(times[file])
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "missed"), "w", encoding="utf-8") as out:
        out.write(missed(times, functions))
    failed = 0
    for here, (run, lines) in totals.items():
        enough = percent(run, lines) >= args.least
        failed += not enough
        print(f"{'ok  ' if enough else 'FAIL'} {here}: {run} of {lines} lines have run, "
              f"{percent(run, lines):.1f} %, goal {args.least:g} %")
    print(f"what has not: {os.path.relpath(os.path.join(OUT, 'missed'))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
