#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Build a kernel that calls farswap itself: Debian's source, the patches, this tree's
# files, and the fewest options that the selftests need; with VARIANT those of
# kernel-VARIANT.config too. The result goes into the cache of fetch.sh, under a checksum of its
# inputs, and is built once.
#
#	kernel.sh [--version VERSION] [VARIANT]
#	kernel.sh [--version VERSION] --source
#
# VERSION is 6.12 by default, or another one for which there are patches here.
#
# Prints the directory that has boot/vmlinux-RELEASE, not compressed, and lib/modules/RELEASE
# as its only line on stdout. attach/ in it has farswap built as modules that attach to the same
# kernel, unless that kernel lacks BTF. With --source, it prints the directory of the source only.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
fetch=$top/tools/testing/qemu/fetch.sh
modules=$top/tools/testing/modules

say() {
	echo "kernel: $*" >&2
}

variants() {
	for file in "$here"/kernel-*.config; do
		variant=${file##*/kernel-}
		echo "${variant%.config}"
	done
}

# layers VARIANT: its configuration, after those that it is based on
layers() {
	# shellcheck disable=SC2046 # several
	set -- "$1" $(sed -n 's/^# on top of: //p' "$here/kernel-$1.config")
	[ $# -eq 1 ] || layers "$2"
	echo "$here/kernel-$1.config"
}

# said WHAT: a note in the variant's configuration, for its build or its machine
said() {
	# shellcheck disable=SC2046 # several
	[ -z "$variant" ] || sed -n "s/^# $1: //p" $(layers "$variant")
}

# The sources of this tree, for both hook modes.
sources() {
	{
		"$here/graft.sh" --list | cut -d' ' -f1 | grep -vE '^(Documentation|tools|daemon)/'
		ls Makefile kernel-check.mk include/compat.h mm/hook/ftrace.c mm/hook/kernel.[ch] mm/hook/symbol.[ch]
	} | sort -u
}

# A checksum of the kernel's inputs.
inputs() {
	cd "$top"
	{
		cat "$ready"
		# shellcheck disable=SC2086 # several
		sha256sum $options "$here/graft.sh" "$here/kernel.sh" "$here/$version"/*.patch \
			"$modules/Makefile"
		find "$modules" -name '*.[ch]' ! -name '*.mod.c' -exec sha256sum {} + | sort
		sources | grep -vx Makefile | xargs sha256sum
		# That which kbuild reads.
		sed '/^else$/q' Makefile
	} | sed "s|$top/||" | sha256sum | cut -c1-24
}

# Unpack each version of the source once.
unpack() {
	[ ! -e "$dir/ready" ] || return 0
	say "unpacking $source"
	rm -rf "$dir"
	mkdir -p "$dir/linux"
	tar -xf "$source" -C "$dir/linux" --strip-components=1
	touch "$dir/ready"
}

configure() {
	# Start from the build of the plain kernel, which shares most objects.
	[ -e "$build" ] || [ ! -e "$dir/build" ] || cp -a "$dir/build" "$build"
	mkdir -p "$build"
	make -s "O=$build" tinyconfig
	# shellcheck disable=SC2086 # several
	scripts/kconfig/merge_config.sh -m -O "$build" "$build/.config" $options >/dev/null
	make -s "O=$build" olddefconfig
	# Check that each option is set: a dependency may be missing. The last setting of an option
	# wins: the variant's, or that of a version that lacks it.
	# shellcheck disable=SC2086 # several
	sed -n 's/^\(CONFIG_[A-Z0-9_]*\)=/\1 &/p; s/^# \(CONFIG_[A-Z0-9_]*\) is not set/\1 /p' \
		$options |
		awk '{ last[$1] = substr($0, length($1) + 2) }
		     END { for (i in last) if (last[i]) print last[i] }' |
		grep -vxFf "$build/.config" >"$build/missing" || return 0
	say "not in the configuration:"
	sed 's/^/    /' "$build/missing" >&2
	exit 1
}

# Build the modules out of the tree, for this kernel.
build_attach() {
	[ "$version" = 6.12 ] && grep -q '^CONFIG_FARSWAP=m' "$build/.config" &&
		grep -q '^CONFIG_DEBUG_INFO_BTF=y' "$build/.config" || return 0
	rm -rf "$build/attach"
	mkdir -p "$build/attach" "$new/attach/modules"
	(cd "$top" && sources | xargs cp --parents -t "$build/attach")
	make -s "O=$build" "M=$build/attach" modules
	for module in mm/farswap rdma/farswap-rdma; do
		strip --strip-debug -o "$new/attach/modules/${module#*/}.ko" \
			"$build/attach/$module.ko"
	done
	(cd "$new" && for rest in boot lib ready machine; do
		[ ! -e $rest ] || ln -s "../$rest" attach/
	done)
}

# Files that gcov needs for the objects, in a coverage build.
keep_notes() {
	(cd "$build" && find . -path ./new -prune -o -name '*.gcno' \
		-exec cp --parents -t "$new" {} +)
}

build() {
	say "building"
	# shellcheck disable=SC2046 # several
	make -s "O=$build" -j"$(nproc)" $(said make) vmlinux modules
	release=$(make -s "O=$build" kernelrelease)
	rm -rf "$build/extra" "$new"
	mkdir -p "$build/extra" "$new/boot"
	cp "$modules/Makefile" "$build/extra/"
	find "$modules" -name '*.[ch]' ! -name '*.mod.c' -exec cp {} "$build/extra/" \;
	make -s "O=$build" "M=$build/extra" modules
	strip --strip-all -o "$new/boot/vmlinux-$release" "$build/vmlinux"
	make -s "O=$build" "INSTALL_MOD_PATH=$new" INSTALL_MOD_STRIP=1 modules_install
	make -s "O=$build" "INSTALL_MOD_PATH=$new" INSTALL_MOD_STRIP=1 "M=$build/extra" \
		modules_install
	rm -f "$new/lib/modules/$release/build"
	# The files that a machine needs to run it.
	said machine >"$new/machine"
	echo "$release" >"$new/ready"
	build_attach
	keep_notes
}

# Unpack the source into its place in the cache, and patch it from this tree.
prepare() {
	dir=$cache/tree/source-$(cat "$ready")
	unpack
	"$here/graft.sh" "$dir/linux" >"$dir/grafted" || {
		rm -f "$dir/ready"
		exit 1
	}
}

lock() {
	mkdir -p "$cache/tree"
	exec 9>"$cache/tree/lock"
	flock 9
}

version=6.12
if [ "${1:-}" = --version ]; then
	version=${2:?--version needs one}
	shift 2
fi
[ -d "$here/$version" ] || {
	say "no patches for Linux $version, only for $(cd "$here" && echo [0-9]*)"
	exit 2
}
source=$("$fetch" --source "$version")
ready=${source%/*}/ready
cache=$("$fetch" --cache)

variant=${1:-}
if [ "$variant" = --source ]; then
	lock
	prepare >&2
	echo "$dir/linux"
	exit
fi
options="$here/kernel.config $top/tools/testing/selftests/farswap/config"
[ ! -e "$here/$version/kernel.config" ] || options="$options $here/$version/kernel.config"
if [ -n "$variant" ]; then
	[ -e "$here/kernel-$variant.config" ] || {
		say "no variant $variant; there are: $(variants | tr "\n" " ")"
		exit 2
	}
	options="$options $(layers "$variant")"
fi
word=$(inputs)
out=$cache/tree/kernel-$word
[ -e "$out/ready" ] || lock
if [ ! -e "$out/ready" ]; then
	prepare
	build=$dir/build${variant:+-$variant}
	new=$build/new
	cd "$dir/linux"
	for setting in $(said environment); do
		export "${setting?}"
	done
	configure >&2
	build >&2
	if [ "$(inputs)" != "$word" ]; then
		say "this tree's files have changed meanwhile: once more, please"
		exit 1
	fi
	find "$cache/tree" -maxdepth 1 -name 'kernel-*' -mtime +7 -exec rm -rf {} +
	rm -rf "$out"
	mv -T "$new" "$out"
fi
touch "$out"
echo "$out"
