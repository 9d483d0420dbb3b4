#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Tests the lifecycle of the Debian packages. In a chroot of Debian 12 and one of 13: installation,
update and purge, with DKMS's builds. In virtual machines of either: the commands of the admin
guide's recipe as they are written, mistakes at set-up, an update of client and donor under a
verified load, removal while farswap is attached, and purge. The client runs the kernel of its
Debian, for which DKMS has built. Needs root. The last line is the total.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import harness
from harness import image, ktap

HERE = os.path.dirname(os.path.abspath(__file__))
LOAD = os.path.join(image.TOP, "tools/testing/selftests/farswap/load")
GUIDE = os.path.join(image.TOP, "Documentation/admin-guide/mm/farswap.rst")
SYSFS = "/sys/kernel/farswap"
NEXT = "1.99"
# Sessions end in the background.
UNLOAD = ("for i in 1 2 3 4 5 6 7 8 9; do modprobe -r farswap_rdma farswap && break; sleep 1; "
          "done; "
          f"[ ! -e {SYSFS} ]")
# The load outlasts both updates, and is ended then.
LOAD_SECONDS = 1200
STEPS = ["chroot-bookworm", "chroot-trixie", "machines-bookworm", "machines-trixie"]


# "! command" never ends a shell with -e, but no "command" does if the command succeeds.
SHELL = 'set -e; no() { ! sh -c "$1"; }; '


class Walk:
    """Results, one a line as they come."""

    def __init__(self):
        self.total = ktap.Tally()
        self.began = time.monotonic()

    def result(self, name: str, good: bool, text: str = "") -> bool:
        self.total.add(ktap.Tally(passed=int(good), failed=int(not good)))
        seconds = time.monotonic() - self.began
        print(f"{'ok  ' if good else 'FAIL'} {name} ({seconds:.0f} s)", flush=True)
        if not good:
            print("".join(f"    {line}\n" for line in text.splitlines()[:60]), end="", flush=True)
        return good

    def run(self, name: str, vm, command: str, timeout: float = 120) -> bool:
        """A command in a machine that has to succeed."""
        status, output = vm.run(SHELL + command, timeout)
        return self.result(name, status == 0, f"{command}: status {status}\n{output}")


def tree(suite: str) -> str:
    """The directory of a Debian, which is made if it is not there."""
    return subprocess.run([os.path.join(HERE, "tree.sh"), suite], check=True, text=True,
                          stdout=subprocess.PIPE, timeout=1800).stdout.strip()


def inside(suite: str, *command: str, timeout: int = 1800) -> subprocess.CompletedProcess:
    """Runs a program of this directory on a temporary copy of a Debian."""
    return subprocess.run([os.path.join(HERE, "inside.sh"), tree(suite),
                           os.path.join(HERE, command[0]), *command[1:]],
                          check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=timeout)


def build(directory: str, version: str | None = None) -> None:
    subprocess.run([os.path.join(HERE, "build.sh"), *(["--version", version] if version else []),
                    directory], check=True, stdout=subprocess.DEVNULL, timeout=600)


def packages(directory: str, *names: str) -> list[str]:
    """The package files of a directory with these names."""
    return [os.path.join(directory, file) for file in sorted(os.listdir(directory))
            if file.endswith(".deb") and file.split("_")[0] in names]


def chroot(walk: Walk, suite: str, old: str, new: str) -> None:
    done = inside(suite, "walk-chroot.sh", old, new)
    tally = ktap.tally(done.stdout, done.returncode)
    print(done.stdout, end="", flush=True)
    walk.total.add(tally)


def kernel_of(suite: str, directory: str) -> str | None:
    """The kernel that DKMS builds for, as the harness wants it; None: it has that kernel."""
    if suite == "bookworm":
        return None
    base = tree(suite)
    release = os.listdir(base + "/usr/lib/modules")[0]
    root = os.path.join(directory, "kernel")
    os.makedirs(root + "/boot")
    os.makedirs(root + "/lib")
    os.symlink(base + "/usr/lib/modules", root + "/lib/modules")
    with open(f"{root}/boot/vmlinux-{release}", "wb") as file:
        subprocess.run(["sh", os.path.join(image.cache_dir(),
                                           "kernel/lint/scripts/extract-vmlinux"),
                        f"{base}/boot/vmlinuz-{release}"], check=True, stdout=file, timeout=120)
    with open(root + "/ready", "w", encoding="ascii") as file:
        file.write(release + "\n")
    return root


def disk(suite: str, directory: str, role: str, old: str, new: str) -> str:
    """The root of a machine with the packages of its role, and the next version's in /root."""
    names = ["farswap-utils", "farswap-dkms" if role == "client" else "farswapd"]
    add = os.path.join(directory, role)
    os.makedirs(add + "/root/new")
    os.makedirs(add + "/usr/bin")
    for file in packages(new, *names):
        subprocess.run(["cp", file, add + "/root/new/"], check=True)
    subprocess.run(["cp", LOAD, add + "/usr/bin/load"], check=True)
    path = os.path.join(directory, role + ".disk")
    # DKMS would build for minutes in an emulated machine, so the first line is run before it boots.
    install = recipe()[["donor", "client"].index(role)][0]
    done = inside(suite, "image.sh", path, "1500M", add, install, *packages(old, *names))
    if done.returncode:
        raise harness.ClusterError(f"no disk for a {role}:\n{done.stdout}")
    return path


def leftovers(walk: Walk, vm) -> None:
    walk.run(f"{vm.name}: purge leaves no file", vm,
             "find / -xdev -name '*farswap*' ! -path '/root/*' ! -path '/var/log/*' "
             "! -path '/usr/share/doc/*' >/tmp/left; cat /tmp/left; [ ! -s /tmp/left ]; "
             "no 'systemctl list-unit-files | grep farswap'")


def recipe() -> list[list[str]]:
    """The commands of the admin guide's recipe, for a donor and for a client."""
    with open(GUIDE, encoding="utf-8") as file:
        text = file.read().split("\nRecipe\n======\n")[1].split("\n======")[0]
    blocks = re.findall(r"::\n\n((?:\t.*\n)+)", text)
    return [[line.split(" #")[0].strip() for line in block.splitlines()] for block in blocks]


def walk_recipe(walk: Walk, client, donor) -> None:
    """Runs the recipe as it is written, in its order."""
    on_donor, on_client = recipe()
    # These only show something, or undo it.
    shown = re.compile(r"farswapctl (status|check|stats)|swapon --show|dmesg|systemctl stop")
    commands = [line for line in on_donor + on_client if not shown.match(line)]
    walk.result(f"{len(commands)} commands on both machines, of at most 6", len(commands) <= 6,
                "\n".join(commands))
    client.check("mkswap /dev/vda; swapon /dev/vda")
    for line in on_donor[1:]:
        if line.startswith("farswapctl invite"):
            # It waits for the client, in a terminal of its own.
            donor.check(f"systemd-run -q --unit=invite -p StandardOutput=file:/run/invite {line}")
            donor.wait_for("grep -q ^farswap: /run/invite", 60, "journalctl -u invite")
        else:
            walk.run(f"recipe, donor: {line}", donor, line)
    code = donor.check("grep -o '^farswap:.*' /run/invite").strip()
    for line in on_client[1:]:
        command = line
        if line == "farswapctl join":
            command = f"echo '{code}' | {line}"
        elif "--watch" in line:
            command = f"timeout 4 {line} | tee /tmp/watch; [ -s /tmp/watch ]"
        elif line == "farswapctl check":
            client.wait_for("grep ' live ' /sys/kernel/debug/farswap/donors", 60,
                            "farswapctl donors; dmesg | tail")
        elif line == "systemctl stop farswap":
            walk.run("recipe, client: pages go to the donor", client,
                     "for i in 1 2 3 4 5 6; do farswapctl bench 16; grep '^store_remote [1-9]' "
                     "/sys/kernel/debug/farswap/stats && exit; done; exit 1", 300)
        walk.run(f"recipe, client: {line}", client, command, 300)
    walk.run("recipe, client: what dmesg has says that it is attached", client,
             "dmesg | grep 'farswap: attached'; grep -x 0 " + SYSFS + "/attached")
    # The next steps start on a machine without settings.
    client.check(f"systemctl disable farswap; {UNLOAD}; swapoff /dev/vda; "
                 "rm -f /etc/farswap/key /etc/farswap/farswap.conf.d/*.conf", 120)
    donor.check("systemctl disable --now farswapd; rm -f /etc/farswap/key "
                "/etc/farswapd.conf.d/*.conf", 120)


def mistakes(walk: Walk, client) -> None:
    """Mistakes that keep the module from loading: check and the journal name them alike."""
    client.check("cp -r /lib/modules/$(uname -r)/updates /root/updates; "
                 "cp $(command -v farswapctl) $(systemctl show -P ExecStart farswap | "
                 "sed 's/.*path=\\([^ ]*\\).*/\\1/') /root/")
    both = ("no 'systemctl start farswap'; journalctl -n 20 -u farswap >/tmp/journal; "
            "no 'farswapctl check >/tmp/check'; cat /tmp/journal /tmp/check; ")
    away = "rm -rf /lib/modules/$(uname -r)/updates; depmod; "
    back = "cp -r /root/updates /lib/modules/$(uname -r)/; depmod; "
    walk.run("client: no swap device is named, with what to type", client,
             "systemctl start farswap; journalctl -u farswap >/tmp/journal; "
             "grep 'no swap device.*swapon /swapfile' /tmp/journal; "
             "no 'farswapctl check >/tmp/check'; "
             "grep 'no swap device.*; type: fallocate' /tmp/check; "
             f"systemctl stop farswap; {UNLOAD}")
    walk.run("client: a kernel without the module is named, with what to type", client,
             away + both +
             "grep 'no kernel module farswap.*: apt install linux-headers' /tmp/journal; "
             "grep 'module farswap is not installed.*; type: apt install farswap-dkms' /tmp/check")
    # The module is gone, as on that kernel, and this file is what both programs read.
    walk.run("client: a wrong kernel is named, with what to type", client,
             # The unit has a /proc of its own, in which the file would be the kernel's.
             "export program; program=$(systemctl show -P ExecStart farswap | "
             "sed 's/.*path=\\([^ ]*\\).*/\\1/'); echo 6.1.0-99-amd64 >/tmp/release; "
             "mount --bind /tmp/release /proc/sys/kernel/osrelease; "
             + both.replace("systemctl start farswap",
                            "systemd-run -q --wait --unit=other $program start")
             .replace("-u farswap", "-u other") + "umount /proc/sys/kernel/osrelease; " + back +
             "grep 'for Linux 6.1.0-99-amd64.*: apt install linux-image-6.12-amd64' /tmp/journal; "
             "grep 'Linux 6.1.0-99-amd64 is running.*; type: apt install linux-image' /tmp/check")


def start(walk: Walk, client, donor) -> None:
    """Settings, and what a machine says of wrong ones."""
    walk.run("donor: nothing runs before it is enabled", donor,
             "no 'systemctl is-active farswapd'; no 'systemctl is-enabled farswapd'")
    drop_in = "/run/systemd/system/farswapd.service.d"
    walk.run("donor: a limit on locked memory is named, with what to type", donor,
             "printf 'memory = 256M\\nslab = 8M\\nauth = none\\n' "
             ">/etc/farswapd.conf.d/local.conf; "
             f"mkdir -p {drop_in}; printf '[Service]\\nLimitMEMLOCK=64K\\nAmbientCapabilities=\\n"
             f"Restart=no\\n' >{drop_in}/limit.conf; systemctl daemon-reload; "
             "no 'systemctl start farswapd'; no 'farswapctl check >/tmp/check'; cat /tmp/check; "
             "grep 'RLIMIT_MEMLOCK is 64K.*; type: systemctl revert farswapd' /tmp/check; "
             "journalctl -u farswapd | grep 'RLIMIT_MEMLOCK is 64K.*LimitMEMLOCK=infinity'; "
             "systemctl revert farswapd; sed -i /auth/d /etc/farswapd.conf.d/local.conf; "
             "rm -f /etc/farswap/key")
    # As an earlier release, which did start.
    walk.run("donor: enable", donor,
             f"mkdir -p {drop_in}; printf '[Service]\\nExecStartPre=\\nExecStart=\\n"
             f"ExecStart=/usr/sbin/farswapd -o auth=none\\n' >{drop_in}/auth.conf; "
             "systemctl daemon-reload; systemctl enable --now farswapd; farswapctl status")
    walk.run("donor: farswapd is not root, and keeps one capability", donor,
             "pid=$(systemctl show -P MainPID farswapd); [ $(stat -c %U /proc/$pid) = farswapd ]; "
             "grep -q 'CapEff:.*0000000000004000$' /proc/$pid/status; "
             "no 'journalctl -u farswapd | grep -i cannot'")
    # The next steps look for a later detach in the log.
    client.check("dmesg -C")
    walk.run("client: nothing is attached before it is enabled", client,
             f"no 'systemctl is-enabled farswap'; [ ! -e {SYSFS} ]")
    walk.run("client: enable", client,
             f"mkswap /dev/vda; swapon /dev/vda; printf 'donors = {donor.address}\\nslab_mb = 8\\n"
             "hotslab = 0\\n' >/etc/farswap/farswap.conf.d/local.conf; "
             "systemctl enable --now farswap")
    client.wait_for("grep -q live /sys/kernel/debug/farswap/donors", 60,
                    "cat /sys/kernel/debug/farswap/donors; dmesg | tail; journalctl -u farswap")
    timer = "/etc/systemd/system/farswap-donors.timer.d"
    walk.run("client: a drop-in sets how often names are looked up", client,
             f"mkdir -p {timer}; printf '[Timer]\\nOnUnitInactiveSec=\\nOnActiveSec=0\\n"
             f"OnUnitInactiveSec=5min\\n' >{timer}/period.conf; systemctl daemon-reload; "
             "systemctl show -p TimersMonotonic farswap-donors.timer >/tmp/timer; cat /tmp/timer; "
             "grep 'OnUnitInactiveUSec=5min ' /tmp/timer; no 'grep =30s /tmp/timer'; "
             f"rm -r {timer}; systemctl daemon-reload")
    walk.run("client: settings are applied", client,
             f"grep -x 8 {SYSFS}/slab_mb; grep -x 0 {SYSFS}/hotslab; grep -x 1 {SYSFS}/attached")
    walk.run("client: reload applies a change", client,
             "echo 'poll_us = 7' >/etc/farswap/farswap.conf.d/more.conf; "
             f"systemctl reload farswap; grep -x 7 {SYSFS}/poll_us")
    walk.run("client: a wrong value is named, with its place", client,
             "echo 'poll_us = 7000' >/etc/farswap/farswap.conf.d/more.conf; "
             "no 'systemctl reload farswap'; rm /etc/farswap/farswap.conf.d/more.conf; "
             "journalctl -u farswap | grep \"more.conf:1: poll_us: invalid value '7000'\"")


def update(walk: Walk, client, donor) -> None:
    """Updates client and donor under load."""
    client.check("mkdir -p /run/load; systemd-run -q --unit=load -p MemoryMax=24M "
                 "-p StandardOutput=append:/run/load/out -p StandardError=append:/run/load/out "
                 f"load -m 48 -p 2 -d {LOAD_SECONDS} -w 50 -S 100 -i 5")
    stores = "awk '$1 == \"store_remote\" { print $2 }' /sys/kernel/debug/farswap/stats"
    client.wait_for(f"[ \"$({stores})\" -gt 1000 ]", 120,
                    "cat /sys/kernel/debug/farswap/stats /run/load/out")
    began = client.check("systemctl show -P ActiveEnterTimestampMonotonic farswap").strip()
    walk.run("client: update under load", client, "dpkg -i /root/new/*.deb", 400)
    walk.run("client: neither detached nor restarted", client,
             f"grep -x 1 {SYSFS}/attached; [ \"$(systemctl show -P ActiveEnterTimestampMonotonic "
             f"farswap)\" = {began} ]; no \"dmesg | grep 'farswap: detach'\"; "
             f"[ \"$(dpkg-query -W -f '${{Version}}' farswap-utils)\" = {NEXT} ]")
    walk.run("donor: update under load", donor, "dpkg -i /root/new/*.deb", 400)
    walk.run("donor: the update keeps one that lends without keys", donor,
             "grep -x 'auth = none' /etc/farswapd.conf.d/00-update.conf; "
             "rm -r /run/systemd/system/farswapd.service.d; systemctl daemon-reload; "
             "systemctl restart farswapd")
    walk.run("donor: the new daemon runs, with its settings", donor,
             f"farswapd -V | grep -q '^farswapd {NEXT},'; systemctl is-active farswapd; "
             "pid=$(systemctl show -P MainPID farswapd); "
             "[ \"$(readlink /proc/$pid/exe)\" = /usr/sbin/farswapd ]; farswapctl status")
    client.wait_for("grep -q live /sys/kernel/debug/farswap/donors", 60,
                    "cat /sys/kernel/debug/farswap/donors; dmesg | tail -n 20")
    now = client.check(stores).strip()
    client.wait_for(f"[ \"$({stores})\" -gt {int(now) + 500} ]", 120,
                    "cat /sys/kernel/debug/farswap/donors")
    walk.run("the load lost nothing, no page was wrong, and the donor is used again", client,
             "systemctl kill -s TERM load; i=0; while systemctl is-active load; do sleep 1; "
             "[ $((i += 1)) -lt 200 ]; done; cat /run/load/out; "
             "grep -E '^load: .*wrong_pages=0 wrong_bytes=0 lost_pages=0' /run/load/out", 300)


def purge(walk: Walk, client, donor) -> None:
    walk.run("client: removal does not detach, and says so", client,
             "dpkg -r farswap-utils farswap-dkms >/tmp/removed; grep 'stays so' /tmp/removed; "
             f"grep -x 1 {SYSFS}/attached", 300)
    walk.run("client: detach and unload by hand", client,
             f"echo 0 >{SYSFS}/attached; modprobe -r farswap_rdma || rmmod farswap_rdma; "
             "rmmod farswap; swapoff /dev/vda", 300)
    locked_down(walk, client)
    walk.run("client: purge", client, "dpkg -P farswap-utils farswap-dkms", 300)
    leftovers(walk, client)
    walk.run("donor: purge ends the daemon", donor,
             "dpkg -P farswap-utils farswapd; no 'readlink /proc/[0-9]*/exe | grep farswapd'; "
             "[ ! -e /run/farswapd ]", 300)
    leftovers(walk, donor)


def locked_down(walk: Walk, client) -> None:
    """Enforcing signatures can't be undone, so this comes last, with saved programs."""
    client.check("mkdir -p /lib/modules/$(uname -r)/updates; "
                 "cp -r /root/updates/. /lib/modules/$(uname -r)/updates/; depmod; "
                 "echo 1 >/sys/module/module/parameters/sig_enforce")
    walk.run("client: a kernel that is locked down is named, with what to type", client,
             "no 'systemd-run -q --wait --unit=locked /root/farswap-client start'; "
             "journalctl -u locked >/tmp/journal; no '/root/farswapctl check >/tmp/check'; "
             "cat /tmp/journal /tmp/check; "
             "grep 'locked down.*: mokutil --import' /tmp/journal; "
             "grep 'locked down.*; type: mokutil --import' /tmp/check; "
             "rm -r /lib/modules/$(uname -r)/updates; depmod")


def machines(walk: Walk, suite: str, old: str, new: str) -> None:
    with tempfile.TemporaryDirectory(prefix="farswap-packages-") as directory:
        disks = {role: disk(suite, directory, role, old, new) for role in ("client", "donor")}
        words = "net.ifnames=0 systemd.show_status=0 fs.hung=120"
        with harness.Cluster(donors=1, client_mem=512, donor_mem=1280, params=False, start=False,
                             modules=[], client_root=kernel_of(suite, directory),
                             append=f"fs.root=vdb {words} ",
                             donor_append=f"fs.root=vda {words} ") as cluster:
            client, donor = cluster.client, cluster.donors[0]
            client.disks.append((disks["client"], 0))
            donor.disks.append((disks["donor"], 0))
            try:
                cluster.start()
                walk.result(f"both machines of {suite} boot with its systemd", True)
                _, release = client.run("uname -r")
                print(f"     the client runs Linux {release.strip()}", flush=True)
                walk_recipe(walk, client, donor)
                mistakes(walk, client)
                start(walk, client, donor)
                update(walk, client, donor)
                purge(walk, client, donor)
            except harness.ClusterError as error:
                _, journal = donor.run("journalctl -n 15 -u farswapd")
                walk.result("machines", False, f"{error}\n{journal}\n{client.log_tail(10)}\n"
                                               f"{donor.log_tail(10)}")
            complaints = cluster.complaints()
            walk.result("the kernels complain of nothing", not complaints, "\n".join(complaints))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    wanted = parser.parse_args().steps or STEPS
    unknown = [step for step in wanted if step not in STEPS]
    if unknown:
        parser.error(f"no step {unknown[0]!r}; there are {', '.join(STEPS)}")
    harness.exit_on_signals()
    walk = Walk()
    with tempfile.TemporaryDirectory(prefix="farswap-packages-") as directory:
        old, new = os.path.join(directory, "old"), os.path.join(directory, "new")
        build(old)
        build(new, NEXT)
        walk.result("packages are built", True)
        for step in wanted:
            kind, _, suite = step.partition("-")
            (machines if kind == "machines" else chroot)(walk, suite, old, new)
    print(walk.total, flush=True)
    return 1 if walk.total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
