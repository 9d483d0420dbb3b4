#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs selftests in virtual machines, see --help; harness/selftests.py has the code."""

import sys

from harness import selftests

if __name__ == "__main__":
    sys.exit(selftests.main())
