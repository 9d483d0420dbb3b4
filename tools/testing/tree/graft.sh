#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Put farswap into a kernel's source, or take it out again: applies the patches of the swap code for
# that version (6.12/, ...) and copies all other files to their places there. A second run updates
# the tree, or completes an interrupted run; .farswap records the changes.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
selftests=tools/testing/selftests/farswap

usage() {
	cat <<-USAGE
	usage: graft.sh [--undo] DIRECTORY
	       graft.sh --list

	DIRECTORY is a kernel's source: linux-source-6.12 or 7.3 unpacked, or a git tree.
	With --undo it is what it was, without what a build in it has made of farswap; a
	build elsewhere, with O=, keeps that. With --list, print what goes there and
	where, but for the patches.
	USAGE
}

die() {
	echo "graft: $*" >&2
	exit 1
}

# ours: the files of this tree, whether it is a checkout or not
ours() {
	(cd "$top" && find mm rdma Kconfig include Documentation tools/testing/selftests \
		daemon/wire.[ch] \
		-type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.rst' -o -name '*.dot' \
		-o -name '*.svg' -o -name Kconfig \
		-o -name Makefile -o -name config -o -name settings \
		-o -path 'Documentation/ABI/*' \) ! -name '*.mod.c' ! -name '.*' \
		-o -path mm/.kunitconfig -o -path "$selftests/.gitignore" | sort)
}

# places: "FILE PLACE" of each
places() {
	ours | while read -r file; do
		case $file in
		# The in-tree hook mode does not use these files.
		mm/hook/ftrace.c | mm/hook/kernel.[ch] | mm/hook/symbol.[ch] | include/compat.h) ;;
		mm/*) echo "$file mm/farswap/${file#mm/}" ;;
		rdma/*) echo "$file drivers/infiniband/ulp/farswap/${file#rdma/}" ;;
		Kconfig) echo "$file mm/farswap/Kconfig" ;;
		# The selftests implement the protocol, too.
		daemon/*) echo "$file $selftests/${file#daemon/}" ;;
		*) echo "$file $file" ;;
		esac
	done
}

# apply PATCHES OPTION...: apply all or none, to the kernel's tree only, even if that is part of a
# git tree
apply() {
	apply_patches=$1
	shift
	cat "$apply_patches"/*.patch | (cd "$tree" &&
		GIT_CEILING_DIRECTORIES=$(dirname "$tree") git apply -p1 "$@")
}

# sums DIRECTORY: of the patches in it
sums() {
	(cd "$1" 2>/dev/null && sha256sum -- *.patch)
}

patches_put() {
	apply "$patches" --check ||
		die "the patches for $version don't apply to $tree: is it a plain $version source?"
	# Record the patches first, so that an interrupted run can be undone.
	mkdir -p "$notes/patches"
	cp "$patches"/*.patch "$notes/patches/"
	apply "$patches"
}

patches_undo() {
	[ -d "$notes/patches" ] || return 0
	# Recorded, but already removed or not yet copied.
	if ! apply "$notes/patches" --check 2>/dev/null; then
		apply "$notes/patches" -R ||
			die "$tree has other changes where its patches ($notes/patches) have to be undone"
	fi
	rm -r "$notes/patches"
}

# remove FILE, and the directories that are empty then
remove() {
	rm -f "$tree/$1"
	(cd "$tree" && rmdir -p "$(dirname "$1")" 2>/dev/null) || true
}

files_put() {
	cut -d' ' -f2 "$notes/places" | sort >"$notes/files.now"
	# Record them first, so that undo finds them after an interruption.
	touch "$notes/files"
	sort -u "$notes/files" "$notes/files.now" >"$notes/files.all"
	mv "$notes/files.all" "$notes/files"
	while read -r file place; do
		cmp -s "$top/$file" "$tree/$place" && continue
		mkdir -p "$(dirname "$tree/$place")"
		# Use a new time stamp, so that make rebuilds it.
		rm -f "$tree/$place"
		cp --preserve=mode "$top/$file" "$tree/$place"
		echo "  $place"
	done <"$notes/places"
	comm -23 "$notes/files" "$notes/files.now" | while read -r place; do
		echo "  $place is gone"
		remove "$place"
	done
	mv "$notes/files.now" "$notes/files"
}

# Files that make without O= has left beside the sources.
built_undo() {
	[ ! -e "$notes/files" ] || sed -nE 's/^((mm|drivers\/.*)\/farswap(\/.*)?)\/.*/\1/p' \
		"$notes/files" | sort -u | while read -r dir; do
		[ ! -d "$tree/$dir" ] || find "$tree/$dir" -maxdepth 1 -type f \( \
			-name '*.[aios]' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
			-o -name '*.gc[dn][ao]' -o -name '*.lst' -o -name '.*.cmd' \
			-o -name modules.order \) -exec rm -f {} +
	done
	find "$tree/mm" -maxdepth 1 -type f \( -name 'frontswap.*' -o -name '.frontswap.*' \) \
		! -name '*.[ch]' -exec rm -f {} +
	sed 's/#.*//' "$top/$selftests/.gitignore" | while read -r program; do
		[ -z "$program" ] || rm -f "$tree/$selftests/$program"
	done
}

files_undo() {
	[ ! -e "$notes/files" ] || while read -r place; do
		remove "$place"
	done <"$notes/files"
}

undo=
case ${1:-} in
-h | --help) usage; exit 0 ;;
--list) places; exit 0 ;;
--undo) undo=y; shift ;;
esac
[ $# -eq 1 ] || { usage >&2; exit 2; }
if [ ! -e "$1/Kbuild" ] || [ ! -e "$1/mm/page_io.c" ]; then
	die "no kernel source in $1: say where one is, KSRC=/path/to/linux-6.12 or 7.3"
fi
tree=$(cd "$1" && pwd)
notes=$tree/.farswap
version=$(awk '/^VERSION =/ { v = $3 } /^PATCHLEVEL =/ { print v "." $3; exit }' \
	"$tree/Makefile")
patches=$here/$version

if [ -n "$undo" ]; then
	[ -d "$notes" ] || die "$tree has no farswap in it"
	patches_undo
	built_undo
	files_undo
	rm -rf "$notes"
	echo "farswap is out of $tree"
	exit 0
fi
[ -d "$patches" ] || die "no patches for Linux $version, only for $(cd "$here" &&
	echo [0-9]*): KSRC= is to be one of those"
if [ "$(sums "$patches")" != "$(sums "$notes/patches")" ] ||
	! apply "$patches" -R --check 2>/dev/null; then
	patches_undo
	patches_put
fi
places >"$notes/places"
files_put
echo "farswap is in $tree: make menuconfig there, \"Swap to other machines' memory\""
