# SPDX-License-Identifier: GPL-2.0
"""Parses the "# cluster:" lines of selftests, and decides which tests can share a cluster."""

import re

Needs = dict[str, int | str]

NEEDS = {"clients": 1, "donors": 2, "both": 0, "mem": 192, "disks": 1, "donor_mem": 768, "cpus": 1,
         "donor_cpus": 1, "disk_mb": 1024, "iops": 0, "nfs": 0, "slab_mb": 8, "tree": 0,
         "one_thread": 0, "aes": 0, "rare": 0, "append": ""}
# A test accepts more of these than it needs.
MORE_IS_GOOD = ("donors", "disks", "nfs", "tree", "rare")
# "make check" runs a rare test, a long one that resembles others or guards what seldom
# changes, for one commit in RARE_EVERY.
RARE_EVERY = 3


def parse(name: str, text: str) -> Needs:
    """Parses the needs of a test from the beginning of its text."""
    needs: Needs = dict(NEEDS)
    match = re.search(r"^[#/ *]*cluster:(.*)$", text, re.MULTILINE)
    if match and re.search(r"\bboth=[1-9]", match[1]):
        needs["clients"] = needs["donors"] = 0
    for word in match[1].split() if match else ():
        key, _, value = word.partition("=")
        if "." in key:
            needs["append"] += f"{word} "
            continue
        if key not in needs:
            raise SystemExit(f"{name}: unknown need {key!r}; known: {' '.join(NEEDS)}")
        needs[key] = int(value)
    return needs


def kind_of(needs: Needs) -> Needs:
    """The properties that two tests must share to share a cluster."""
    return {key: value for key, value in needs.items() if key not in MORE_IS_GOOD}


def without_rare(tests: dict[str, Needs], turn: int | None) -> list[str]:
    """The names of all tests except rare ones whose turn it is not; of all if turn is None."""
    rare = sorted(name for name, needs in tests.items() if needs["rare"])
    return [name for name in tests if turn is None or name not in rare or
            (rare.index(name) + turn) % RARE_EVERY == 0]


def in_turn(tests: dict[str, Needs], turn: int) -> str:
    """
    The test whose turn it is: each of those with one client has one in as many as there are.
    Machines that emulate a slow kernel side by side are too slow for a test of several.
    """
    alone = [name for name, needs in tests.items() if needs["clients"] + needs["both"] == 1]
    return alone[turn % len(alone)]


def grouped(tests: dict[str, Needs]) -> list[tuple[str, Needs]]:
    """
    [(name, the needs of its cluster)], in the same order, but tests that can share a
    cluster are together, in one with enough for all of them.
    """
    kinds: list[Needs] = []
    for needs in tests.values():
        if kind_of(needs) not in kinds:
            kinds.append(kind_of(needs))
    most = [{key: max(needs[key] for needs in tests.values() if kind_of(needs) == kind)
             for key in MORE_IS_GOOD} for kind in kinds]
    ordered = sorted(tests, key=lambda name: kinds.index(kind_of(tests[name])))
    return [(name, {**tests[name], **most[kinds.index(kind_of(tests[name]))]})
            for name in ordered]
