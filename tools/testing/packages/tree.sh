#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Makes a Debian of the packages that a machine with farswap has before farswap is installed: a
# directory in the cache, whose path is the only line on stdout. Needs root.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin:/sbin

fetch=$(dirname "$0")/../qemu/fetch.sh
suite=${1:-}
cache=$("$fetch" --cache)
# The guests of the harness run the kernel of Debian 12; headers of Debian 13 come with its kernel.
case $suite in
bookworm)
	[ -e "$cache/kernel/ready" ] || { echo "tree.sh: run $fetch first" >&2; exit 1; }
	kernel=$(cat "$cache/kernel/ready")
	kernel="linux-image-$kernel linux-headers-$kernel" ;;
trixie) kernel=linux-headers-amd64 ;;
*) echo "usage: tree.sh bookworm|trixie" >&2; exit 2 ;;
esac
packages="systemd systemd-sysv udev dbus kmod iproute2 dkms rdma-core ibverbs-providers
	libibverbs1 librdmacm1 libsodium23"

tree=$cache/debian-$suite
stamp="$kernel $packages"
if [ -e "$tree.ready" ] && [ "$(cat "$tree.ready")" = "$stamp" ]; then
	echo "$tree"
	exit
fi
[ "$(id -u)" = 0 ] || { echo "tree.sh: needs root, for debootstrap" >&2; exit 1; }
# Where this machine gets Debian from.
mirror() {
	# shellcheck disable=SC2016 # apt's, not the shell's
	apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
		sed -n "s/^$1|//p" | head -n 1
}
debian=$(mirror Debian)
security=$(mirror Debian-Security)
if [ -z "$debian" ] || [ -z "$security" ]; then
	echo "tree.sh: no Debian mirror with its security updates among the apt sources" >&2
	exit 1
fi

rm -rf "$tree" "$tree.ready" "$tree.new"
echo "tree.sh: installing $suite in $tree" >&2
debootstrap --variant=minbase "$suite" "$tree.new" "$debian" >"$tree.log" 2>&1 || {
	tail -n 20 "$tree.log" >&2
	exit 1
}
rm -f "$tree.new/etc/apt/sources.list"
cat >"$tree.new/etc/apt/sources.list" <<SOURCES
deb $debian $suite main
deb $debian $suite-updates main
deb $security $suite-security main
SOURCES
cp /etc/resolv.conf "$tree.new/etc/resolv.conf"
# The mounts end with the namespace.
# shellcheck disable=SC2016 # for the inner shell
unshare -m sh -eu -c '
	mount -t proc proc "$0/proc"
	mount -t tmpfs tmpfs "$0/tmp"
	printf "#!/bin/sh\nexit 101\n" >"$0/usr/sbin/policy-rc.d"
	chmod 755 "$0/usr/sbin/policy-rc.d"
	chroot "$0" apt-get -qq update
	# shellcheck disable=SC2086 # several
	chroot "$0" apt-get -qq -y --no-install-recommends install $1
	chroot "$0" apt-get clean
	rm "$0/usr/sbin/policy-rc.d"
' "$tree.new" "$packages $kernel" >>"$tree.log" 2>&1 </dev/null || {
	tail -n 20 "$tree.log" >&2
	exit 1
}
rm -rf "$tree.new/var/lib/apt/lists" "$tree.new"/boot/initrd* "$tree.new/etc/resolv.conf"
mv "$tree.new" "$tree"
echo "$stamp" >"$tree.ready"
echo "$tree"
