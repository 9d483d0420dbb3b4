#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Redis with a data set of more than twice its machine's memory, first over
farswap and then over the swap device alone: a client and two donors as virtual
machines on this one, with soft RoCE between them. Fills Redis with random
values, reads the keys back, each once, then reads random keys for a time; only this is measured.
Every byte that is read is checked.

The swap device is limited to 250 operations a second, more than a 7,200 rpm
disk does at random: a virtual disk is a file in the host's page cache and
faster than any real one. Both runs have the same limit.
"""

import argparse
import os
import re
import subprocess
import sys
import time

import harness
from harness import farswap, host, image, raw

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))

# Emulated processors have nothing to mitigate, and are slow to zero a page and to set a timer.
GUEST = "mitigations=off init_on_alloc=0 nohz=off"
SOCKET = "/run/redis.sock"
REDIS = ("redis-server --port 0 --unixsocket /run/redis.sock --save '' --appendonly no "
         "--daemonize no --logfile /run/redis.log --maxmemory 0 --dir /run")


class Sample:
    """The client's counters at one moment."""

    def __init__(self, text):
        self.stats = farswap.counters(text)
        self.histogram = farswap.histogram(text, "load_urgent")
        self.donors = {}
        for line in text.splitlines():
            words = line.split()
            if len(words) > 6 and words[0] != "address" and words[1] != "count":
                self.donors[words[0]] = (words[1], words[2])

    def since(self, old, name):
        return self.stats.get(name, 0) - old.stats.get(name, 0)

    def fault_percentile(self, old, percent):
        """A percentile of the page faults between two samples, in µs; None without any."""
        return farswap.percentile(farswap.grown(self.histogram, old.histogram), percent)


class Run:
    """One fill and read, with its table; farswap or not."""

    HEAD = ("  time phase   ops/s  wrong | pages out/s  to donors  to disk"
            " | pages in/s  donors    disk | fault p50   p99 µs | slabs per donor")

    def __init__(self, cluster, remote):
        self.client = cluster.client
        self.remote = remote
        self.results = {}
        self.first = self.settled = self.last = self.sample()
        self.started = time.monotonic()
        self.lines = b""
        self.ticks = []

    def sample(self):
        # One process: it takes the client's processor, and memory, from Redis.
        files = " ".join(f"{farswap.DEBUG}/{name}" for name in ("stats", "donors", "latency"))
        _, text = self.client.run(f"exec cat {files} /proc/vmstat 2>/dev/null", 20)
        return Sample(text)

    def on_output(self, data):
        *lines, self.lines = (self.lines + data).split(b"\n")
        for line in lines:
            words = line.decode().split()
            if words[:1] == ["tick"]:
                self.ticks.append(words[1:])
            elif words[:1] == ["end"]:
                self.results[words[1]] = (float(words[2]), int(words[3]), int(words[4]))
            else:
                print("load:", line.decode())

    def row(self, tick, now, before, span):
        phase, _, ops, wrong = tick
        if self.remote:
            outs = [now.since(before, name) / span for name in ("store_remote", "store_device")]
            ins = [now.since(before, "load_remote") / span,
                   (now.since(before, "load_device") + now.since(before, "load_fallback")) / span]
            p50, p99 = (now.fault_percentile(before, p) for p in (50, 99))
            fault = f"{p50:9.0f} {p99:8.0f}" if p50 and p99 else f"{'-':>9} {'-':>8}"
            slabs = "  ".join(f"{address.split(':')[0]} {count}"
                              for address, (_, count) in sorted(now.donors.items()))
        else:
            outs = [0, now.since(before, "pswpout") / span]
            ins = [0, now.since(before, "pswpin") / span]
            fault, slabs = f"{'-':>9} {'-':>8}", "-"
        print(f"{time.monotonic() - self.started:6.1f} {phase:5} {float(ops):7.0f} {wrong:>6} |"
              f" {sum(outs):11.0f} {outs[0]:10.0f} {outs[1]:8.0f} |"
              f" {sum(ins):10.0f} {ins[0]:7.0f} {ins[1]:7.0f} | {fault}    | {slabs}", flush=True)

    def follow(self, megabytes, warm, seconds, timeout):
        """Run the load to its end, a row for each second."""
        job = self.client.spawn(f"demo-load {SOCKET} {megabytes} {warm} {seconds}",
                                self.on_output)
        deadline = time.monotonic() + timeout
        print(self.HEAD)
        before, then = self.first, self.started
        while not job.ended.wait(0.05):
            if time.monotonic() > deadline:
                job.kill()
                raise harness.ClusterError("the load did not end in time")
            if not self.ticks:
                continue
            tick = self.ticks[-1]
            self.ticks.clear()
            now, moment = self.sample(), time.monotonic()
            self.row(tick, now, before, moment - then)
            if tick[0] != "read":
                self.settled = now
            before, then = now, moment
        self.last = self.sample()
        if job.status not in (0, 1) or "read" not in self.results:
            raise harness.ClusterError(f"the load ended with {job.status}\n{job.output[-500:]}")

    def rate(self):
        seconds, ops, _ = self.results["read"]
        return ops / seconds

    def wrong(self):
        return sum(result[2] for result in self.results.values())

    def checked(self):
        return self.results["warm"][1] + self.results["read"][1]

    def remote_share(self):
        return farswap.remote_share(farswap.grown(self.last.stats, self.settled.stats))


def start_redis(client):
    client.check("echo 0 >/proc/sys/vm/page-cluster; echo 1 >/proc/sys/vm/overcommit_memory; "
                 "echo never >/sys/kernel/mm/transparent_hugepage/enabled")
    job = client.spawn(REDIS)
    try:
        client.wait_for(f"redis-cli -s {SOCKET} ping 2>/dev/null | grep -q PONG", 20,
                        "cat /run/redis.log")
    except harness.ClusterError as error:
        raise harness.ClusterError(f"redis does not answer\n{error}\n{job.output}") from None


def attempt(args, remote):
    """A Run at its end, or None where the emulator broke a guest."""
    with harness.Cluster(
            donor_append=GUEST,
            donors=2 if remote else 0, client_mem=args.mem, donor_mem=args.donor_mem,
            disks=[(args.megabytes * 5 // 2, args.iops)],
            daemon=f"memory={args.donor_mem - 224}M,slab=64M",
            append=GUEST + (" farswap.slab_mb=64" if remote else ""),
            extra_programs=redis_programs()) as cluster:
        try:
            run = measure(cluster, args, remote)
        except harness.ClusterError:
            if cluster.emulator_failed():
                return None
            raise
        return None if cluster.emulator_failed() else run


def measure(cluster, args, remote):
    # From the disk the warm-up would take too long.
    warm = args.warm_seconds if remote else 5
    raw_us = [raw.read_latency(cluster.client, cluster.donors[0])[0]] if remote else []
    if remote:
        cluster.up()
    else:
        cluster.swap_on()
    start_redis(cluster.client)
    run = Run(cluster, remote)
    run.follow(args.megabytes, warm, args.seconds, args.timeout)
    if remote:
        raw_us.append(raw.read_latency(cluster.client, cluster.donors[0])[0])
    run.raw_us = raw_us
    run.memory = int(cluster.client.check(
        "awk '$1 == \"MemTotal:\" { print int($2 / 1024) }' /proc/meminfo"))
    run.data = int(re.search(r"^used_memory:(\d+)", cluster.client.check(
        f"redis-cli -s {SOCKET} info memory", 60), re.MULTILINE)[1]) >> 20
    run.complaints = cluster.complaints()
    run.load = os.getloadavg()[0]
    return run


def redis_programs():
    redis = os.path.join(image.cache_dir(), "redis")
    libraries = os.path.join(redis, "usr/lib/x86_64-linux-gnu")
    return [("/usr/bin/demo-load", os.path.join(HERE, "load"), None)] + [
        (f"/usr/bin/{name}", os.path.join(redis, "usr/bin", name), libraries)
        for name in ("redis-server", "redis-cli")]


def summary(far, disk, args, seconds):
    ratio = far.rate() / disk.rate()
    share = far.remote_share()
    wrong = far.wrong() + disk.wrong()
    complaints = far.complaints + disk.complaints
    print(f"""
                              farswap     swap device alone
memory of the machine      {far.memory:7} MB            {disk.memory:7} MB
data set in Redis          {far.data:7} MB            {disk.data:7} MB
reads a second             {far.rate():10.0f}            {disk.rate():10.0f}
values read and checked    {far.checked():10}            {disk.checked():10}
wrong values               {far.wrong():10}            {disk.wrong():10}

farswap answers {ratio:.1f} times as many reads a second; after the warm-up
{share:.1f} % of its page-ins came from remote memory.
The swap device is limited to {args.iops} operations a second in both runs, as a 7,200 rpm disk
is at best: here it is a file in the host's page cache, faster than any real disk.
A raw RDMA READ of 4 KiB took {" and ".join(f"{us:.0f}" for us in far.raw_us)} µs before and after:
Redis waits for one page at a time, so over this network it can't answer more than
{1e6 / min(far.raw_us):.0f} reads a second.
Everything ran in virtual machines without hardware help, the network with them.
Total time {seconds / 60:.1f} min.""")
    for line in complaints:
        print("kernel:", line)
    failed = [text for text, bad in (
        ("values were wrong", wrong), ("the kernel complained", complaints),
        ("less than 95 % of page-ins came from remote memory", share < 95),
        ("less than 3 times the disk's reads a second", ratio < 3)) if bad]
    for text in failed:
        print(f"FAILED: {text}")
    return 1 if failed else 0


def prepare():
    """Fetch and build; quiet unless it fails."""
    print("fetching the kernel and tools, where they are not there yet ...", flush=True)
    kdir = host.fetch()
    print("building ...", flush=True)
    host.build(kdir, HERE, "modules", "daemon", jobs=os.cpu_count())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mem", type=int, default=160, help="client's memory, MB")
    parser.add_argument("--megabytes", type=int, default=320, help="of values")
    parser.add_argument("--donor-mem", type=int, default=736, help="each donor's memory, MB")
    parser.add_argument("--iops", type=int, default=250, help="of the swap device, 0: no limit")
    parser.add_argument("--seconds", type=int, default=35, help="of random reads, measured")
    parser.add_argument("--warm-seconds", type=int, default=90,
                        help="at most, of reading each key once before that")
    parser.add_argument("--timeout", type=int, default=400, help="of each run, seconds")
    return parser.parse_args()


def main():
    args = arguments()
    harness.exit_on_signals()
    started = time.monotonic()
    try:
        prepare()
        print("\nRedis over farswap, two donors")
        far = harness.once_more(lambda: attempt(args, remote=True))
        print("\nRedis over the swap device alone")
        disk = harness.once_more(lambda: attempt(args, remote=False))
    except (harness.ClusterError, image.ImageError, subprocess.CalledProcessError) as error:
        sys.exit(f"demo: {error}")
    failed = summary(far, disk, args, time.monotonic() - started)
    # Remote memory costs processor time here, the disk none.
    if far.load > 2 * os.cpu_count():
        print(f"note: load {far.load:.0f} on {os.cpu_count()} processors: other work slows"
              " farswap here, but not the disk")
    return failed


if __name__ == "__main__":
    sys.exit(main())
