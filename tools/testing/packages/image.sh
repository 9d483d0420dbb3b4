#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# inside.sh TREE image.sh FILE SIZE ADD INSTALL PACKAGE...: installs packages on the Debian in $root
# by the command INSTALL in a directory with them, adds the files of the directory ADD, and makes the
# disk FILE of it, the root of a virtual machine.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin:/sbin

root=${root:?is set by inside.sh}
file=$1
size=$2
add=$3
install=$4
shift 4
cp "$@" "$root/tmp/"
# The command means the kernel that the machine will run.
mkdir -p "$root/tmp/bin"
for release in "$root"/lib/modules/*; do
	printf '#!/bin/sh\necho %s\n' "${release##*/}" >"$root/tmp/bin/uname"
done
chmod 755 "$root/tmp/bin/uname"
# apt may ask whether to continue.
echo y | chroot "$root" sh -ec "cd /tmp && PATH=/tmp/bin:\$PATH && $install" >&2
cp -r "$add/." "$root/"
cat >"$root/etc/systemd/system/agent.service" <<UNIT
[Unit]
Description=takes commands of the test
[Service]
ExecStart=/usr/local/bin/agent
Environment=PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
KillMode=process
Restart=always
OOMScoreAdjust=-1000
[Install]
WantedBy=multi-user.target
UNIT
chroot "$root" systemctl -q enable agent
chroot "$root" systemctl -q mask getty.target serial-getty@ttyS0.service apt-daily.timer \
	apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer \
	e2scrub_reap.service systemd-update-utmp.service
# A machine that updates DKMS's package would build for minutes, emulated; walk-chroot.sh has that.
rm -rf "$root"/usr/src/linux-headers-* "$root"/lib/modules/*/build "$root"/lib/modules/*/source \
	"$root"/usr/lib/gcc "$root/usr/share/doc" "$root/usr/share/locale" "${root:?}/boot" \
	"$root/usr/sbin/policy-rc.d"
# depmod reads each module at an update; these are of no use there.
rm -rf "$root"/lib/modules/*/kernel/sound "$root"/lib/modules/*/kernel/arch/x86/kvm "$root"/lib/modules/*/kernel/net/wireless \
	"$root"/lib/modules/*/kernel/drivers/[a-hj-uw-z]* "$root"/lib/modules/*/kernel/drivers/iio \
	"$root"/lib/modules/*/kernel/drivers/v[a-hj-z]*
for release in "$root"/lib/modules/*; do
	chroot "$root" depmod "${release##*/}"
done
umount "$root/proc" "$root/tmp" "$root/dev"
rm -f "$file"
mke2fs -q -t ext4 -O ^has_journal -d "$root" "$file" "$size" >&2
