#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Cycles that the ciphers of pages take on this machine, for a page of 4096 bytes: see cipher.c. No
virtual machine runs; an emulated processor has no instructions for them that are worth a figure.
"""

import argparse
import os
import subprocess
import sys

from harness import host

HERE = os.path.dirname(os.path.abspath(__file__))
GOAL = 5000


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1, help="of each measurement")
    args = parser.parse_args()
    host.fetch("--bench")
    subprocess.run(["make", "-s", "-C", HERE, "cipher"], check=True)
    done = subprocess.run([os.path.join(HERE, "cipher"), str(args.seconds)], check=True, text=True,
                          stdout=subprocess.PIPE)
    print(done.stdout, end="")
    most = max(int(line.split()[-4]) for line in done.stdout.splitlines() if "AES" in line)
    print(f"AES-256-GCM: at most {most} cycles a page, goal {GOAL}")
    return most > GOAL


if __name__ == "__main__":
    sys.exit(main())
