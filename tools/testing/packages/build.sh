#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Builds the Debian packages from the tracked files of this tree, and prints their paths.
set -eu
export LC_ALL=C
# Ignore the options of a calling make.
unset MAKEFLAGS MFLAGS MAKELEVEL

usage() {
	echo "usage: build.sh [--version VERSION] [DIRECTORY]"
	echo "Builds in DIRECTORY (out/deb), with another VERSION for a test of an upgrade."
}

top=$(cd "$(dirname "$0")/../../.." && pwd)
version=
while [ $# -gt 0 ]; do
	case $1 in
	--version) version=$2; shift ;;
	-*) usage; exit 2 ;;
	*) break ;;
	esac
	shift
done
out=${1:-$top/out/deb}

if ! command -v dpkg-buildpackage >/dev/null || ! command -v dh >/dev/null; then
	echo "make deb: run tools/testing/qemu/fetch.sh first, which installs what it needs" >&2
	exit 1
fi
was=$(cat "$top/VERSION")
tree=$out/farswap-${version:-$was}
rm -rf "$tree"
mkdir -p "$tree"
rm -f "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
cd "$top"
if [ -e .git ]; then
	git -c safe.directory='*' ls-files -co --exclude-standard | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
else
	find . -path ./out -prune -o -type f -print
fi | grep -vE '^(\./)?(tools|LICENSES|\.ci)/' | tar -cf - -T - | tar -xf - -C "$tree"
cd "$tree"
if [ -n "$version" ]; then
	echo "$version" >VERSION
	sed -i "1s/($was)/($version)/" debian/changelog
fi
# The same bytes whatever the user's umask is.
umask 022
chmod -R u=rwX,go=rX .
dpkg-buildpackage -b -us -uc >"$out/build.log" 2>&1 || {
	tail -n 30 "$out/build.log" >&2
	exit 1
}
rm -rf "$tree"
ls "$out"/*.deb
