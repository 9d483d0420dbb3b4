# SPDX-License-Identifier: GPL-2.0
"""
Boots a single machine whose virtual clock advances a nanosecond per instruction, so that its
figures repeat to a per cent however busy the host is.
"""

import harness
from harness import farswap

CGROUP = "/sys/fs/cgroup/counted"
RAM = "/sys/module/farswap_ram/parameters"


def machine(mem, root=None, append="", programs=(), *, memory=0, disk=0, slab_mb=2):
    """Boots it for loads of so many MB, with a disk of a third more or of the given size."""
    return harness.Cluster(
        donors=0, client_mem=memory or mem * 4, disks=[(disk or mem * 4 // 3, 0)], counted=True,
        append=f"farswap.hotslab=0 farswap.slab_mb={slab_mb} farswap.backup=none "
               f"fs.hung=0 {append}",
        client_root=root, extra_programs=programs)


def make_cgroup(client, mem):
    """Creates a cgroup with a memory limit of a quarter of the load. At memory.max large folios are
    rarely allocated."""
    client.check(f"echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir {CGROUP}; "
                 f"echo {mem // 4}M >{CGROUP}/memory.high")


def use_farswap(client, mem, donors=1, regions=0):
    """
    Sets up the RAM transport, with room for all pages of a load or with so many regions of each
    donor; a region takes memory only where it is written.
    """
    make_cgroup(client, mem)
    options = f"sparse=1 regions={regions}" if regions else f"regions={mem * 2 // 3 + 2}"
    addresses = ",".join(f"10.9.9.{number}" for number in range(1, donors + 1))
    client.check("modprobe farswap && "
                 f"modprobe farswap-ram {options} && "
                 f"echo {addresses} >{farswap.SYSFS}/donors")
    client.wait_for(f"[ \"$(grep -c live {farswap.DEBUG}/donors)\" = {donors} ]", 60,
                    f"cat {farswap.DEBUG}/donors")


def warm(mem):
    """
    A shell command that must precede a load of fault.c. The time of the disk is not counted, so map
    all slabs first. Repeat that for each load: virtual time runs fast while the machine is idle,
    and idle slabs are given back.
    """
    return (f"echo $$ >{CGROUP}/cgroup.procs; "
            f"for i in 1 2 3; do fault {mem} 1 1 read >/dev/null; done;")
