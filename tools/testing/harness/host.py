# SPDX-License-Identifier: GPL-2.0
"""Prepares this machine for a run: fetches and builds the guests' files, and reports its load."""

import os
import subprocess

from harness import image


def fetch(*options: str) -> str:
    """Where it is not there yet. The kernel's build directory."""
    output = subprocess.run([image.FETCH, *options], check=True, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout
    return output.strip().splitlines()[-1]


def build(kdir: str, programs: str, *targets: str, jobs: int = 1, top: str = image.TOP) -> None:
    """A tree's targets, and a directory's programs; quiet unless it fails."""
    for words in ([*targets, f"KDIR={kdir}"], ["-C", programs]):
        result = subprocess.run(["make", "-s", "--no-print-directory", f"-j{jobs}", *words],
                                cwd=top, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if result.returncode:
            raise image.ImageError(f"the build failed\n{result.stdout}")


def note_other_work() -> None:
    if os.getloadavg()[0] > 0.5:
        print("note: this machine has other work; the figures of such a run say little")
