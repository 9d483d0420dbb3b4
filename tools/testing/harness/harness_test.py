# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the harness's pure functions, and of the marks that _tap.sh prints. Prints KTAP."""

import os
import subprocess
import sys
import tempfile
import time
import types

from harness import console, farswap, image, ktap, needs
from harness.agent import Job

TAP = os.path.join(image.TOP, "tools/testing/selftests/farswap/_tap.sh")
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


@case
def output_of_run_kselftest_is_unnested():
    output, status = ktap.unnested("# ok 1 a\n# not ok 2 b # DATA\n"
                                   "not ok 1 selftests: farswap: x.sh # exit=1\n")
    return status == 1 and ktap.tally(output, status).about_data


@case
def a_warning_is_a_complaint():
    return console.complaints("[ 1.0] fine\r\n[ 2.0] BUG: bad\r\n") == ["[ 2.0] BUG: bad"]


@case
def a_warning_of_rxe_is_no_complaint():
    warning = "--[ cut here ]--\nWARNING: at {}\nend trace\n"
    return not console.complaints(warning.format("rxe_comp.c:1")) \
        and len(console.complaints(warning.format("farswap.c:1"))) == 1


@case
def impossible_flags_are_a_failure_of_the_emulator():
    return console.emulator_failed("EFLAGS: ffff8881 ") and \
        not console.emulator_failed("EFLAGS: 00010246 ")


@case
def each_rare_test_has_its_turn():
    tests = {name: needs.parse(name, f"# cluster: rare={int(name > 'b')}\n") for name in "abcde"}
    turns = [needs.without_rare(tests, turn) for turn in range(needs.RARE_EVERY)]
    return needs.without_rare(tests, None) == list(tests) and \
        all(turn[:2] == ["a", "b"] for turn in turns) and \
        sorted(name for turn in turns for name in turn[2:]) == ["c", "d", "e"]


@case
def each_test_with_one_client_has_its_turn():
    tests = {"a": "donors=1", "b": "both=3", "c": "clients=2", "d": "both=1", "e": "disks=2"}
    parsed = {name: needs.parse(name, f"# cluster: {line}\n") for name, line in tests.items()}
    return [needs.in_turn(parsed, turn) for turn in range(5)] == ["a", "d", "e", "a", "d"]


@case
def a_test_without_a_line_has_the_default_needs():
    return needs.parse("x.sh", "#!/bin/sh\n") == needs.NEEDS


@case
def needs_are_read():
    parsed = needs.parse("x.sh", "#\n# cluster: donors=3 mem=384 fs.hung=120 zswap.enabled=0\n")
    return (parsed["donors"], parsed["mem"], parsed["append"]) == \
        (3, 384, "fs.hung=120 zswap.enabled=0 ")


@case
def machines_that_are_both_are_alone():
    parsed = needs.parse("x.sh", "# cluster: both=3\n")
    return (parsed["clients"], parsed["donors"], parsed["both"]) == (0, 0, 3)


@case
def an_unknown_need_is_named():
    try:
        needs.parse("x.sh", "# cluster: donor=3\n")
    except SystemExit as error:
        return "x.sh: unknown need 'donor'" in str(error)
    return False


@case
def tests_that_can_share_a_cluster_are_together():
    small, large = needs.parse("", "# cluster: mem=192"), needs.parse("", "# cluster: mem=384")
    wide = needs.parse("", "# cluster: mem=192 donors=3")
    order = needs.grouped({"a": small, "b": large, "c": wide})
    return [name for name, _ in order] == ["a", "c", "b"] \
        and [needed["donors"] for _, needed in order] == [3, 3, 2]


@case
def counters_are_lines_of_a_name_and_a_number():
    return farswap.counters("a 1\nb x\nc 2 3\nd 4\n") == {"a": 1, "d": 4}


@case
def a_percentile_lies_in_its_bucket():
    counts = farswap.histogram("load_ns 900 0\nload_ns 1800 10\nload_ns 3600 0\n", "load")
    return farswap.percentile(counts, 100) == 1.8 and 1.6 < farswap.percentile(counts, 50) < 1.8 \
        and farswap.percentile({1: 0}, 50) is None


@case
def donors_that_are_live_are_listed():
    return farswap.live("address state\n10.0.0.2:9400 live 1\n10.0.0.3 suspect 1\n") == ["10.0.0.2"]


@case
def machine_needs_of_a_kernel_are_read():
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "machine"), "w", encoding="ascii") as file:
            file.write("memory=100 slow=4 kasan.fault=panic\n")
        return image.machine_of(directory) == ({"memory": 100, "cpus": 1, "slow": 4},
                                               "kasan.fault=panic ")


@case
def a_job_ends_with_its_guest():
    begun = time.monotonic()
    gone = Job(types.SimpleNamespace(is_on=lambda: False), "1", None).wait(60)
    return gone == (None, "") and time.monotonic() < begun + 30


def shell(commands):
    """The result lines of these commands after _tap.sh; None where the kernel's helpers are not."""
    helpers = os.path.join(image.cache_dir(), "kernel/lint/tools/testing/selftests/kselftest",
                           "ktap_helpers.sh")
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
