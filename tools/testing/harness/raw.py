# SPDX-License-Identifier: GPL-2.0
"""The time of raw RDMA between two machines of a cluster, by perftest's programs."""

import ipaddress

from harness.errors import ClusterError
from harness.machine import Machine


def gid_index(machine: Machine) -> str:
    """The index of the GID for a machine's IPv4 address, which varies with the time at which the
    link-local one is added."""
    gid = ipaddress.IPv6Address(f"::ffff:{machine.address}").exploded
    gids = "/sys/class/infiniband/r0/ports/1/gids"
    machine.wait_for(f"grep -q {gid} {gids}/*", 20, show=f"head -n 4 {gids}/[0-3]")
    return machine.check(f"grep -l {gid} {gids}/*").split()[0].rsplit("/", 1)[1]


def run(client: Machine, donor: Machine, command: str, nr_bytes: int) -> list[str]:
    """The words of the result's line."""
    command += f" -d r0 -s {nr_bytes} -p 18600 -x "
    server = donor.spawn(command + gid_index(donor))
    # The port in hexadecimal in state LISTEN, as in /proc/net/tcp.
    donor.wait_for("grep -q ':48A8 0*:0000 0A ' /proc/net/tcp /proc/net/tcp6", 20)
    output = client.check(f"{command}{gid_index(client)} {donor.address}", 120)
    server.wait(20)
    for words in map(str.split, output.splitlines()):
        if words[:1] == [str(nr_bytes)]:
            return words
    raise ClusterError(f"{command} gave no result\n{output}")


def read_latency(client, donor, iterations=2000):
    """(p50, p99) of a READ of a page, µs."""
    words = run(client, donor, f"ib_read_lat -n {iterations}", 4096)
    return float(words[4]), float(words[7])


def bandwidth(client, donor, verb, nr_bytes, iterations, depth=128):
    """The bandwidth of "read" or "write" of that size and queue depth, MiB/s."""
    command = f"ib_{verb}_bw -F -n {iterations} -t {depth}"
    # perftest now and then prints 0; retry then.
    for _ in range(3):
        found = float(run(client, donor, command, nr_bytes)[3])
        if found:
            return found
    raise ClusterError(f"{command} says 0 MB/s")
