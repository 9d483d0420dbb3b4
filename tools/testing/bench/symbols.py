# SPDX-License-Identifier: GPL-2.0
"""Resolves addresses of a guest's kernel."""

import bisect


class Symbols:
    """Finds the function of an address in a guest."""

    def __init__(self, client):
        text = client.check("awk '$2 ~ /[tTwW]/ { print $1, $3, $4 }' /proc/kallsyms", 120)
        rows = sorted((int(words[0], 16), " ".join(words[1:]))
                      for words in map(str.split, text.splitlines()))
        self.starts = [start for start, _ in rows]
        self.names = [name for _, name in rows]
        self.known = {}

    def name(self, address):
        if address not in self.known:
            place = bisect.bisect_right(self.starts, address) - 1
            self.known[address] = self.names[place] if place >= 0 else "user"
        return self.known[address]

    def begins(self, address):
        place = bisect.bisect_left(self.starts, address)
        return place < len(self.starts) and self.starts[place] == address

    def start(self, name):
        return self.starts[self.names.index(name)]

    def ranges(self, pattern):
        """[(first, end)] of the functions whose names match."""
        ends = sorted(set(self.starts))
        return sorted({(start, ends[min(bisect.bisect_right(ends, start), len(ends) - 1)])
                       for start, name in zip(self.starts, self.names) if pattern.match(name)})
