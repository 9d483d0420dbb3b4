# SPDX-License-Identifier: GPL-2.0
"""Counts the KTAP results of a test program, and those that are missing."""

import re

RESULT = re.compile(r"^(ok|not ok) \d+\s*(.*)")
PLAN = re.compile(r"^1\.\.(\d+)(\s*# SKIP.*)?", re.IGNORECASE)
SKIP = re.compile(r"#\s*SKIP\s*(.*)", re.IGNORECASE)
# A result about data: see check in _tap.sh.
DATA = re.compile(r"\s*# DATA\s*$")

OUTER = re.compile(r"^(ok|not ok) \d+ selftests: [^#]*(?:# (SKIP|TIMEOUT|exit=(\d+)))?")

EXIT_FAIL = 1
EXIT_SKIP = 4


class Tally:
    """Results of one program, or the sum over several."""

    def __init__(self, passed: int = 0, failed: int = 0, skipped: int = 0):
        self.passed = passed
        self.failed = failed
        self.skipped = skipped
        self.reasons: list[str] = []
        # A failed result is about data, or results are missing and the test did not bail out.
        self.about_data = False

    def add(self, other: "Tally") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def fail(self, reason: str) -> None:
        self.failed += 1
        self.reasons.append(reason)

    def may_be_of_time(self, status: int | None) -> bool:
        """
        Whether a slow machine explains the failure, so that another run may excuse it: the test
        ended by itself, and no result about data failed.
        """
        return bool(self.failed) and status == EXIT_FAIL and not self.about_data

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def unnested(output: str) -> tuple[str, int]:
    """Output and status of the one program that the kernel's run_kselftest.sh has run."""
    inner, status = [], 1
    for line in output.splitlines():
        outer = OUTER.match(line)
        if outer:
            status = {None: 0, "SKIP": EXIT_SKIP, "TIMEOUT": 124}.get(outer[2]) \
                if not outer[3] else int(outer[3])
            status = status or int(outer[1] == "not ok")
        elif line.startswith("# "):
            inner.append(line[2:])
    return "\n".join(inner), status


def tally(output: str, status: int) -> Tally:
    """
    The results in one program's output. A program that ended badly, or gave
    fewer results than it planned, has at least one failure.
    """
    total = Tally()
    planned = None
    for line in output.splitlines():
        plan = PLAN.match(line)
        if plan:
            planned = (planned or 0) + int(plan[1])
            continue
        result = RESULT.match(line)
        if not result:
            continue
        skip = SKIP.search(result[2])
        if result[1] == "not ok":
            total.fail(DATA.sub("", result[2].lstrip("- ")))
            total.about_data |= bool(DATA.search(result[2]))
        elif skip:
            total.skipped += 1
            total.reasons.append(f"skipped: {skip[1] or result[2][:skip.start()].strip()}")
        else:
            total.passed += 1
    seen = total.passed + total.failed + total.skipped
    if status == EXIT_SKIP and not total.failed:
        if not seen:
            total.skipped = 1
            skip = SKIP.search(output)
            total.reasons.append(f"skipped: {skip[1] if skip else 'no reason given'}")
        return total
    if planned is not None and seen < planned:
        total.failed += planned - seen
        bail = re.search(r"^Bail out!.*", output, re.MULTILINE)
        total.about_data |= not bail
        total.reasons.append(bail[0] if bail else
                             f"{planned - seen} of {planned} results missing")
    if status and not total.failed:
        total.fail(f"exit status {status}")
    elif not status and not seen:
        total.passed = 1
    return total
