#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Which lines of mm/ and rdma/ have run: in a kernel of "kernel.sh coverage", of which
run-selftests.py --coverage=DIR has brought what its gcov files say. Prints a line for each
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
# Where a kernel's tree has what lies here.
PLACES = {"mm/farswap/": "mm/", "drivers/infiniband/ulp/farswap/": "rdma/"}
TESTS = ("mm/tests/", "rdma/tests/")


def own_name(path):
    """What a file that gcov speaks of is called here; None if it isn't ours."""
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


def gcov(kernel, data, stage):
    """What gcov says of one object: its JSON, or None if it is of another build."""
    # The path there begins with the place of the build.
    for part in ("mm/farswap/", "drivers/infiniband/ulp/farswap/", "attach/"):
        at = data.find("/" + part)
        if at >= 0:
            notes = os.path.join(kernel, data[at + 1:-len(".gcda")] + ".gcno")
            break
    else:
        return None
    if not os.path.exists(notes):
        return None
    shutil.copy(notes, os.path.join(stage, "it.gcno"))
    shutil.copy(data, os.path.join(stage, "it.gcda"))
    done = subprocess.run(["gcov", "--json-format", "--stdout", "it.gcda"], cwd=stage,
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode or "mismatch" in done.stderr:
        return None
    return json.loads(done.stdout)


def collect(kernel, directories):
    """{file: {line: times}} and {file: {line: function}}, summed up."""
    times = collections.defaultdict(collections.Counter)
    functions = collections.defaultdict(dict)
    read = 0
    with tempfile.TemporaryDirectory(prefix="farswap-gcov-") as stage:
        for top in directories:
            for directory, _, names in os.walk(top):
                for name in names:
                    if not name.endswith(".gcda"):
                        continue
                    said = gcov(kernel, os.path.join(directory, name), stage)
                    read += bool(said)
                    for file in said["files"] if said else ():
                        own = own_name(file["file"])
                        for line in file["lines"] if own else ():
                            times[own][line["line_number"]] += line["count"]
                            functions[own][line["line_number"]] = line.get("function_name", "")
    if not read:
        sys.exit("coverage: no gcov file of this kernel in " + " ".join(directories))
    return times, functions


def missed(times, functions):
    """Text: the lines that have not run, under the names of their functions."""
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
