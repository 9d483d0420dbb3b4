#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# make tree, on as much of a kernel's source as the patches are about: done twice it is what it
# is done once, what was changed there is brought again, and undone nothing is left. Silent if so.
# For each kernel whose source is there already.
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

# wanted VERSION: what is patched there, and what tells a kernel's source
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

# from_the_cache VERSION: what is wanted of a large archive, taken out of it once
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
for version in $(cd "$tree" && echo [0-9]*); do
	archive=$(archive "$version")
	[ -e "$archive" ] || continue
	from_the_cache "$version"
	cp -a "$work/$version" "$work/tree"
	graft "$work/tree"
	cp -a "$work/tree" "$work/once"
	graft "$work/tree"
	same "done twice" "$work/once" "$work/tree"
	[ "$(wc -l <"$work/said")" -eq 1 ] || {
		echo "$version: done twice, it has more to say than that it is in:"
		cat "$work/said"
		bad=1
	}
	echo "/* changed */" >>"$work/tree/mm/farswap/store.c"
	rm "$work/tree/drivers/infiniband/ulp/farswap/io.c"
	graft "$work/tree"
	same "what was changed or gone is not brought again" "$work/once" "$work/tree"
	graft --undo "$work/tree"
	same "undone" "$work/$version" "$work/tree"
	rm -rf "$work/tree" "$work/once"
done
exit $bad
