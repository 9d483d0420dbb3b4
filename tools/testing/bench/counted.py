# SPDX-License-Identifier: GPL-2.0
"""
One machine alone whose virtual time counts instructions, a nanosecond for each: figures that
repeat to a per cent, whatever else this machine does.
"""

import harness
from harness import farswap

CGROUP = "/sys/fs/cgroup/counted"
RAM = "/sys/module/farswap_ram/parameters"


def machine(mem, root=None, append="", programs=(), *, memory=0, disk=0, slab_mb=2):
    """For loads of so many MB, and with a disk of a third more, or of so many MB."""
    return harness.Cluster(
        donors=0, client_mem=memory or mem * 4, disks=[(disk or mem * 4 // 3, 0)], counted=True,
        append=f"farswap.hotslab=0 farswap.slab_mb={slab_mb} farswap.backup=none "
               f"fs.hung=0 {append}",
        client_root=root, extra_programs=programs)


def make_cgroup(client, mem):
    """For a quarter of the load. At memory.max large folios are rarely allocated."""
    client.check(f"echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir {CGROUP}; "
                 f"echo {mem // 4}M >{CGROUP}/memory.high")


def use_farswap(client, mem, donors=1, regions=0):
    """
    All pages of a load go to this machine's own memory, which any number of donors lend; or so
    many regions of each, which take memory only where they are written.
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
    A command to go before a load of fault.c, in the same shell. Whose time the disk takes
    isn't counted: slabs for all of it come first, each time anew, since while nobody has
    anything to do hours pass, and slabs are given back.
    """
    return (f"echo $$ >{CGROUP}/cgroup.procs; "
            f"for i in 1 2 3; do fault {mem} 1 1 read >/dev/null; done;")
