# SPDX-License-Identifier: GPL-2.0
"""What raw RDMA takes between two machines of a cluster, by perftest's programs."""

import cluster as harness


def run(client, donor, command, nr_bytes):
    """The words of the result's line."""
    command += f" -d r0 -x 1 -s {nr_bytes} -p 18600"
    server = donor.spawn(command)
    # Its port, as /proc/net/tcp has it; in state "listening".
    donor.wait_for("grep -q ':48A8 0*:0000 0A ' /proc/net/tcp /proc/net/tcp6", 20)
    output = client.check(f"{command} {donor.address}", 120)
    server.wait(20)
    for words in map(str.split, output.splitlines()):
        if words[:1] == [str(nr_bytes)]:
            return words
    raise harness.ClusterError(f"{command} gave no result\n{output}")


def read_latency(client, donor, iterations=2000):
    """(p50, p99) of a READ of a page, µs."""
    words = run(client, donor, f"ib_read_lat -n {iterations}", 4096)
    return float(words[4]), float(words[7])


def bandwidth(client, donor, verb, nr_bytes, iterations, depth=128):
    """Of "read" or "write" of so many bytes at a time, so many under way, MiB/s."""
    return float(run(client, donor, f"ib_{verb}_bw -F -n {iterations} -t {depth}", nr_bytes)[3])
