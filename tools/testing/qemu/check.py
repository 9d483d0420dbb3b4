#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What make check runs; harness/check.py has the code."""

import sys

from harness import check

if __name__ == "__main__":
    sys.exit(check.main())
