# SPDX-License-Identifier: GPL-2.0
"""
The actions of the events on a cluster, each with its undo. Each action returns a few
words on how it went, and raises ClusterError where something did not do what it
must: come back, end in time, take a value.
"""

import collections
import contextlib
import threading
import time

import harness
from harness import farswap, farswapd
import schedule

ZSWAP = "/sys/module/zswap/parameters"
ADAPTER = "/sys/module/farswap_adapter/parameters"
SWAP_DISK = "/dev/vdb"
# Seconds after which a command on a machine is taken for hung.
PATIENCE = 240

# Remove soft RoCE's link first, as a real adapter's RDMA device is. Otherwise virtio_net frees its
# sent packets only after the interface is gone, the interface waits for soft RoCE, and soft RoCE
# waits for those packets until it gives up after 50 s with a warning.
UNBIND = ("rdma link del r0; nic=$(basename $(readlink /sys/class/net/eth0/device)) && "
          "cd /sys/bus/virtio/drivers/virtio_net && echo $nic >unbind && echo $nic >/run/nic")
BIND = ("cd /sys/bus/virtio/drivers/virtio_net && cat /run/nic >bind && "
        "i=0; until [ -e /sys/class/net/eth0 ] || [ $((i += 1)) -gt 50 ]; do sleep 0.1; done; "
        "net-up")

# Grow until farswapd must give memory back, but stop before the OOM killer runs.
GROW = """mkdir -p /run/grown && mount -t tmpfs -o size=95% none /run/grown && i=0
available() { awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo; }
while [ $i -lt 40 ] && [ $(available) -gt 60 ]; do
    dd if=/dev/zero of=/run/grown/$i bs=1M count=8 2>/dev/null; i=$((i + 1)); sleep 0.1
done; echo $((i * 8)) MB"""


class InUse:
    """Excludes a power loss of a machine and other actions on it from each other."""

    def __init__(self):
        self.free = threading.Condition()
        self.users = 0

    @contextlib.contextmanager
    def by(self, alone):
        with self.free:
            self.free.wait_for(lambda: self.users == 0 if alone else self.users >= 0)
            self.users += -1 if alone else 1
        try:
            yield
        finally:
            with self.free:
                self.users -= -1 if alone else 1
                self.free.notify_all()


class Actions:
    """The actions on one cluster."""

    # pylint: disable=too-many-arguments,too-many-positional-arguments
    def __init__(self, cluster, may_lose, part, losses, power, grace_ms):
        self.cluster = cluster
        self.part = part        # of limits, as the loads have it
        self.may_lose = may_lose
        self.losses = losses
        self.power = power      # called with a client and whether it is on
        self.grace_ms = grace_ms    # None: a living donor may be given up, too
        self.stopping = threading.Event()
        self.in_use = {name: InUse() for name in cluster.machines}
        self.faults = collections.Counter()     # of adapters

    def probe(self):
        """The kinds of events that this tree cannot have, with the reasons."""
        client, donor = self.cluster.client, self.cluster.donors[0]
        left_out = {}
        if client.run(f"test -w {farswap.SYSFS}/backup")[0]:
            left_out["backup"] = f"no {farswap.SYSFS}/backup in this kernel module"
        if donor.run("farswapctl -h 2>&1 | grep -qw drain")[0]:
            left_out["drain"] = "this farswapctl has no drain"
        if client.run(f"test -w {ZSWAP}/enabled")[0]:
            left_out["zswap"] = "no zswap in this kernel"
        if client.run(f"test -w {ADAPTER}/lose_every")[0]:
            left_out["adapter"] = "no farswap-adapter for this kernel"
        return left_out

    def machine(self, lane):
        return self.cluster.machines[schedule.machine_of(lane)]

    def perform(self, event):
        action = getattr(self, f"do_{event.kind}")
        vm = self.machine(event.lane)
        with self.in_use[vm.name].by(event.kind in schedule.WHOLE):
            outcome = action(vm, event)
            return outcome + (self.mend(vm) if event.lane == vm.name else "")

    @staticmethod
    def mend(vm):
        """
        Soft RoCE puts the connection manager's own queue pair (GSI) into its error state when the
        interface refuses one packet. The RDMA core would only mend SQE, so this device can never
        connect again, for any program. Only a new device helps.
        """
        if vm.run("rdma resource show qp | grep -q 'type GSI.*state ERR'", PATIENCE)[0]:
            return ""
        vm.check("rdma link del r0; net-up", PATIENCE)
        return "; soft RoCE's GSI queue pair was in its error state: link made anew"

    def hold(self, event):
        self.stopping.wait(event.hold)

    def for_a_while(self, vm, event, begin, end):
        """Run a command, later the one that undoes it; returns the output of the first."""
        output = vm.check(begin, PATIENCE).strip()
        self.hold(event)
        vm.check(end, PATIENCE)
        return output

    def away(self, vm, event, begin, end):
        """
        Take the network away for less than the grace period. Use one command, because a slow guest
        is slow to start another.
        """
        output = vm.check(f"read a _ </proc/uptime; {{ {begin}; }} && sleep {event.hold} && "
                          f"{{ {end}; }}; status=$?; read b _ </proc/uptime; "
                          "echo; echo away $a $b; exit $status", PATIENCE + event.hold)
        begun, ended = map(float, output.split()[-2:])
        if self.grace_ms and (ended - begun) * 1000 > self.grace_ms:
            raise harness.ClusterError(
                f"{vm.name} had no network for {ended - begun:.0f} s instead of {event.hold} s: "
                f"this machine is too slow for a grace of {self.grace_ms / 1000:g} s")

    @staticmethod
    def start_daemon(vm):
        began = time.monotonic()
        farswapd.start(vm, PATIENCE)
        return f"started again in {time.monotonic() - began:.1f} s"

    def do_kill(self, vm, event):
        with self.losses.dying(vm):
            farswapd.kill(vm, PATIENCE)
        self.hold(event)
        return self.start_daemon(vm)

    def do_restart(self, vm, _event):
        with self.losses.dying(vm):
            began = time.monotonic()
            farswapd.stop(vm, PATIENCE)
            took = time.monotonic() - began
        return f"ended in {took:.1f} s, {self.start_daemon(vm)}"

    def do_poweroff(self, vm, event):
        with self.losses.dying(vm) if vm in self.cluster.donors else contextlib.nullcontext():
            if vm in self.cluster.clients:
                self.power(vm, False)
            vm.kill()
        self.hold(event)
        began = time.monotonic()
        vm.start()
        vm.check("! cat /run/donor-start.failed 2>/dev/null", PATIENCE)
        if vm in self.cluster.clients:
            self.power(vm, True)
        return f"booted in {time.monotonic() - began:.1f} s"

    def do_pause(self, vm, event):
        vm.qmp("stop")
        self.hold(event)
        vm.qmp("cont")
        return "goes on"

    def do_evict(self, vm, event):
        with self.losses.taking(vm):
            return vm.check(f"farswapctl evict {event.detail}", PATIENCE).strip() or "done"

    def do_grow(self, vm, event):
        with self.losses.taking(vm):
            grown = self.for_a_while(vm, event, GROW, "umount /run/grown")
        return f"took {grown}, gave them back"

    def do_drain(self, vm, event):
        with self.losses.taking(vm):
            text = self.for_a_while(vm, event, "farswapctl drain", "farswapctl undrain")
        return f"{text}; lends again"

    def do_cut(self, vm, event):
        if event.detail == "unplugged":
            vm.qmp("set_link", name="nic0", up=False)
            self.hold(event)
            vm.qmp("set_link", name="nic0", up=True)
        else:
            self.with_bad_cable(vm, event, "lose", 100)
        return "connected again"

    def with_bad_cable(self, vm, event, what, value):
        self.cluster.cable(vm, what, value)
        self.hold(event)
        self.cluster.cable(vm, what, 0)
        return "no more"

    def do_lose(self, vm, event):
        return self.with_bad_cable(vm, event, "lose", int(event.detail))

    def do_delay(self, vm, event):
        return self.with_bad_cable(vm, event, "delay", int(event.detail))

    def do_port(self, vm, event):
        self.away(vm, event, "ip link set eth0 down", "ip link set eth0 up")
        return "up again"

    def do_link(self, vm, event):
        self.away(vm, event, "rdma link del r0", "net-up")
        return "made anew"

    def do_reset(self, vm, event):
        self.away(vm, event, UNBIND, BIND)
        return "bound again"

    def do_mtu(self, vm, event):
        self.for_a_while(vm, event, f"ip link set eth0 mtu {event.detail}",
                         "ip link set eth0 mtu 9000")
        return "as before"

    def do_address(self, vm, event):
        self.away(vm, event, f"ip addr del {vm.address}/24 dev eth0", "net-up")
        return "added again"

    @staticmethod
    def adapter_counts(vm):
        """The number of faults of its adapter so far, by kind."""
        names = "lost held refused slowed events"
        text = vm.check(f"cd {ADAPTER} && grep -H . {names}", PATIENCE)
        return {name: int(count) for name, _, count in
                (line.partition(":") for line in text.split())}

    def do_adapter(self, vm, event):
        """This may lose no page, so self.losses is not notified."""
        words = [word.split("=") for word in schedule.FAULTS[event.detail].split()]
        before = self.adapter_counts(vm)
        self.for_a_while(vm, event,
                         " && ".join([f"cd {ADAPTER}", *(f"echo {value} >{name}"
                                                         for name, value in words)]),
                         " && ".join([f"cd {ADAPTER}", *(f"echo 0 >{name}" for name, _ in words
                                                         if name != "event")]))
        grown = farswap.grown(self.adapter_counts(vm), before)
        self.faults.update(grown)
        return "well again; " + (", ".join(f"{count} {name}" for name, count in grown.items()
                                           if count) or "nothing was asked of it")

    def do_backup(self, vm, event):
        status, text = vm.run(f"echo {event.detail} >{farswap.SYSFS}/backup", PATIENCE)
        if status in (124, 125):
            raise harness.ClusterError(f"backup: {text}")
        return f"refused: {text.strip()}" if status else "set"

    def do_compress(self, vm, event):
        status, text = vm.run(f"echo {event.detail} >{farswap.SYSFS}/compress", PATIENCE)
        if status in (124, 125):
            raise harness.ClusterError(f"compress: {text}")
        return f"refused: {text.strip()}" if status else "set"

    def do_attach(self, vm, event):
        began = time.monotonic()
        mark = f"chaos: event {event.number}"
        status, text = vm.run(f"echo '{mark}' >/dev/kmsg; echo 0 >{farswap.SYSFS}/attached || "
                              f"{{ dmesg | sed '1,/{mark}$/d' | grep 'still attached'; false; }}",
                              PATIENCE)
        # Without farswap nobody would know that they are.
        if status and self.may_lose and "were lost with their donor" in text:
            return "refused: pages are lost"
        if status:
            raise harness.ClusterError(f"detach: {text}")
        took = time.monotonic() - began
        self.losses.detached(vm)
        self.hold(event)
        vm.check(f"echo 1 >{farswap.SYSFS}/attached", PATIENCE)
        return f"detached in {took:.1f} s, attached again"

    def do_swap(self, vm, event):
        began = time.monotonic()
        status, text = vm.run(f"swapoff {SWAP_DISK}", PATIENCE)
        if status and "allocate memory" in text:
            return "not enough memory for it"
        if status:
            raise harness.ClusterError(f"swapoff: {text}")
        took = time.monotonic() - began
        self.hold(event)
        vm.check(f"swapon_at 5 {SWAP_DISK}", PATIENCE)
        return f"off in {took:.1f} s, on again"

    def do_disable(self, vm, event):
        self.for_a_while(vm, event, f"echo 0 >{farswap.SYSFS}/enabled",
                         f"echo 1 >{farswap.SYSFS}/enabled")
        return "stores again"

    def limit_disks(self, vm, iops):
        for disk in ("vda", "vdb"):
            self.cluster.request(["iops", disk, iops], vm)

    def do_slowdisk(self, vm, event):
        self.limit_disks(vm, event.detail)
        self.hold(event)
        self.limit_disks(vm, "0")
        return "no limit any more"

    def do_zswap(self, vm, event):
        self.for_a_while(vm, event, f"echo 3 >{ZSWAP}/max_pool_percent; echo Y >{ZSWAP}/enabled",
                         f"echo N >{ZSWAP}/enabled")
        return "off again"

    def do_limit(self, vm, event):
        group = f"/sys/fs/cgroup/{event.lane.partition('/')[2]}"
        # Memory that it can't reclaim at once is not an error.
        kilobytes = round(int(event.detail) * self.part * 1024)
        vm.check(f"echo {kilobytes}K >{group}/memory.high; "
                 f"echo 4M >{group}/memory.reclaim; true", PATIENCE)
        return "set"
