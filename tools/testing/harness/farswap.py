# SPDX-License-Identifier: GPL-2.0
"""The files of the client's farswap, and parsers for them."""

SYSFS = "/sys/kernel/farswap"
DEBUG = "/sys/kernel/debug/farswap"


def counters(text: str) -> dict[str, int]:
    """{name: number} of each line that has only these two, as in DEBUG/stats."""
    return {words[0]: int(words[1]) for words in map(str.split, text.splitlines())
            if len(words) == 2 and words[1].isdigit()}


def histogram(text: str, name: str) -> dict[int, int]:
    """{upper bound in ns: count} of a histogram in DEBUG/latency."""
    return {int(words[1]): int(words[2]) for words in map(str.split, text.splitlines())
            if words[:1] == [f"{name}_ns"]}


def grown(now: dict, before: dict) -> dict:
    """The growth of each value of counters() or histogram()."""
    return {name: value - before.get(name, 0) for name, value in now.items()}


def percentile(counts: dict[int, int], percent: float) -> float | None:
    """
    A percentile of a histogram(), in µs, interpolated within its bucket, which is an eighth wide.
    None without samples.
    """
    rank, seen = sum(counts.values()) * percent / 100, 0
    for bound, count in sorted(counts.items()):
        if count and seen + count >= rank:
            return bound * (8 + (rank - seen) / count) / 9 / 1000
        seen += count
    return None


def remote_share(stats: dict[str, int]) -> float:
    """Percent of all pages read that came from donors."""
    remote, *others = (stats.get(f"load_{name}", 0) for name in ("remote", "device", "fallback"))
    return 100 * remote / max(remote + sum(others), 1)


def live(text: str) -> list[str]:
    """Addresses of the donors that DEBUG/donors says can be used."""
    return [words[0].split(":")[0] for words in map(str.split, text.splitlines())
            if words[1:2] == ["live"]]
