# SPDX-License-Identifier: GPL-2.0
"""Exceptions of the harness."""


class ClusterError(Exception):
    """The cluster itself has failed, not the test in it."""
