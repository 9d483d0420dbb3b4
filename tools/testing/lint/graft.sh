#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests "make tree" on the patched part of a kernel's source: a second run changes nothing, a
# modified file is restored, every tracked file is copied, and undoing it leaves no file behind, not
# even of a build. Silent on success. Covers each kernel whose source is in the cache.
set -eu
export LC_ALL=C

top=$(cd "$(dirname "$0")/../../.." && pwd)
tree=$top/tools/testing/tree
fetch=$top/tools/testing/qemu/fetch.sh
cache=$("$fetch" --cache)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# archive VERSION
archive() {
	[ "$1" = 6.12 ] || {
		echo "$cache/source-$1/linux-source-$1.tar.xz"
		return
	}
	"$fetch" --source
}

# wanted VERSION: the files that the patches change, and those that identify a kernel's source
wanted() {
	sed -n "s|^--- a/|linux-source-$1/|p" "$tree/$1"/*.patch
	echo "linux-source-$1/Makefile"
	echo "linux-source-$1/Kbuild"
	echo "linux-source-$1/mm/page_io.c"
}

# same WHAT DIRECTORY DIRECTORY
same() {
	diff -rq "$2" "$3" >"$work/diff" 2>&1 && return
	echo "$version: $1:"
	head -n 5 "$work/diff"
	bad=1
}

graft() {
	"$tree/graft.sh" "$@" >"$work/said" 2>&1 && return
	echo "$version: graft.sh $*:"
	cat "$work/said"
	exit 1
}

# stamps: when each file there was written
stamps() {
	(cd "$work/tree" && find . -path ./.farswap -prune -o -type f -printf '%p %T@\n' | sort)
}

# build: create the files that a build leaves
build() {
	for place in $(cd "$work/tree" && find mm drivers -path '*/farswap/*.c') mm/frontswap.c; do
		object=${place%.c}.o
		touch "$work/tree/$object" "$work/tree/${object%/*}/.${object##*/}.cmd" \
			"$work/tree/${place%.c}.gcno"
	done
	for place in mm/farswap drivers/infiniband/ulp/farswap; do
		for file in farswap.ko farswap.mod farswap.mod.c .farswap.ko.cmd built-in.a \
			.built-in.a.cmd modules.order; do
			touch "$work/tree/$place/$file"
		done
	done
	for file in load swapon_at peer fakedonor; do
		touch "$work/tree/tools/testing/selftests/farswap/$file"
	done
}

# left_behind: tracked files that graft.sh does not copy
left_behind() {
	[ -e "$top/.git" ] || return 0
	git -c safe.directory='*' -C "$top" ls-files mm rdma Kconfig include Documentation \
		tools/testing/selftests "daemon/wire.[ch]" | sort >"$work/ours"
	"$tree/graft.sh" --list | cut -d' ' -f1 | sort | comm -23 "$work/ours" - | grep -vxE \
		'mm/hook/(ftrace|kernel|symbol)\.[ch]|include/compat\.h|.*/\.shellcheckrc' || true
}

# from_the_cache VERSION: extract the wanted files from a large archive, once
from_the_cache() {
	kept=$cache/tree/pristine-$({
		basename "$archive"
		cat "${archive%/*}/ready" 2>/dev/null
		wanted "$1"
	} | sha256sum | cut -c1-24)
	[ -d "$kept" ] || {
		mkdir -p "$cache/tree" "$work/new"
		wanted "$1" | sort -u | xargs tar -C "$work/new" --strip-components=1 -xf "$archive"
		mv -T "$work/new" "$kept"
	}
	cp -a "$kept" "$work/$1"
}

bad=0
left=$(left_behind)
[ -z "$left" ] || {
	echo "graft.sh leaves behind: $left"
	bad=1
}
for version in $(cd "$tree" && echo [0-9]*); do
	archive=$(archive "$version")
	[ -e "$archive" ] || {
		echo "$version: not looked at, its source is not in the cache: make check-tree KERNEL=$version"
		continue
	}
	from_the_cache "$version"
	cp -a "$work/$version" "$work/tree"
	graft "$work/tree"
	cp -a "$work/tree" "$work/once"
	stamps >"$work/stamps"
	graft "$work/tree"
	same "done twice" "$work/once" "$work/tree"
	stamps | cmp -s "$work/stamps" - || {
		echo "$version: done twice, it has written files again"
		bad=1
	}
	[ "$(wc -l <"$work/said")" -eq 1 ] || {
		echo "$version: done twice, it has more to say than that it is in:"
		cat "$work/said"
		bad=1
	}
	echo "/* changed */" >>"$work/tree/mm/farswap/io/store.c"
	rm "$work/tree/drivers/infiniband/ulp/farswap/io.c"
	graft "$work/tree"
	same "what was changed or gone is not brought again" "$work/once" "$work/tree"
	build
	graft --undo "$work/tree"
	same "undone" "$work/$version" "$work/tree"
	rm -rf "$work/tree" "$work/once"
done
exit $bad
