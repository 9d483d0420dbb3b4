#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of ktap.py, and of the marks that _tap.sh prints for it. Prints KTAP."""

import os
import subprocess
import sys
import tempfile

import ktap

HERE = os.path.dirname(os.path.abspath(__file__))
TAP = os.path.join(HERE, "../selftests/farswap/_tap.sh")
CASES = []


def case(function):
    CASES.append(function)
    return function


def may_run_again(output, status=1):
    return ktap.tally(output, status).may_be_of_time(status)


def counts(output, status):
    total = ktap.tally(output, status)
    return total.passed, total.failed, total.skipped


@case
def results_are_counted():
    return counts("1..3\nok 1 a\nnot ok 2 b\nok 3 c # SKIP no c\n", 1) == (1, 1, 1)


@case
def a_marked_result_that_passes_counts():
    return counts("1..1\nok 1 a # DATA\n", 0) == (1, 0, 0)


@case
def a_bad_status_without_a_failure_is_one():
    return counts("1..1\nok 1 a\n", 2) == (1, 1, 0)


@case
def a_failure_without_the_mark_may_be_of_time():
    return may_run_again("1..2\nok 1 memory # DATA\nnot ok 2 wrong, lost: only words\n")


@case
def a_marked_failure_is_never_of_time():
    return not may_run_again("1..2\nnot ok 1 slow\nnot ok 2 memory # DATA\n")


@case
def the_mark_counts_at_the_end_only():
    return may_run_again("1..1\nnot ok 1 the # DATA mark\n")


@case
def the_reason_is_without_the_mark():
    return ktap.tally("1..1\nnot ok 1 memory # DATA\n", 1).reasons == ["memory"]


@case
def missing_results_are_never_of_time():
    return not may_run_again("1..3\nnot ok 1 slow\nok 2 b\n")


@case
def a_bail_out_may_be_of_time():
    return may_run_again("1..3\nok 1 a\nBail out! no donors\n")


@case
def a_test_that_was_killed_is_not_run_again():
    return not may_run_again("1..1\nnot ok 1 slow\n", 124)


@case
def a_test_that_passed_is_not_run_again():
    return not may_run_again("1..1\nok 1 a\n", 0)


def shell(commands):
    """The result lines of these commands after _tap.sh; None where the kernel's helpers are not."""
    cache = subprocess.run([os.path.join(HERE, "fetch.sh"), "--cache"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.strip()
    helpers = os.path.join(cache, "kernel/lint/tools/testing/selftests/kselftest/ktap_helpers.sh")
    if not os.path.exists(helpers):
        return None
    with tempfile.TemporaryDirectory() as directory:
        output = subprocess.run(
            ["sh", "-c", f"TMP={directory}; cleanup() {{ :; }}; . {TAP}; {commands}"],
            env={**os.environ, "KTAP_HELPERS": helpers}, check=False, text=True,
            stdout=subprocess.PIPE).stdout
    return [line.rstrip() for line in output.splitlines() if "ok " in line or "Bail" in line]


def prints(commands, *lines):
    printed = shell(commands)
    if printed is None:
        print("# not tried: no ktap_helpers.sh, which fetch.sh fetches")
        return True
    for line in printed if printed != list(lines) else ():
        print(f"# printed: {line}")
    return printed == list(lines)


@case
def check_marks_what_is_about_data():
    return prints("check --data a false; check --data b true; check c false",
                  "not ok 1 a # DATA", "ok 2 b # DATA", "not ok 3 c")


@case
def result_marks_what_is_about_data():
    return prints("result --data 1 a; result 1 b", "not ok 1 a # DATA", "not ok 2 b")


@case
def a_step_about_data_marks_the_check():
    return prints("check a eval 'data false && true'; check b eval 'data true && false'",
                  "not ok 1 a # DATA", "not ok 2 b")


@case
def a_program_marks_the_check_that_fails():
    return prints("check a eval 'echo \"load: DATA: wrong\"; false'; check b echo 'DATA: allowed'",
                  "not ok 1 a # DATA", "ok 2 b")


@case
def an_unknown_option_ends_the_test():
    printed = shell("check --date a false; check b true")
    return printed is None or (len(printed) == 1 and printed[0].startswith("Bail out!  check: "))


def main():
    failed = 0
    print(f"TAP version 13\n1..{len(CASES)}")
    for number, function in enumerate(CASES, 1):
        good = function()
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {function.__name__.replace('_', ' ')}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
