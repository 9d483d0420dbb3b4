#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Shrinks a real guest to almost nothing: FluidMem's table 5.1. A client of the cluster is the
hypervisor: QEMU emulates a guest in it, within the emulation, with Debian's kernel and an initramfs
of busybox that answers echoes over TCP. Prints how much of the guest's memory is in the
hypervisor's after its start, at the balloon's least, and at each size to which farswapctl shrinks
it, with the time that an echo and a ping take there; at the end the guest grows and answers again.

Times are those of emulation within emulation; the sizes are not affected by that. The emulator in
the hypervisor takes 15 MB itself.
"""

import lzma
import os
import shutil
import sys
import tempfile
import time

import harness
from harness import host, image
from harness.machine import CPU, QUICK_BOOT, tsc_khz
import backing as backings
import bench

MB = 96
ADDRESS = "10.1.0.2"
# As much of the cgroup, which has the emulator's own memory too, in each step.
SIZES = ("48M", "24M", "16M")
QEMU_LIBRARIES = "/usr/lib/x86_64-linux-gnu/qemu"
FIRMWARE = ("/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/kvmvapic.bin",
            "/usr/share/qemu/linuxboot_dma.bin", "/usr/share/qemu/pvh.bin")
# In this order; Debian's kernel has the others built in.
MODULES = ("failover", "net_failover", "virtio_net", "virtio_balloon")
INIT = f"""#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in {' '.join(MODULES)}; do insmod /$module.ko; done
ifconfig lo 127.0.0.1 up
ifconfig eth0 {ADDRESS} netmask 255.255.255.0 up
echo "the guest answers" >/dev/console
while :; do nc -ll -p 7 -e /bin/cat; sleep 1; done
"""
RESIDENT = ("awk '/^Size:/ { size = $2 } /^Rss:/ && size > most { most = size; rss = $2 } "
            "END { print rss }' /proc/$(cat /run/guest.pid)/smaps")


def initramfs(path):
    """The guest's."""
    version, _, root = image.kernel()
    index = image.module_index(root, version)
    cpio = image.Cpio()
    cpio.add("/dev/console", 0o20600, rdev=(5, 1))
    cpio.file("/bin/busybox", shutil.which("busybox", path=image.SEARCH))
    cpio.text("/init", INIT, 0o755)
    for name in MODULES:
        with open(f"{root}/lib/modules/{version}/{index[name][0]}", "rb") as file:
            data = file.read()
        cpio.add(f"/{name}.ko", 0o100644,
                 lzma.decompress(data) if index[name][0].endswith(".xz") else data)
    with open(path, "wb") as file:
        cpio.write(file)


def qemu_command():
    append = (f"console=ttyS0 8250.nr_uarts=1 panic=-1 {QUICK_BOOT} no_timer_check "
              f"clocksource=tsc tsc=reliable tsc_early_khz={tsc_khz()}")
    return ("qemu-system-x86_64 -name guest=guest -M pc,smm=off -nodefaults -nographic -no-reboot "
            f"-accel tcg,thread=single,tb-size=32 -cpu {CPU} -m {MB} "
            "-kernel /boot/guest -initrd /boot/guest.cpio "
            f"-append '{append}' -serial file:/run/guest.console "
            "-netdev tap,id=net,ifname=tap0,script=no,downscript=no "
            "-device virtio-net-pci,netdev=net,romfile= "
            "-device virtio-balloon-pci,deflate-on-oom=on "
            "-chardev pipe,id=monitor,path=/run/monitor -mon chardev=monitor,mode=readline")


class Guest:
    """The guest in the hypervisor."""

    def __init__(self, client, patience):
        self.client = client
        self.patience = patience
        client.check("modprobe tun && ip tuntap add tap0 mode tap && "
                     "ip addr add 10.1.0.1/24 dev tap0 && ip link set tap0 up && "
                     "mkfifo /run/monitor.in /run/monitor.out")
        bench.make_cgroup(client)
        self.began = time.monotonic()
        self.job = client.spawn(f"echo $$ >{bench.CGROUP}/cgroup.procs; echo $$ >/run/guest.pid; "
                                f"exec {qemu_command()}")

    def wait(self):
        """Until it has started."""
        try:
            self.client.wait_for("grep -q 'the guest answers' /run/guest.console", self.patience)
        except harness.ClusterError as error:
            console = self.client.run("tail -c 3000 /run/guest.console", 60)[1]
            raise harness.ClusterError(f"the guest did not start in {self.patience} s\n{console}\n"
                                       f"{self.job.output[-500:]}") from error
        return time.monotonic() - self.began

    def resident(self):
        """MB of its memory."""
        return int(self.client.check(RESIDENT)) / 1024

    def current(self):
        """MB of its cgroup, with the emulator."""
        return int(self.client.check(f"cat {bench.CGROUP}/memory.current")) / (1 << 20)

    def timed(self, command):
        """Seconds that it took, or None if it has failed."""
        began = time.monotonic()
        status, _ = self.client.run(f"timeout {self.patience} {command}", self.patience + 60)
        return None if status else time.monotonic() - began

    def echo(self):
        return self.timed(f"sh -c 'until echo hello | nc {ADDRESS} 7 | grep -qx hello; do sleep 1; "
                          "done'")

    def ping(self):
        return self.timed(f"ping -c 1 -W {self.patience} {ADDRESS}")

    def balloon(self, megabytes):
        """Set its target, and wait until its memory changes no more."""
        self.client.check(f"echo balloon {megabytes} >/run/monitor.in")
        last, now = None, self.resident()
        while last is None or abs(last - now) > 0.5:
            time.sleep(10)
            last, now = now, self.resident()

    def row(self, name):
        """Print a line of the table; True if it has answered both."""
        before, whole = self.resident(), self.current()
        ping = self.ping()
        echo = self.echo()
        pages = before * 256
        print(f"{name:24}{pages:9.0f}{before:8.1f}{whole:9.1f}{self.resident():9.1f}"
              + "".join(f"{'none':>9}" if took is None else f"{took:8.2f} s"
                        for took in (ping, echo)), flush=True)
        return ping is not None and echo is not None


def measure(args):
    """True if the guest was alive at the end."""
    backing = backings.FarswapNone(512)
    _, kernel, _ = image.kernel()
    with tempfile.TemporaryDirectory(prefix="farswap-guest-") as directory:
        cpio = os.path.join(directory, "guest.cpio")
        initramfs(cpio)
        with harness.Cluster(
                donors=1, client_mem=args.mem, client_cpus=2, donor_mem=args.donor_mem,
                disks=[(512, 0)], append=f"{backing.append} {args.append}",
                daemon=f"memory={args.donor_mem - 224}M,slab={backings.SLAB_MB}M",
                extra=[("/boot/guest", kernel), ("/boot/guest.cpio", cpio),
                       *(("/usr/share/qemu/" + os.path.basename(path), path)
                         for path in FIRMWARE)],
                extra_programs=[("/usr/bin/qemu-system-x86_64", "/usr/bin/qemu-system-x86_64",
                                 None),
                                *((f"{QEMU_LIBRARIES}/{name}", f"{QEMU_LIBRARIES}/{name}", None)
                                  for name in ("accel-tcg-x86_64.so",))],
                extra_modules=["tun"]) as cluster:
            cluster.up()
            guest = Guest(cluster.client, args.timeout)
            print(f"the guest started in {guest.wait():.0f} s\n\n{'':24}{'pages':>9}{'MB':>8}"
                  f"{'cgroup':>9}{'after':>9}{'ping':>10}{'echo':>10}", flush=True)
            guest.row("after start")
            guest.balloon(8)
            guest.row("balloon's least")
            guest.balloon(MB)
            least = None
            for size in SIZES:
                cluster.client.run(f"farswapctl --psi 100 vm size guest {size}", args.timeout)
                if guest.row(f"cgroup of {size}"):
                    least = size
            cluster.client.run("farswapctl --psi 100 vm min guest", args.timeout)
            guest.row("least")
            cluster.client.check("farswapctl vm grow guest max", args.timeout)
            alive = guest.row("may grow again")
            print(f"\nanswers down to a cgroup of {least}; "
                  f"{'alive' if alive else 'DEAD'} after growing")
            complaints = cluster.complaints()
            if complaints:
                raise harness.ClusterError(f"kernel: {complaints[0]}")
    return alive


def main():
    parser = bench.common_options(__doc__, runs=1, seconds=1, timeout=600)
    parser.set_defaults(mem=768)
    args = parser.parse_args()
    harness.exit_on_signals()
    host.build(host.fetch("--kdir"), bench.HERE, "modules", "daemon")
    host.note_other_work()
    alive = measure(args)
    print(f"{int(alive)} passed, {int(not alive)} failed")
    return 0 if alive else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (harness.ClusterError, image.ImageError) as error:
        sys.exit(f"guest: {error}")
