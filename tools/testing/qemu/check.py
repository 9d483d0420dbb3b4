#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Entry point of "make check"; see harness/check.py."""

import sys

from harness import check

if __name__ == "__main__":
    sys.exit(check.main())
