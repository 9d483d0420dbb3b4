# SPDX-License-Identifier: GPL-2.0
"""
The test harness: virtual machines, clusters of them, and the runners of selftests and checks.

bench/harness, chaos/harness, demo/harness, qemu/harness and tree/harness are links to this
directory, so that the programs there import it wherever they are started from.
"""

from harness.cluster import Cluster, exit_on_signals, once_more, print_bytes
from harness.errors import ClusterError

__all__ = ["Cluster", "ClusterError", "exit_on_signals", "once_more", "print_bytes"]
