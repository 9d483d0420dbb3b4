# SPDX-License-Identifier: GPL-2.0
"""Counts the constructions that make our prose hard to read, in comments and documents.

Reads file names from stdin. Counts sentences that begin with Who, What, Which, Of or Likewise, and
"of" followed by "which", per 10,000 words of each folder and of the whole. With a number as
argument, fails if the whole has more than that. With -v, prints each of them."""

import re
import sys

BEGIN = r"(?:^|[.!?:;]\s+|\n\s*\n\s*)"
COUNTED = re.compile(BEGIN + r"(Who|What|Which|Of|Likewise)\b|\b[Oo]f which\b")
# A question, as in a heading, may begin so.
QUESTION = re.compile(r"[^.!?;]*\?")
STRING = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
C_COMMENT = re.compile(STRING.pattern + r"|(/\*.*?\*/|//[^\n]*)", re.S)


def clean(block):
    """A comment without its markers, kernel-doc names and list markers."""
    lines = (re.sub(r"^\s*(?:/\*+|\*+/|\*|//+|#+!?)?\s?", "", line) for line in
             block.replace("*/", "").splitlines())
    return "\n".join(re.sub(r"^\s*(?:[-*+]|\d+\.)\s+", "\n", line) for line in lines)


def c_comments(text):
    """Adjacent comments of one line are one text each, as are those of several."""
    return [clean(match.group(1)) for match in C_COMMENT.finditer(text) if match.group(1)]


def hash_comments(text):
    """Comments of a shell script, a Makefile or Python, and Python's docstrings."""
    blocks, block = [], []
    for line in text.splitlines() + [""]:
        match = re.match(r"\s*#(?!!)(.*)", line)
        if match:
            block.append(match.group(1).strip())
        elif block:
            blocks.append("\n".join(block))
            block = []
    return blocks + re.findall(r'"""(.*?)"""', text, re.S)


def document(text):
    """A document without literal blocks, tables' rules and roff requests."""
    text = re.sub(r"::\n\n(?:[ \t]+.*\n|\n)+", "\n\n", text)
    text = re.sub(r"^\.\\\".*$", "", text, flags=re.M)
    # The keys of Documentation/ABI.
    text = re.sub(r"^(?:What|Date|KernelVersion|Contact|Description):.*$", "\n", text, flags=re.M)
    text = re.sub(r"^\.[A-Z]{1,2}\b.*$", lambda m: "\n\n" if m[0][1:3] in ("TP", "PP", "SH", "TH")
                  else re.sub(r"^\.\w+ ?", "", m[0]), text, flags=re.M)
    return [re.sub(r"^\s*(?:[-*+]|\d+\.|\* -)\s+", "\n\n", text, flags=re.M)]


def texts(name, text):
    if re.search(r"\.[ch]$|\.pml$|\.cocci$", name):
        return c_comments(text)
    if re.search(r"\.(?:rst|md|[58])$|\.txt$|(?:^|/)sysfs-", name):
        return document(text)
    if re.search(r"(?:^|/)Kconfig", name):
        return [re.sub(r"^\t.*$", "\n\n", re.sub(r"^\t  ", "", text, flags=re.M), flags=re.M)]
    return hash_comments(text)


def count(text):
    """The places that are counted."""
    found = []
    for match in COUNTED.finditer(text):
        if match.group(1) and QUESTION.match(text, match.start(1)):
            continue
        found.append(" ".join(text[match.start():match.start() + 90].split()))
    return found


def room(name):
    parts = name.split("/")
    return "/".join(parts[:3 if parts[0] == "tools" else 1]) if len(parts) > 1 else "."


def main():
    verbose = "-v" in sys.argv[1:]
    limits = [float(arg) for arg in sys.argv[1:] if arg != "-v"]
    words, counted = {}, {}
    for name in sys.stdin.read().splitlines():
        with open(name, encoding="utf-8", errors="replace") as file:
            for text in texts(name, file.read()):
                words[room(name)] = words.get(room(name), 0) + len(text.split())
                for place in count(text):
                    counted.setdefault(room(name), []).append(place)
                    if verbose:
                        print(f"{name}: {place}")
    total = sum(words.values())
    found = sum(map(len, counted.values()))
    rate = 1e4 * found / max(total, 1)
    if verbose or (limits and rate > limits[0]):
        for where in sorted(words, key=lambda room: -len(counted.get(room, [])) / words[room]):
            print(f"{where}: {len(counted.get(where, []))} in {words[where]} words")
        print(f"{rate:.1f} in 10,000 words")
    if limits and rate > limits[0]:
        print(f"at most {limits[0]:g} are allowed: see CONTRIBUTING.md")
    return bool(limits) and rate > limits[0]


if __name__ == "__main__":
    sys.exit(main())
