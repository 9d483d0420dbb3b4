#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Fetch what building and testing farswap needs: host tools, and Debian's stock
# 6.12 kernel with its headers.
#
# The kernel goes into a cache outside the checkout and is never installed:
# installing the headers would pull in the image and touch the host's boot.
# The cache can be deleted at any time. Everything in it is put there whole, by
# rename, so an interrupted fetch leaves nothing half done.
#
# Prints the kernel build directory (KDIR) as its only line on stdout.

set -eu
PATH=$PATH:/usr/sbin:/sbin

usage() {
	cat <<-USAGE
	usage: fetch.sh [--kdir|--source [VERSION]|--bench|--cache|--packages] [--refresh]

	With no option: install missing host packages, fetch the kernel, the
	kernel's lint scripts, redis, prometheus and avahi, and print KDIR.

	  --kdir      print KDIR if it is there already, nothing otherwise
	  --source    print where the source of a kernel is, a tar file, which is
	              fetched if it isn't there: of 6.12, or of VERSION, from
	              trixie-backports
	  --bench     also what the benches compare with, and what draws their plots
	  --cache     print the cache directory
	  --packages  print the host packages needed
	  --refresh   look for a newer kernel even if one is there

	The cache is \$FARSWAP_CACHE, else \$XDG_CACHE_HOME/farswap, else
	~/.cache/farswap.
	USAGE
}

# Host packages. Headers come from the cache, so none of linux-* is here.
BUILD="gcc libc6-dev make bc flex bison libelf-dev pahole kmod xz-utils pkg-config
	librdmacm-dev libibverbs-dev libsodium-dev"
QEMU="qemu-system-x86 busybox-static python3 iproute2 dmsetup util-linux zstd
	ibverbs-providers perftest"
LINT="git sparse shellcheck perl coccinelle clang-tidy python3-sphinx python3-sphinx-rtd-theme
	graphviz"
MODEL="spin"
DEMO="libhiredis-dev"
# The kernel's own kselftest installs with it.
KSELFTEST="rsync"
# systemd judges the units' sandboxes.
# The names of donors come from it in a test.
NAMES="dnsmasq-base dbus-daemon"
DEB="build-essential dpkg-dev debhelper dh-dkms lintian systemd debootstrap e2fsprogs"
PACKAGES="$BUILD $QEMU $LINT $MODEL $DEMO $KSELFTEST $NAMES $DEB"

# Taken apart into the cache only, so that no service is started on the host.
REDIS="redis-server redis-tools libjemalloc2 liblzf1 libatomic1"

# Taken apart for the same reason: a test of names runs it in a namespace.
AVAHI="avahi-daemon avahi-utils libavahi-core7 libavahi-common3 libavahi-client3 libdaemon0
	libgdbm6"

# Packages for the benches.
PEERS="nbd-server nbd-client libnl-genl-3-200 memcached libevent-2.1-7"
BENCH="gnuplot-nox libmemcached-dev libhiredis-dev libssl-dev"

SOURCE=linux-source-6.12.tar.xz
# Files that only the kernel's source contains.
SCRIPTS="scripts/checkpatch.pl scripts/const_structs.checkpatch scripts/spelling.txt
	scripts/spdxcheck.py scripts/kernel-doc scripts/get_abi.pl scripts/coccinelle
	scripts/extract-vmlinux
	Documentation/dev-tools/checkpatch.rst Documentation/conf.py Documentation/sphinx
	Documentation/sphinx-static Documentation/images/logo.svg
	LICENSES tools/testing/selftests/kselftest"

# Where later kernels come from; Debian 12's keyring knows its keys.
LATER=trixie-backports
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

CACHE=${FARSWAP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/farswap}

say() {
	echo "fetch: $*" >&2
}

die() {
	say "$*"
	exit 1
}

missing_packages() {
	for p in "$@"; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null |
			grep -q 'ok installed' || printf '%s ' "$p"
	done
}

updated=
apt_update() {
	[ -z "$updated" ] || return 0
	updated=y
	[ "$(id -u)" = 0 ] || return 0 # use the existing lists
	say "apt-get update"
	apt-get -qq update >&2 || say "apt-get update failed; using the lists there are"
}

# install_packages PACKAGE...
install_packages() {
	need=$(missing_packages "$@")
	[ -n "$need" ] || return 0
	[ "$(id -u)" = 0 ] || die "install these first: apt-get install $need"
	apt_update
	say "installing $need"
	# policy-rc.d keeps a package from starting a service here.
	if [ ! -e /usr/sbin/policy-rc.d ]; then
		guard=/usr/sbin/policy-rc.d
		printf '#!/bin/sh\nexit 101\n' >"$guard"
		chmod 755 "$guard"
	fi
	rc=0
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
		install $need </dev/null >"$CACHE/apt.log" 2>&1 || rc=$?
	[ -z "$guard" ] || rm -f "$guard"
	guard=
	[ $rc = 0 ] || { tail -20 "$CACHE/apt.log" >&2; die "apt-get install failed"; }
}

# download DIR PACKAGE...: the packages' files into DIR
download() {
	dir=$1
	shift
	(cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download "$@") >&2
}

# unpack DIR TREE: every .deb of DIR into TREE
unpack() {
	for deb in "$1"/*.deb; do
		dpkg-deb -x "$deb" "$2"
		rm -f "$deb"
	done
}

# publish TMP FINAL: rename a finished tree into its place
publish() {
	rm -rf "$2"
	mv -T "$1" "$2"
}

newest_kernel() {
	image=$(apt-cache depends linux-image-6.12-amd64 2>/dev/null |
		sed -n 's/^ *Depends: linux-image-\(6\.12\.[0-9]*+deb[0-9]*-amd64\)$/\1/p' |
		head -n 1)
	if [ -z "$image" ]; then
		image=$(apt-cache search --names-only \
			'^linux-image-6\.12\.[0-9]+\+deb[0-9]+-amd64$' |
			sed 's/^linux-image-\([^ ]*\).*/\1/' | sort -V | tail -n 1)
	fi
	echo "$image"
}

fetch_kernel() {
	if [ -z "$refresh" ] && [ -e "$CACHE/kernel/ready" ]; then
		return 0
	fi
	apt_update
	kver=$(newest_kernel)
	[ -n "$kver" ] || die "no linux-image-6.12 package; are the apt sources those of Debian 12 or 13, with its security updates?"
	if [ -e "$CACHE/kernel-$kver/ready" ]; then
		ln -sfn "kernel-$kver" "$CACHE/kernel"
		return 0
	fi
	say "fetching kernel $kver"
	base=${kver%-amd64}
	tmp=$CACHE/tmp.$$
	mkdir -p "$tmp/deb"
	download "$tmp/deb" "linux-image-$kver" "linux-headers-$kver" \
		"linux-headers-$base-common" "linux-kbuild-$base"
	unpack "$tmp/deb" "$tmp"
	rmdir "$tmp/deb"

	# Bookworm has /lib apart from /usr/lib; the image must not care.
	if [ -d "$tmp/usr/lib/modules" ]; then
		mkdir -p "$tmp/lib"
		mv "$tmp/usr/lib/modules" "$tmp/lib/modules"
	fi
	rm -f "$tmp/lib/modules/$kver/build" "$tmp/lib/modules/$kver/source"
	depmod -b "$tmp" "$kver"

	# The header package names its sibling by absolute path.
	final=$CACHE/kernel-$kver
	headers=$tmp/usr/src/linux-headers-$kver
	sed -i "s|/usr/src/|$final/usr/src/|" "$headers/Makefile"
	for link in scripts tools; do
		for dir in "$headers" "$tmp/usr/src/linux-headers-$base-common"; do
			ln -sfn "../../lib/linux-kbuild-$base/$link" "$dir/$link"
		done
	done

	echo "$kver" >"$tmp/ready"
	publish "$tmp" "$final"
	ln -sfn "kernel-$kver" "$CACHE/kernel"
}

fetch_source() {
	[ ! -e "$CACHE/kernel/$SOURCE" ] || return 0
	apt_update
	say "fetching the kernel's source"
	tmp=$CACHE/tmp.$$
	mkdir -p "$tmp/deb"
	download "$tmp/deb" linux-source-6.12
	unpack "$tmp/deb" "$tmp/src"
	mv "$tmp/src/usr/src/$SOURCE" "$CACHE/kernel/$SOURCE"
	rm -rf "$tmp"
}

# Where this machine gets Debian from.
mirror() {
	# shellcheck disable=SC2016 # apt's, not the shell's
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian //p' | head -n 1
}

# fetch_later VERSION: with lists of packages of its own, the host's are left alone
fetch_later() {
	later=$CACHE/source-$1
	[ -n "$refresh" ] || [ ! -e "$later/ready" ] || return 0
	say "fetching the source of Linux $1"
	from=$(mirror)
	[ -n "$from" ] || die "no Debian mirror among the apt sources, to get $LATER from"
	tmp=$CACHE/tmp.$$
	mkdir -p "$tmp/deb" "$tmp/lists/partial" "$tmp/cache/archives/partial"
	echo "deb [signed-by=$KEYRING] $from $LATER main" >"$tmp/sources.list"
	cat >"$tmp/apt.conf" <<-CONF
	Dir::Etc::sourcelist "$tmp/sources.list";
	Dir::Etc::sourceparts "-";
	Dir::State::lists "$tmp/lists";
	Dir::Cache "$tmp/cache";
	APT::Sandbox::User "root";
	CONF
	APT_CONFIG=$tmp/apt.conf
	export APT_CONFIG
	apt-get -qq update >&2 || die "no lists of packages of $LATER from $from"
	apt-cache show "linux-source-$1" >"$tmp/package" 2>/dev/null ||
		die "$LATER no longer has linux-source-$1, but $(apt-cache search --names-only \
			'^linux-source-[0-9]' | cut -d' ' -f1 | tr '\n' ' ')"
	download "$tmp/deb" "linux-source-$1"
	unset APT_CONFIG
	unpack "$tmp/deb" "$tmp/src"
	mkdir "$tmp/out"
	mv "$tmp/src/usr/src/linux-source-$1.tar.xz" "$tmp/out/"
	sed -n 's/^Version: //p' "$tmp/package" | head -n 1 >"$tmp/out/ready"
	publish "$tmp/out" "$later"
	rm -rf "$tmp"
}

# Extract it again when the list of files changes.
fetch_scripts() {
	lint=$CACHE/kernel/lint
	[ "$SCRIPTS" != "$(cat "$lint/ready" 2>/dev/null)" ] || return 0
	fetch_source
	say "unpacking the kernel's lint scripts"
	tmp=$CACHE/tmp.$$
	mkdir -p "$tmp/lint"
	echo "$SCRIPTS" | tr -s ' \t' '\n' | sed 's|^|*/|' |
		tar -xf "$CACHE/kernel/$SOURCE" -C "$tmp/lint" \
			--strip-components=1 --wildcards -T -
	echo "$SCRIPTS" >"$tmp/lint/ready"
	publish "$tmp/lint" "$lint"
	rm -rf "$tmp"
}

# An emulated machine takes a second to decompress it.
fetch_elf() {
	elf=$CACHE/kernel/boot/vmlinux-$(cat "$CACHE/kernel/ready")
	[ ! -e "$elf" ] || return 0
	tmp=$CACHE/tmp.$$
	mkdir -p "$tmp"
	sh "$CACHE/kernel/lint/scripts/extract-vmlinux" \
		"$CACHE/kernel/boot/vmlinuz-$(cat "$CACHE/kernel/ready")" >"$tmp/vmlinux"
	# If there is none, report that and succeed.
	[ -s "$tmp/vmlinux" ] || die "no ELF file in the kernel's image; is its compressor installed?"
	mv "$tmp/vmlinux" "$elf"
	rm -rf "$tmp"
}

# fetch_apart NAME PACKAGE...: what they contain, in a directory of the cache
fetch_apart() {
	name=$1
	shift
	[ ! -e "$CACHE/$name/ready" ] || return 0
	apt_update
	say "fetching $*"
	tmp=$CACHE/tmp.$$
	mkdir -p "$tmp/deb"
	download "$tmp/deb" "$@"
	unpack "$tmp/deb" "$tmp"
	rmdir "$tmp/deb"
	touch "$tmp/ready"
	publish "$tmp" "$CACHE/$name"
}

fetch_redis() {
	[ ! -e "$CACHE/redis/ready" ] || return 0
	apt_update
	# The versions of some libraries are in their packages' names.
	lua=$(apt-cache depends redis-server redis-tools 2>/dev/null |
		sed -n 's/^ *Depends: \(liblua[^ ]*\|lua-[^ ]*\|libhiredis[^ ]*\)$/\1/p' |
		sort -u)
	# shellcheck disable=SC2086
	fetch_apart redis $REDIS $lua
}

kdir() {
	[ ! -e "$CACHE/kernel/ready" ] ||
		echo "$CACHE/kernel-$(cat "$CACHE/kernel/ready")/usr/src/linux-headers-$(cat "$CACHE/kernel/ready")"
}

refresh=
source=
bench=
while [ $# -gt 0 ]; do
	case $1 in
	--kdir) kdir; exit 0 ;;
	--source)
		source=6.12
		case ${2:-} in
		[0-9]*) source=$2; shift ;;
		esac ;;
	--bench) bench=y ;;
	--cache) echo "$CACHE"; exit 0 ;;
	--packages) echo "$PACKAGES" | tr -s ' \t\n' ' '; echo; exit 0 ;;
	--refresh) refresh=y ;;
	-h|--help) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
	shift
done

mkdir -p "$CACHE"
exec 9>"$CACHE/lock"
flock 9
rm -rf "$CACHE"/tmp.*
guard=
trap 'rm -rf "$CACHE/tmp.$$"; [ -z "$guard" ] || rm -f "$guard"' EXIT
trap 'exit 130' INT TERM

# shellcheck disable=SC2086
install_packages $PACKAGES
fetch_kernel
# The compiler the kernel was built with; the headers name it.
install_packages "$(sed -n 's/^CC = .*\(gcc-[0-9]*\)$/\1/p' "$(kdir)/.kernelvariables")"
if [ -n "$source" ] && [ "$source" != 6.12 ]; then
	fetch_later "$source"
	echo "$CACHE/source-$source/linux-source-$source.tar.xz"
	exit 0
elif [ -n "$source" ]; then
	fetch_source
	echo "$CACHE/kernel/$SOURCE"
	exit 0
fi
fetch_scripts
fetch_elf
fetch_redis
# For promtool.
fetch_apart prometheus prometheus
# shellcheck disable=SC2086
fetch_apart avahi $AVAHI
if [ -n "$bench" ]; then
	# shellcheck disable=SC2086
	install_packages $BENCH
	# shellcheck disable=SC2086
	fetch_apart peers $PEERS
fi
kdir
