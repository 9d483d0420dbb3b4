#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A cluster of virtual machines to play with, see --help; harness/cli.py has the code."""

import sys

from harness import cli

if __name__ == "__main__":
    sys.exit(cli.main())
