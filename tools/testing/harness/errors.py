# SPDX-License-Identifier: GPL-2.0
"""What the harness raises."""


class ClusterError(Exception):
    """The cluster, not what is tested in it, has failed."""
