#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# inside.sh TREE walk-chroot.sh OLD NEW: installs the packages of the directory OLD on the Debian in
# $root, updates them to those of NEW, and purges them. DKMS builds the modules each time. Prints TAP.
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin:/sbin

root=${root:?is set by inside.sh}
old=$1
new=$2
count=0
log=$root/tmp/log

# check NAME COMMAND...
check() {
	name=$1
	shift
	count=$((count + 1))
	if "$@" >"$log" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		tail -n 30 "$log" | sed 's/^/# /'
	fi
}

in_root() {
	chroot "$root" "$@"
}

install() {
	rm -f "$root"/tmp/*.deb
	cp "$1"/farswap*.deb "$root/tmp/"
	rm -f "$root"/tmp/*dbgsym*
	in_root sh -c 'apt-get -qq -y --no-install-recommends -o Dpkg::Options::=--force-confold \
		install /tmp/*.deb'
}

# version DIRECTORY: of the packages there
version() {
	dpkg-deb -f "$1"/farswapd_*.deb Version
}

# modules_are VERSION
modules_are() {
	for module in farswap farswap-rdma; do
		file=$(in_root sh -c "ls /lib/modules/*/updates/dkms/$module.ko*") || return
		[ "$(in_root modinfo -F version "$file")" = "$1" ] || return
	done
}

modules_are_signed() {
	for module in farswap farswap-rdma; do
		file=$(in_root sh -c "ls /lib/modules/*/updates/dkms/$module.ko*") || return
		in_root modinfo -F signer "$file" | grep . || return
	done
}

is_disabled() {
	for unit in farswap farswapd; do
		[ "$(in_root systemctl is-enabled "$unit")" = disabled ] || return
	done
}

# installed_headers RELEASE: what the package of headers runs at the end of its installation
installed_headers() {
	in_root run-parts --exit-on-error --arg="$1" /etc/kernel/header_postinst.d
}

# skips RELEASE [OPTION]: DKMS does not try to build for it, and such a kernel installs well
skips() {
	mkdir -p "$root/lib/modules/$1/build/include"
	sed "${2:+/^$2=/d}" "$root"/usr/src/linux-headers-*-amd64/.config \
		>"$root/lib/modules/$1/build/.config"
	status=0
	installed_headers "$1" || status=$?
	rm -rf "$root/lib/modules/$1"
	[ $status = 0 ] && grep -q BUILD_EXCLUSIVE "$log" && ! grep -q Building "$log"
}

# Act like the installation of a kernel of this release after farswap.
builds_for_new_kernel() {
	release=$(basename "$(dirname "$(echo "$root"/lib/modules/*/updates)")")
	in_root dkms unbuild -m farswap -v "$(version "$old")" -k "$release"
	! modules_are "$(version "$old")" || return
	installed_headers "$release" && modules_are "$(version "$old")"
}

drop_ins_count() {
	echo "memory = 64M" >"$root/etc/farswapd.conf.d/local.conf"
	in_root farswapd -t || return
	echo "memory = much" >"$root/etc/farswapd.conf.d/local.conf"
	! in_root farswapd -t || return
	# Purge removes it.
	echo "memory = 64M" >"$root/etc/farswapd.conf.d/local.conf"
}

files() {
	# Leave out files that other packages write: the indexes of modules, the state of dpkg and
	# apt, logs, the key of DKMS, and users, which Debian never removes.
	(cd "$root" && find . -xdev \( -path ./tmp -o -path ./proc -o -path ./var/log -o \
		-path ./var/cache -o -path ./var/lib/dpkg -o -path ./var/lib/apt \) -prune -o \
		! -path './lib/modules/*/modules.*' ! -path './usr/lib/modules/*/modules.*' \
		! -path './var/lib/dkms*' ! -path './etc/*-' ! -path './usr/share/mime*' -print) | sort
}

nothing_left() {
	files >"$root/tmp/after"
	diff "$root/tmp/before" "$root/tmp/after" && ! ls -d "$root/var/lib/dkms/farswap"
}

keeps_settings() {
	grep -q 'poll_us = 5' "$root/etc/farswap/farswap.conf" &&
		grep -q '# mine' "$root/etc/farswapd.conf"
}

files >"$root/tmp/before"
check "install, with the modules built" install "$old"
check "modules have the version of the packages" modules_are "$(version "$old")"
check "modules are signed" modules_are_signed
check "nothing is enabled" is_disabled
check "a kernel 6.1 is skipped" skips 6.1.0-99-amd64
check "a kernel 7.1 is skipped" skips 7.1.0-amd64
check "a kernel 6.12 without zswap is skipped" skips 6.12.0-cloud-amd64 CONFIG_ZSWAP
check "the modules are built for a new kernel" builds_for_new_kernel
check "the configuration and its drop-ins are read" drop_ins_count
echo "poll_us = 5" >>"$root/etc/farswap/farswap.conf"
echo "# mine" >>"$root/etc/farswapd.conf"
check "update, with the modules built" install "$new"
check "modules have the version of the new packages" modules_are "$(version "$new")"
check "changed settings are left" keeps_settings
check "removal" in_root apt-get -qq -y remove farswap-dkms farswap-utils farswapd
check "settings are left after removal" keeps_settings
check "purge" in_root apt-get -qq -y purge farswap-dkms farswap-utils farswapd
check "purge leaves nothing" nothing_left
echo "1..$count"
