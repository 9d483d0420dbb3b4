#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Checks the files that only a kernel with farswap in it compiles (mm/frontswap.c,
# mm/hook/direct.c and KUnit's suites) with sparse and the compiler. Also checks that the patches
# add nothing to the swap code when farswap is not built: prints by how many bytes of instructions
# each file differs, and fails if one has more than MORE_MAX more. Results are cached.
#
#	inspect.sh [VERSION]
#
# VERSION is a kernel for which there are patches, by default 6.12.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
fetch=$top/tools/testing/qemu/fetch.sh

MORE_MAX=96

version=${1:-6.12}

# changed NAME: the files of that name that the patches change and do not create
changed() {
	cat "$here/$version"/*.patch | awk -v name="$1" '/^--- / { new = $2 == "/dev/null" }
		/^[+][+][+] b/ && !new && $2 ~ name { print substr($2, 3) }' | sort -u
}

# objects: those that an out-of-tree build lacks, or builds without their suites
objects() {
	echo mm/frontswap.o
	echo mm/farswap/hook/direct.o
	cd "$top"
	grep -l '^#ifdef CONFIG_FARSWAP_KUNIT_TEST' mm/*.c mm/*/*.c rdma/*.c rdma/*/*.c | sed \
		-e 's|^mm/\(.*\)c$|mm/farswap/\1o|' \
		-e 's|^rdma/\(.*\)c$|drivers/infiniband/ulp/farswap/\1o|'
}

# inputs: a checksum of its inputs
inputs() {
	cd "$top"
	{
		cat "$ready"
		# shellcheck disable=SC2086 # several
		sha256sum "$here/$version"/*.patch $options "$here/inspect.sh"
		"$here/graft.sh" --list | cut -d' ' -f1 | grep -E '^(mm|rdma|include)/|^Kconfig' |
			xargs sha256sum
	} | sed "s|$top/||" | sha256sum | cut -c1-24
}

# configure DIRECTORY OPTION...: the selftests' configuration, plus these options
configure() {
	build=$1
	shift
	mkdir -p "$build"
	printf '%s\n' "$@" >"$build/more"
	make -s "O=$build" tinyconfig
	# shellcheck disable=SC2086 # several
	scripts/kconfig/merge_config.sh -m -O "$build" "$build/.config" $options "$build/more" \
		>/dev/null 2>&1
	make -s "O=$build" olddefconfig
	[ "$(grep -cxFf "$build/more" "$build/.config")" -eq $# ] || {
		echo "not in the configuration: $*"
		exit 1
	}
}

look_at_ours() {
	configure "$work/on" CONFIG_FARSWAP=y CONFIG_FARSWAP_KUNIT_TEST=y CONFIG_KUNIT=y \
		CONFIG_INFINIBAND=y
	# shellcheck disable=SC2046 # several
	make -j"$(nproc)" "O=$work/on" C=2 W=1 KCFLAGS=-Werror $(objects) >"$work/log" 2>&1 ||
		{
			grep -E 'error:|\*\*\*' "$work/log"
			return 1
		}
	# 7.3 warns that Debian 12's version is too old.
	if ! grep -q '^  CHECK ' "$work/log"; then
		grep -m1 -o 'C=2 specified.*' "$work/log" || echo "sparse did not run"
		[ "$version" != 6.12 ] || return 1
	fi
	! grep -E '(farswap|frontswap)[^ ]*: (warning|error):' "$work/log"
}

# instructions FILE: disassemble it, with names in place of addresses
instructions() {
	objdump -dr --no-show-raw-insn "$1" | sed -e 1,3d -e 's/^ *[0-9a-f]*:\t//' \
		-e 's/[0-9a-f]* <\([^>+]*\)[^>]*>/<\1>/g' -e 's/[+-]0x[0-9a-f]*$//'
}

size_of() {
	size -A "$1" | awk '$1 == ".text" { print $2 }'
}

# unpatched: compile the original files with the same commands
unpatched() {
	mkdir -p "$work/old/mm"
	cp mm/*.[ch] "$work/old/mm/"
	headers=$(changed '^b/include/.*[.]h$')
	# shellcheck disable=SC2086 # several, or none
	[ -z "$headers" ] || cp --parents -t "$work/old" $headers
	# shellcheck disable=SC2046 # several
	(cd "$work/old" && cat "$here/$version"/*.patch |
		GIT_CEILING_DIRECTORIES=$work git apply -R \
			$(changed '^b/(mm|include)/.*[.][ch]$' | sed 's/^/--include=/'))
	for name in $swap_code; do
		command=$(sed -n 's/^savedcmd_[^ ]* := //p' "$work/off/${name%/*}/.${name##*/}.o.cmd")
		command=$(echo "${command%%;*}" | sed -e "s|-o $name.o [^ ]*|-o $work/old/$name.o $work/old/$name.c|" \
			-e "s|-I|-I$work/old/include -I|")
		(cd "$work/off" && eval "$command")
	done
}

look_at_the_rest() {
	configure "$work/off" "# CONFIG_FARSWAP is not set"
	swap_code=$(changed '^b/mm/.*[.]c$' | sed 's/[.]c$//')
	# shellcheck disable=SC2046,SC2086 # several
	make -s -j"$(nproc)" "O=$work/off" $(printf '%s.o ' $swap_code)
	unpatched
	for name in $swap_code; do
		instructions "$work/old/$name.o" >"$work/before"
		instructions "$work/off/$name.o" >"$work/after"
		if cmp -s "$work/before" "$work/after"; then
			echo "$name.o: the same instructions" >>"$work/said"
			continue
		fi
		more=$(($(size_of "$work/off/$name.o") - $(size_of "$work/old/$name.o")))
		printf '%s.o: %+d bytes of instructions\n' "$name" "$more" >>"$work/said"
		[ "$more" -le "$MORE_MAX" ] || return 1
	done
}

source=$("$here/kernel.sh" --version "$version" --source)
tar=$("$fetch" --source "$version")
ready=${tar%/*}/ready
options="$here/kernel.config $here/$version/kernel.config $top/tools/testing/selftests/farswap/config"
seen=$("$fetch" --cache)/tree/inspected-$(inputs)
if [ ! -e "$seen" ]; then
	exec 9>"$("$fetch" --cache)/tree/lock"
	flock 9
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cd "$source"
	look_at_ours
	look_at_the_rest || {
		cat "$work/said"
		exit 1
	}
	find "${seen%/*}" -maxdepth 1 -name 'inspected-*' -mtime +7 -exec rm -f {} +
	mv "$work/said" "$seen"
fi
touch "$seen"
cat "$seen"
