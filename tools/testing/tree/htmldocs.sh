#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Builds HTML from our pages with the kernel's Sphinx configuration, in a tree that contains only
# these pages and their sources, at the places where graft.sh puts them. It is silent and exits 0 if
# Sphinx and kernel-doc print no warning and no interface is missing.
set -eu
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
fetch=$top/tools/testing/qemu/fetch.sh

die() {
	echo "htmldocs: $*" >&2
	exit 1
}

# Our files, and the functions that the patches export; this does not need the kernel's source.
assemble() {
	cp -r "$lint/Documentation" "$lint/scripts" .
	rm -r Documentation/dev-tools
	"$here/graft.sh" --list | while read -r file place; do
		mkdir -p "$(dirname "$place")"
		cp "$top/$file" "$place"
	done
	cat "$here"/6.12/*.patch | GIT_CEILING_DIRECTORIES=$(dirname "$tree") \
		git apply --include=include/linux/frontswap.h --include=mm/frontswap.c
	cat >Documentation/index.rst <<-PAGE
	farswap
	=======

	.. toctree::

	   mm/farswap/index
	   admin-guide/mm/farswap
	   admin-guide/mm/farswap-deploy
	   abi
	PAGE
	cat >Documentation/abi.rst <<-PAGE
	ABI
	===

	.. kernel-abi:: ABI/testing
	   :rst:
	PAGE
}

# As in the kernel's Documentation/Makefile. Without dot(1) the diagrams remain text.
sphinx() {
	srctree=$tree sphinx-build -q -j "$(nproc)" -b html -c Documentation -d doctrees \
		-D version=6.12 -D release=6.12 -D "kerneldoc_srctree=$tree" \
		-D "kerneldoc_bin=$tree/scripts/kernel-doc" Documentation "$out" 2>&1 |
		sed -e '/^Using .* theme$/d' -e '/^WARNING: dot(1) not found/d' \
			-e "s|$tree/||g"
}

# Functions for other modules or the hook, or named in api.rst one by one.
interfaces() {
	find include/linux mm drivers -name '*.[ch]' -exec \
		sed -n 's/^EXPORT_SYMBOL_GPL(\(.*\));$/\1/p' {} +
	sed -n 's/^[a-z].*[ *]\(farswap_[a-z_]*\)(.*/\1/p' include/linux/farswap.h \
		include/linux/farswap-transport.h mm/farswap/hook/hook.h
	sed -n 's/^\(struct\|enum\) \([a-z_]*\) {$/\2/p' include/linux/farswap*.h \
		include/linux/frontswap.h include/uapi/linux/farswap.h
	sed -n 's/^ *:identifiers://p' Documentation/mm/farswap/api.rst
}

missing() {
	for name in $(interfaces | sort -u); do
		grep -q "id=\"c\.$name\"" "$out/mm/farswap/api.html" ||
			echo "api.rst: $name is not in it"
	done
}

cache=$("$fetch" --cache)
lint=$cache/kernel/lint
[ -e "$lint/Documentation/conf.py" ] || die "run $fetch first"
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
out=$tree/out
if [ $# -gt 0 ]; then
	mkdir -p "$1"
	out=$(cd "$1" && pwd)
fi
cd "$tree"
assemble
said=$({
	sphinx
	scripts/kernel-doc -none -Wall include/linux/frontswap.h mm/frontswap.c 2>&1
	scripts/get_abi.pl validate --dir Documentation/ABI 2>&1
	missing
} || true)
[ -z "$said" ] || {
	echo "$said"
	exit 1
}
