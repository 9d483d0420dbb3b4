# SPDX-License-Identifier: GPL-2.0
"""
The kinds of swap that the benches compare: farswap and its alternatives. Each is a class whose
start() has swap in use when it returns; donors are the machines it needs beside the client.
"""

import os

from harness import farswap, image

SERVICE = 4420
NQN = "nqn.2026-11.farswap.bench:swap"
HOST = "11111111-2222-3333-4444-555555555555"
NBD_PORT = 10809
# The ratio of its size to the load's is that of real machines.
SLAB_MB = 64


class Backing:
    """A local disk of the client that holds so many megabytes."""

    name = "disk"
    about = "a virtual disk: a file in this machine's page cache"
    donors = 0
    append = ""
    modules = ()
    iops = 0
    # Whether the client has a disk of its own for it.
    on_disk = True
    # Whether swapped pages leave the client.
    network = False
    # Whether pages are swapped to local memory: the load then gets a memory limit of its own,
    # because the machine's memory cannot be scarce.
    inside = False

    def __init__(self, megabytes):
        self.megabytes = megabytes

    def disk(self):
        """MB of the client's disk; 0: it has none."""
        return self.megabytes if self.on_disk else 0

    def more_memory(self, _load):
        """Extra memory of the client for a load of that size, in MB."""
        return 0

    def programs(self):
        """The programs that the machines need, as arguments of image.build()."""
        return []

    def start(self, cluster):
        cluster.swap_on()

    def warm(self, _cluster):
        """The repeatable part of start(): each program finds the same state after it."""

    def remote_percent(self, _cluster):
        """The share of pages read from donors; None where it is not counted."""


def peer(path):
    """(file, library path) of a program that was fetched for the benches alone."""
    root = os.path.join(image.cache_dir(), "peers")
    libraries = ":".join(os.path.join(root, below, "x86_64-linux-gnu")
                         for below in ("usr/lib", "lib"))
    return os.path.join(root, path), libraries


def swap_on(client, device):
    client.check(f"mkswap {device} >/dev/null && swapon {device}")


class ThrottledDisk(Backing):
    """As slow as a real disk at random access."""

    name = "disk, 250 IOPS"
    about = "the same, limited to what a 7,200 rpm disk does at random"
    iops = 250


class Local(Backing):
    """No swap: the client's memory holds the whole load."""

    name = "local"
    about = "memory for all: nothing is swapped"

    def more_memory(self, load):
        return load

    def start(self, cluster):
        pass


class Farswap(Backing):
    """With its backup on the disk."""

    name = "farswap"
    about = "backup=disk, one donor"
    donors = 1
    backup = "disk"
    network = True

    def __init__(self, megabytes):
        super().__init__(megabytes)
        self.before = {}

    @property
    def append(self):
        return f"farswap.hotslab=0 farswap.slab_mb={SLAB_MB} farswap.backup={self.backup}"

    def disk(self):
        # Whole slabs.
        return -(-self.megabytes // SLAB_MB) * SLAB_MB

    def start(self, cluster):
        cluster.up()
        self.warm(cluster)
        self.before = self.counters(cluster)

    def warm(self, cluster):
        # Do not measure the first slab: its first pages go to the disk until it is mapped. Later
        # slabs are mapped in advance.
        group = "/sys/fs/cgroup/warm"
        cluster.client.check(
            f"echo +memory >/sys/fs/cgroup/cgroup.subtree_control && mkdir -p {group} && "
            f"echo 24M >{group}/memory.max && (echo 0 >{group}/cgroup.procs && "
            "exec fault 32 1 1 read) >/dev/null")
        cluster.client.wait_for(
            f"grep -q '^mapped_slabs [1-9]' {farswap.DEBUG}/stats", 20,
            f"grep slab {farswap.DEBUG}/stats")

    @staticmethod
    def counters(cluster):
        return farswap.counters(cluster.client.check(f"cat {farswap.DEBUG}/stats"))

    def remote_percent(self, cluster):
        return farswap.remote_share(farswap.grown(self.counters(cluster), self.before))


class FarswapReplica(Farswap):
    """Each page is on two donors and none on the disk."""

    name = "farswap, replica"
    about = "backup=replica, two donors"
    donors = 2
    backup = "replica"


class FarswapNone(Farswap):
    """The pages of a donor that dies are lost."""

    name = "farswap, no backup"
    about = "backup=none, one donor"
    backup = "none"


class Zram(Backing):
    """zram: pages compressed in local memory; the pages of fault.c do not compress."""

    name = "zram"
    about = "in the client's own memory, of which it gets as much more"
    inside = True
    on_disk = False

    def more_memory(self, load):
        # The extra memory with which zram finds and holds incompressible pages.
        return load * 9 // 8

    def start(self, cluster):
        cluster.client.check("modprobe zram && "
                             f"echo {self.megabytes}M >/sys/block/zram0/disksize")
        swap_on(cluster.client, "/dev/zram0")


class RamDisk(Backing):
    """A RAM disk: the kernel's own cost and one copy, as a reference for counts."""

    name = "RAM disk"
    about = "in the client's own memory; its instructions are counted, no more"


class Zswap(Backing):
    """zswap: a compressed pool in front of the disk."""

    name = "zswap"
    about = "a pool of a fifth of the client's memory, before the disk"

    def start(self, cluster):
        zswap = "/sys/module/zswap/parameters"
        cluster.client.check(f"echo 20 >{zswap}/max_pool_percent && echo 1 >{zswap}/enabled")
        cluster.swap_on()


class Nvme(Backing):
    """A RAM disk on the donor, over NVMe over Fabrics."""

    donors = 1
    network = True
    on_disk = False
    transport = ""
    options = ""

    @property
    def modules(self):
        return [f"nvme-{self.transport}", f"nvmet-{self.transport}"]

    def start(self, cluster):
        donor, client = cluster.donors[0], cluster.client
        port, subsystem = "/cfg/nvmet/ports/1", f"/cfg/nvmet/subsystems/{NQN}"
        donor.check(
            f"mkdir -p /cfg && mount -t configfs none /cfg && modprobe nvmet-{self.transport} && "
            f"modprobe brd rd_nr=1 rd_size={self.megabytes << 10} && "
            f"mkdir {subsystem} && echo 1 >{subsystem}/attr_allow_any_host && "
            f"mkdir {subsystem}/namespaces/1 && "
            f"echo /dev/ram0 >{subsystem}/namespaces/1/device_path && "
            f"echo 1 >{subsystem}/namespaces/1/enable && mkdir {port} && "
            f"echo {self.transport} >{port}/addr_trtype && echo ipv4 >{port}/addr_adrfam && "
            f"echo {donor.address} >{port}/addr_traddr && "
            f"echo {SERVICE} >{port}/addr_trsvcid && ln -s {subsystem} {port}/subsystems/")
        client.check(
            f"modprobe nvme-{self.transport} && "
            f"echo transport={self.transport},traddr={donor.address},trsvcid={SERVICE},nqn={NQN},"
            f"hostnqn=nqn.2014-08.org.nvmexpress:uuid:{HOST},hostid={HOST}{self.options} "
            ">/dev/nvme-fabrics")
        client.wait_for("[ -b /dev/nvme0n1 ]", 20)
        swap_on(client, "/dev/nvme0n1")


class NvmeRdma(Nvme):
    """Over RDMA."""

    name = "NVMe-oF, RDMA"
    about = "a RAM disk on the donor"
    transport = "rdma"


class NvmeTcp(Nvme):
    """Over TCP."""

    name = "NVMe-oF, TCP"
    about = "a RAM disk on the donor"
    transport = "tcp"


class Nbd(Backing):
    """NBD: a file in the donor's memory, served from user space."""

    name = "NBD"
    about = "a file on a tmpfs of the donor"
    donors = 1
    network = True
    on_disk = False

    def programs(self):
        return [(f"/usr/sbin/{os.path.basename(path)}", *peer(path))
                for path in ("bin/nbd-server", "sbin/nbd-client")]

    def start(self, cluster):
        donor, client = cluster.donors[0], cluster.client
        donor.check(
            f"mkdir /nbd && mount -t tmpfs -o size={self.megabytes + 1}m tmpfs /nbd && "
            f"truncate -s {self.megabytes}M /nbd/swap && "
            "printf '[generic]\\n[swap]\\nexportname = /nbd/swap\\n' >/etc/nbd.conf && "
            "nbd-server -C /etc/nbd.conf")
        donor.wait_for(f"grep -q ':{NBD_PORT:04X} 0*:0000 0A ' /proc/net/tcp /proc/net/tcp6", 20)
        client.check(f"modprobe nbd && nbd-client {donor.address} /dev/nbd0 -name swap -swap "
                     ">/dev/null")
        client.wait_for("[ \"$(cat /sys/block/nbd0/size)\" != 0 ]", 20)
        swap_on(client, "/dev/nbd0")


TIMED = (Farswap, FarswapReplica, FarswapNone, NvmeRdma, NvmeTcp, Nbd, Backing, ThrottledDisk,
         Zram, Zswap, Local)
ALL = (*TIMED, RamDisk)
