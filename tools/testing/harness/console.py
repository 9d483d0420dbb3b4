# SPDX-License-Identifier: GPL-2.0
"""Parses the text of a guest's console."""

import re

# Kernel messages that fail a test.
COMPLAINTS = re.compile(
    r"WARNING:|BUG[: ]|Oops|general protection|[Kk]ernel panic|blocked for more than"
    r"|soft lockup|hard LOCKUP|rcu.*(?:stall|self-detected)|refcount_t:|UBSAN:|KASAN:"
    r"|page allocation failure|Bad page|(?:add|del) corruption|(?:Bad|Unused) swap"
    r"|pagealloc: (?:memory corruption|single bit error)"
    r"|possible (?:circular|recursive) locking|suspicious RCU|non-static key"
    r"|[Oo]ut of memory:"
    r"|oom-kill:|kmemleak:|swapper:|INFO: task|scheduling while atomic"
    r"|sleeping function called")

FLAGS = re.compile(r"EFLAGS: ([0-9a-f]{8})")

# Printed by a kernel that hits a breakpoint it has already removed: QEMU 7.2 without KVM now and
# then runs stale translated code.
STALE_CODE = b"Oops: int3"

# rxe warns of its own bug that read_without_data.sh is about.
WARNINGS = re.compile(r"^[^\n]*\[ cut here \].*?end trace", re.DOTALL | re.MULTILINE)


def complaints(text: str) -> list[str]:
    """Lines that fail a test."""
    text = WARNINGS.sub(lambda warning: "" if "rxe_comp.c" in warning[0] else warning[0],
                        text.replace("\r", ""))
    return [line for line in text.splitlines() if COMPLAINTS.search(line)]


def emulator_failed(text: str) -> bool:
    """
    Whether a guest died with flags that no processor can have. QEMU 7.2 without
    KVM now and then writes another register's bits into them; this does not depend on the guest,
    and the results of such a test are void.
    """
    return any(int(flags, 16) >> 22 for flags in FLAGS.findall(text))
