#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs every lint, or those named. Each is one test, silent when it passes; the
# last line is the total. With -l, lists them. KDIR= as for make.
#
# The cache remembers that a slow lint has passed until its inputs, a tool or this file change; a
# lint that is named always runs.

set -u
cd "$(dirname "$0")/../../.." || exit 1

FETCH=tools/testing/qemu/fetch.sh
CACHE=$($FETCH --cache)
SCRIPTS=$CACHE/kernel/lint/scripts
KDIR=${KDIR:-$($FETCH --kdir)}
if [ -z "$KDIR" ] || [ ! -e "$SCRIPTS/coccinelle" ]; then
	echo "lint: run $FETCH first"
	exit 1
fi

# Tracked files, and new ones that git does not ignore; in an export, all that
# are text.
files() {
	if [ -e .git ]; then
		git -c safe.directory='*' ls-files -co --exclude-standard
	else
		find . -type f ! -name '*.mod.c' ! -name '.*.cmd' ! -path '*/__pycache__/*' \
			-exec grep -qI . {} \; -print | sed 's|^\./||'
	fi | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}
FILES=$(files)
[ -n "$FILES" ] || {
	echo "lint: no files to look at; is git there?"
	exit 1
}

# matching REGEX: the files whose path matches
matching() {
	grep -E "$1" <<<"$FILES"
}

shell_files() {
	for file in $FILES; do
		case $file in
		*.sh) echo "$file" ;;
		*.[ch] | *.py | *.rst | *.md | *.json | LICENSES/*) ;;
		*) head -qn 1 "$file" | grep -qaE '^#!.*\b(ba|da)?sh\b' && echo "$file" ;;
		esac
	done
}

# quiet COMMAND...: fails if it fails or says anything
quiet() {
	local output
	output=$("$@" 2>&1) && [ -z "$output" ] && return
	echo "$output"
	return 1
}

# checkpatch REGEX OPTION...: run it on the files whose path matches, except those it has already
# checked
checkpatch() {
	local list
	list=$(matching "$1" | grep -vxF -e "$had")
	had+=$'\n'$list
	shift
	[ -z "$list" ] || quiet xargs -d '\n' perl "$SCRIPTS/checkpatch.pl" --quiet --terse \
		--no-summary "$@" -f <<<"$list"
}

lint_checkpatch() { # checkpatch --strict on all C and Kconfig files that would go into the kernel
	local had='' bad=0 program=PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,BIT_MACRO
	# This file exists to compare versions.
	checkpatch '^include/compat\.h$' --ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON || bad=1
	# Tracepoints are written in columns.
	checkpatch '^include/trace/.*\.h$' --ignore OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT || bad=1
	# A setting's name, as a variable, a parameter and a file.
	checkpatch '^mm/settings\.c$' --ignore MACRO_ARG_REUSE || bad=1
	# A list of counters for macros, with a comment each.
	checkpatch '^mm/stats\.[ch]$' --ignore COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_ARG_UNUSED \
		--ignore LINE_CONTINUATIONS,BRACKET_SPACE || bad=1
	checkpatch '^(mm|rdma|include)/.*\.[ch]$|^Kconfig$' || bad=1
	# Programs have neither u8 nor __printf() nor BIT(), and whole messages in one line each
	# that checkpatch lets nobody but printk() have.
	program+=,LONG_LINE_STRING
	# A signal handler may write no other type.
	checkpatch '^tools/testing/selftests/farswap/load\.c$' --ignore $program,VOLATILE || bad=1
	checkpatch '^(tools/testing/selftests/farswap/.*|daemon/wire)\.[ch]$' --ignore $program ||
		bad=1
	rm -f .checkpatch-camelcase.*
	return $bad
}

lint_sparse() { # sparse on every kernel source
	local output words=(KDIR="$KDIR" W=1 KCFLAGS=-Werror C=2)
	# Use the arguments of make check, so that nothing is rebuilt.
	output=$(make --no-print-directory "${words[@]}" modules 2>&1 &&
		make --no-print-directory -C tools/testing/modules "${words[@]}" 2>&1)
	grep -E "^($PWD/)?(mm|rdma|include|tools/testing/modules)/.*(warning|error):|\*\*\*" \
		<<<"$output" && return 1
	grep -q '  CHECK .*/mm/' <<<"$output" && grep -q '  CHECK .*/modules/' <<<"$output" && return
	echo "sparse did not run:"
	tail -n 5 <<<"$output"
	return 1
}

lint_coccinelle() { # the kernel's own rules for coccinelle
	local rule options where output tree dir bad=0
	# spatch accepts one directory only.
	tree=$(mktemp -d)
	mkdir "$tree/modules"
	matching '^(mm|rdma|include|tools/testing/modules)/.*\.[ch]$' |
		xargs -d '\n' cp --parents -t "$tree/modules"
	# Files that only a patch creates.
	for dir in tools/testing/tree/[0-9]*; do
		mkdir -p "$tree/modules/$dir"
		cat "$dir"/*.patch | (cd "$tree/modules/$dir" && GIT_CEILING_DIRECTORIES=$tree git \
			apply --include=mm/frontswap.c --include=include/linux/frontswap.h) || bad=1
	done
	cp -r "$tree/modules" "$tree/all"
	matching '^daemon/.*\.[ch]$' | xargs -d '\n' cp --parents -t "$tree/all"
	for rule in $(find "$SCRIPTS/coccinelle" -name '*.cocci' | sort); do
		options=$(sed -n 's|^// *Options:||p' "$rule")
		where=all
		case $rule in
		# Need a compiler for OCaml. Skip the rules that sparse covers (a pointer compared
		# with 0) or that are for another driver (bq27xxx).
		*/null/badzero.cocci | */api/check_bq27xxx_data.cocci) continue ;;
		# Skip the rules that propose helpers of the kernel: ARRAY_SIZE(), min(), swap(),
		# str_true_false().
		*/misc/array_size.cocci | */misc/minmax.cocci | */misc/swap.cocci | \
			*/api/string_choices.cocci) where=modules ;;
		esac
		# Its remarks about the rule itself don't matter.
		# shellcheck disable=SC2086 # several
		output=$(cd "$tree/$where" && {
			spatch -D report --no-show-diff --very-quiet $options --cocci-file "$rule" \
				-I include -I include/uapi -I mm -I rdma --jobs "$(nproc)" . 2>&1 ||
				echo "failed"
		} | grep -v '^warning: line .* be a metavariable?$')
		[ -z "$output" ] && continue
		echo "${rule#"$SCRIPTS/"}:"
		echo "$output"
		bad=1
	done
	rm -rf "$tree"
	return $bad
}

lint_indirect_calls() { # the hook calls the kernel's sealed functions by direct calls only
	local object bad=0
	# The sparse lint builds these, unless its result is cached.
	quiet make -s --no-print-directory KDIR="$KDIR" W=1 KCFLAGS=-Werror modules || return 1
	# The one pointer that is called is a percpu_ref's release(), at 8 of its data, when
	# the last reference is dropped. Those in pv_ops the kernel makes direct calls of.
	for object in mm/hook/ftrace.o mm/hook/kernel.o; do
		objdump -dr --no-show-raw-insn "$object" | awk -v object="$object" '
			function complain(what) {
				print object ", " where " calls a pointer: " what
				bad = 1
			}
			called { if (!/pv_ops/) complain(called); called = "" }
			/>:$/ { where = $2 }
			/^ +[0-9a-f]+:\t/ { before = last; last = $0; calls += /\tcall/ }
			/__x86_indirect_thunk/ && before !~ /\tmov +0x8\(/ { complain(before) }
			/\tcall +\*/ { called = $0 }
			END { if (called) complain(called); exit bad || !calls }' || bad=1
	done
	return $bad
}

lint_kernel_doc() { # kernel-doc comments match what they are about
	local list
	list=$(matching '^(mm|rdma|include/(linux|uapi/linux))/.*\.[ch]$')
	[ -z "$list" ] || quiet xargs -d '\n' perl "$SCRIPTS/kernel-doc" -none -Wall <<<"$list"
}

lint_shellcheck() { # every shell script
	shell_files | quiet xargs -d '\n' shellcheck -x -P SCRIPTDIR
}

lint_python() { # every Python program compiles, without unused imports
	matching '\.py$' | quiet python3 -X pycache_prefix=/dev/null tools/testing/lint/python.py
}

lint_prose() { # constructions in comments and documents that are hard to read, per 10,000 words
	# Lower it when fewer are left; never raise it.
	matching '' | grep -vE '^LICENSES/|\.(patch|json|svg)$' |
		quiet python3 tools/testing/lint/prose.py 3
}

lint_commits() { # recent commits have a subject of 72 characters at most and are signed off
	quiet tools/testing/lint/commits.sh
}

lint_layers() { # includes and words that cross a layer
	quiet tools/testing/lint/layers.sh
}

lint_calls() { # calls from a lower layer to a higher one, and circles of files
	[ -e mm/main.o ] && [ -e rdma/main.o ] && [ -e daemon/main.o ] ||
		make -s modules daemon >/dev/null || return
	quiet tools/testing/lint/calls.py
}

lint_spdx() { # a licence on the first lines of every source file, of those in LICENSES
	local file known='GPL-2\.0|MIT|Linux-syscall-note' bad=0
	for file in $FILES; do
		case $file in
		LICENSES/* | MAINTAINERS | VERSION | debian/*) continue ;;
		Documentation/ABI/* | *.md | *.json | *.svg) continue ;;
		tools/testing/tree/*.patch | tools/testing/tree/cover-letter.txt) continue ;;
		.* | */.* | */selftests/*/config | */selftests/*/settings) continue ;;
		esac
		[ -s "$file" ] || continue
		head -n 3 "$file" | grep -qaE "SPDX-License-Identifier: [(]?($known)" && continue
		echo "$file: no SPDX licence line"
		bad=1
	done
	return $bad
}

lint_whitespace() { # no blanks at line ends, a newline at the end of every file
	local bad=0
	# An empty line of context is a blank in a patch.
	matching '' | grep -vE '^LICENSES/|\.patch$' | xargs -d '\n' grep -nIE '[ 	]+$' && bad=1
	for file in $FILES; do
		[ ! -s "$file" ] || ! grep -qI . "$file" || [ -z "$(tail -c 1 "$file")" ] && continue
		echo "$file: no newline at the end"
		bad=1
	done
	return $bad
}

lint_mutants() { # every patch of mutants/ and techniques/ applies
	local file bad=0
	for file in $(matching '^tools/testing/(mutants|bench/techniques)/[^/]*\.patch$'); do
		quiet git apply --check "$file" || bad=1
	done
	return $bad
}

lint_tree() { # the kernel's patches: checkpatch --strict, and 85 lines of existing files at most
	local file lines bad=0
	for file in $(matching '^tools/testing/tree/.*\.patch$'); do
		quiet perl "$SCRIPTS/checkpatch.pl" --quiet --terse --no-summary --patch - \
			<"$file" || bad=1
	done
	for dir in $(matching '^tools/testing/tree/.*\.patch$' | xargs -n 1 dirname | uniq); do
		lines=$(cat "$dir"/*.patch | awk '
			/^--- / { new = $2 == "/dev/null"; next }
			/^\+\+\+ / { next }
			/^-- $/ || /^From / { hunk = 0 }
			/^@@ / { hunk = 1; next }
			/^diff / { hunk = 0 }
			hunk && /^[-+]/ && !new { lines++ }
			END { print lines + 0 }')
		[ "$lines" -gt 85 ] && echo "$dir: $lines lines of existing files are changed" && bad=1
	done
	return $bad
}

lint_inspect() { # files that only an in-tree build compiles; patched files without farswap
	tools/testing/tree/inspect.sh 2>&1
}

lint_graft() { # make tree twice, and undone: the kernel's source is what it was
	tools/testing/lint/graft.sh
}

lint_analyzer() { # gcc -fanalyzer on the daemon and farswapctl
	local file bad=0
	make -s -C daemon ctl/counters.inc || return
	for file in $(matching '^daemon/.*\.c$'); do
		quiet gcc -std=gnu11 -O1 -Wall -Wextra -fanalyzer \
			-fdiagnostics-path-format=none -D_GNU_SOURCE -Iinclude/uapi -Idaemon -Irdma \
			-c -o /dev/null "$file" || bad=1
	done
	return $bad
}

lint_clang_tidy() { # clang-tidy on the daemon and farswapctl, with the checks of daemon/.clang-tidy
	# It reports the number of suppressed header warnings on stderr.
	make -s -C daemon ctl/counters.inc || return
	# shellcheck disable=SC2016
	matching '^daemon/.*\.c$' | quiet xargs -d '\n' -P "$(nproc)" -n 1 sh -c '
		clang-tidy --quiet --config-file=daemon/.clang-tidy --warnings-as-errors="*" "$0" -- \
			-std=gnu11 -D_GNU_SOURCE -Iinclude/uapi -Idaemon -iquote rdma 2>/dev/null || echo "$0: failed"'
}

lint_fields() { # farswapctl(8) has every JSON field and metric of the daemon and farswapctl
	local man=daemon/ctl/farswapctl.8 name bad=0
	for name in $({
		matching '^daemon/.*\.c$' | xargs -d '\n' cat | tr -d '\n\t' |
			grep -oE 'json_(object|array|string|number|signed|bool|null|raw)\([a-z_&]+, ?"[a-z_0-9]+"'
		sed -n '/struct admin_number numbers/,/};/p; /admin_numbers(/,/});/p' daemon/admin.c |
			grep -oE '\{ "[a-z_]+"'
		matching '^daemon/.*\.c$' | xargs -d '\n' grep -ohE '"farswapd?_[a-z_]+"'
		sed -n 's/^\tX([A-Z_]*, \("[a-z_]*\)".*/"farswapd_\1"/p' daemon/stats.h | tr -d '"' |
			sed 's/.*/"&"/'
	} | grep -oE '"[a-z_0-9]+"' | tr -d '"' | sort -u); do
		grep -qxE "\.B $name" "$man" && continue
		echo "$man: there is no .B $name"
		bad=1
	done
	return $bad
}

lint_monitoring() { # promtool accepts the metrics, the alerts and the dashboard's expressions
	local tool=$CACHE/prometheus/usr/bin/promtool out=out/daemon-unit bad=0
	[ -x "$tool" ] || {
		echo "there is no promtool; run $FETCH"
		return 1
	}
	quiet python3 tools/testing/lint/monitoring.py "$tool" || bad=1
	quiet make -s -C tools/testing/daemon "../../../$out/ctl_test" || return 1
	(cd tools/testing/daemon && "../../../$out/ctl_test" --plain) |
		quiet "$tool" check metrics || bad=1
	return $bad
}

lint_counters() { # the admin guide explains each counter and gauge of the kernel module
	local code guide
	code=$({
		sed -n 's/^\tX([A-Z_]*, \([a-z_]*\)).*/\1/p' mm/stats.h
		sed -n '/^static int stats_show/,/^}/s/.*seq_printf(m, "\([a-z_]*\) .*/\1/p' mm/debugfs.c
	} | sort)
	guide=$(awk -f daemon/ctl/counters.awk Documentation/admin-guide/mm/farswap.rst |
		cut -d'"' -f2 | sort)
	[ -n "$code" ] && quiet diff --label code --label farswap.rst -U0 <(echo "$code") \
		<(echo "$guide")
}

lint_htmldocs() { # no warnings from the kernel's Sphinx; every interface is in api.rst
	quiet tools/testing/tree/htmldocs.sh
}

lint_diagrams() { # the state diagrams in the documents have the moves of the code's tables
	quiet tools/testing/lint/diagrams.py
}

lint_paths() { # the files that documents name exist, here or in a patched kernel
	local file path kernel bad=0
	kernel='^(mm/(farswap/.*|frontswap\.c|Kconfig|swap_table\.h)|include/linux/frontswap\.h)$'
	while IFS=: read -r file path; do
		path=${path//\`/}
		[[ -e ${path%% *} || $path =~ $kernel || $path == *[A-Z\*\[\{]* ]] && continue
		echo "$file: there is no $path"
		bad=1
	done < <(matching '^(Documentation/.*\.rst|[A-Z]+\.md)$' | xargs -d '\n' \
		grep -oHP '\x60(mm|rdma|daemon|include|tools)/[^\x60]+\x60' | sort -u)
	return $bad
}

lint_workqueues() { # the table in locking.rst has the modules' workqueues and no other
	local code table
	# The name is on the next line here and there.
	code=$(matching '^(mm|rdma)/.*\.c$' | xargs -d '\n' cat | tr -d '\n\t' |
		grep -oE 'alloc_(ordered_)?workqueue\("[a-z_]+"' | cut -d'"' -f2 | sort)
	table=$(sed -n '/^Workqueues$/,/^References$/s/^   \* - ..\(farswap[a-z_]*\)..$/\1/p' \
		Documentation/mm/farswap/locking.rst | sort)
	[ -n "$code" ] && quiet diff --label code --label locking.rst -U0 \
		<(echo "$code") <(echo "$table")
}

# refuses WORD RELEASE SETTINGS...: make first prints an error with the reason for such a kernel
refuses() {
	local word=$1 fake output
	fake=$(mktemp -d) && mkdir -p "$fake/include/config" || return 1
	echo "$2" >"$fake/include/config/kernel.release"
	shift 2
	{
		cat "$KDIR/include/config/auto.conf"
		printf '%s\n' "$@"
	} >"$fake/include/config/auto.conf"
	output=$(make --no-print-directory KDIR="$fake" modules 2>&1 | head -n 1)
	rm -rf "$fake"
	[[ $output == *"*** farswap: "*"$word"* ]] && return
	echo "not refused for $word: $output"
	return 1
}

lint_builds() { # make refuses unsupported kernels and directories with the reason
	local release dir output bad=0
	release=$(cat "$KDIR/include/config/kernel.release")
	quiet make -s --no-print-directory KDIR="$KDIR" kernel-check || bad=1
	refuses CONFIG_ZSWAP "$release" CONFIG_ZSWAP= || bad=1
	refuses CONFIG_DEBUG_INFO_BTF "$release" CONFIG_DEBUG_INFO_BTF= || bad=1
	refuses CONFIG_INFINIBAND "$release" CONFIG_INFINIBAND= || bad=1
	refuses CONFIG_PREEMPT_RT "$release" CONFIG_PREEMPT_RT=y || bad=1
	refuses '"6.1.192"' 6.1.192 || bad=1
	refuses '"6.13.0"' 6.13.0 || bad=1
	dir=$(mktemp -d) && mkdir "$dir/a b" && cp Makefile kernel-check.mk "$dir/a b" || return 1
	output=$(make --no-print-directory -C "$dir/a b" KDIR="$KDIR" modules 2>&1 | head -n 1)
	rm -rf "$dir"
	[[ $output == *"*** farswap: "*" space "* ]] || {
		echo "a directory with a space in its name: $output"
		bad=1
	}
	# Others call kbuild themselves.
	output=$(make --no-print-directory -C "$KDIR" M="$PWD" CONFIG_PREEMPT_RT=y modules 2>&1)
	grep -q '\*\*\* farswap: .*CONFIG_PREEMPT_RT' <<<"$output" || {
		echo "kbuild: $output"
		bad=1
	}
	return $bad
}

lint_version() { # modules, programs, change logs and packages have the version in the file VERSION
	local version got bad=0
	version=$(cat VERSION)
	agree() { # agree WHAT GOT
		[ "$2" = "$version" ] && return
		echo "$1 has version \"$2\", the file VERSION \"$version\""
		bad=1
	}
	agree CHANGELOG.md "$(sed -n 's/^## \([^ ]*\).*/\1/p' CHANGELOG.md | head -n 1)"
	agree debian/changelog "$(sed -n '1s/^farswap (\(.*\)) .*/\1/p' debian/changelog)"
	make -s --no-print-directory daemon || return 1
	got=$(daemon/farswapd -V | sed -n 's/^farswapd \(.*\), protocol [0-9]*$/\1/p')
	agree "farswapd -V" "$got"
	agree "farswapctl -V" "$(daemon/farswapctl -V | sed -n 's/^farswapctl //p')"
	for got in mm/farswap.ko rdma/farswap-rdma.ko; do
		[ ! -e "$got" ] || agree "$got" "$(PATH=$PATH:/sbin:/usr/sbin modinfo -F version "$got")"
	done
	return $bad
}

lint_units() { # systemd's verdict on the sandbox of each unit, 0 to 10, is 2.0 at most
	local file tree bad=0
	tree=$(mktemp -d)
	for file in $(matching '^daemon/.*\.(service|timer|socket)$'); do
		# The programs need not be installed here, nor their manual pages.
		sed -E 's|@(SBINDIR\|LIBEXECDIR)@/[a-z-]+|/bin/true|; /^Documentation=/d' "$file" \
			>"$tree/${file##*/}"
	done
	quiet systemd-analyze verify --man=no --generators=no --recursive-errors=no \
		"$tree"/* || bad=1
	for file in "$tree"/*.service; do
		systemd-analyze security --offline=yes --no-pager --threshold=20 "$file" \
			>"$tree/verdict" 2>&1 && grep -q 'Overall exposure' "$tree/verdict" && continue
		echo "daemon/${file##*/}:"
		grep -E '✗|Overall' "$tree/verdict"
		bad=1
	done
	rm -rf "$tree"
	return $bad
}

lint_packages() { # the Debian packages: lintian says nothing; two builds are the same
	local tree file bad=0
	tree=$(mktemp -d)
	mkdir "$tree/b" && {
		tools/testing/packages/build.sh "$tree/a" >/dev/null &&
			(umask 077 && TZ=Asia/Tokyo tools/testing/packages/build.sh \
				"$tree/b/elsewhere" >/dev/null)
	} || bad=1
	for file in "$tree"/a/*.deb; do
		cmp "$file" "$tree/b/elsewhere/${file##*/}" || bad=1
	done
	# DKMS skips the kernels that the build refuses.
	quiet diff --label kernel-check.mk --label dkms.conf -U0 \
		<(sed -n '/^farswap-needs :=/,/[^\\]$/p' kernel-check.mk | grep -oE '\b[A-Z][A-Z0-9_]+' |
			grep -v '^CONFIG_' | sort) \
		<(sed -n 's/^BUILD_EXCLUSIVE_CONFIG=//p' debian/farswap-dkms.dkms | tr ' "' '\n' |
			sed -n 's/^CONFIG_//p' | sort) || bad=1
	quiet lintian --allow-root --pedantic --tag-display-limit 0 "$tree"/a/*.changes || bad=1
	for file in "$tree"/a/*.deb; do
		dpkg-deb --ctrl-tarfile "$file" | tar -xOf - --wildcards './p*inst' './p*rm' 2>/dev/null
	done | grep -nE 'echo 0 |(stop|restart)[^;]*farswap\.service' |
		grep -v 'To detach: ' && echo "a maintainer script detaches" && bad=1
	rm -rf "$tree"
	return $bad
}

LINTS=$(sed -n 's/^lint_\([a-z_]*\)() {.*/\1/p' "$0")
if [ "${1:-}" = -l ]; then
	sed -n 's/^lint_\([a-z_]*\)() { # \(.*\)/\1: \2/p' "$0"
	exit
fi

# inputs NAME: the files that a slow lint reads, and its scripts
inputs() {
	case $1 in
	checkpatch) matching '\.[ch]$|^Kconfig$|^\.checkpatch\.conf$' ;;
	sparse) matching '^(mm|rdma|include|tools/testing/modules)/|^Makefile$' && echo "$KDIR/.config" ;;
	coccinelle) matching '\.[ch]$|^tools/testing/tree/.*\.patch$' ;;
	shellcheck) shell_files ;;
	clang_tidy) matching '^(daemon|include)/' ;;
	packages) matching '^(debian|daemon|mm|rdma|include)/|^[A-Z]+(\.md)?$|^kernel-check\.mk$|^tools/testing/packages/' ;;
	esac
}

# memory NAME: the file that exists if the lint has passed with the present inputs; none for a quick
# lint
memory() {
	local list
	list=$(inputs "$1")
	[ -z "$list" ] || echo "$CACHE/lint/$1-$({
		cat "$CACHE/kernel/ready" "$CACHE/kernel/lint/ready"
		dpkg-query -W coccinelle sparse shellcheck clang-tidy libc6-dev librdmacm-dev lintian \
			debhelper
		xargs -d '\n' sha256sum tools/testing/lint/lint.sh <<<"$list"
	} | sha256sum | cut -c1-24)"
}

# remember NAME FILE: replace older results; skip it if an input changed during the run
remember() {
	[ -n "$2" ] && [ "$(memory "$1")" = "$2" ] || return
	mkdir -p "$CACHE/lint"
	rm -f "$CACHE/lint/$1"-*
	: >"$2"
}

wanted=()
passed=0
failed=0
[ $# -gt 0 ] || mapfile -t wanted <<<"$LINTS"
for name in "$@" "${wanted[@]}"; do
	known=$(memory "$name")
	if [ $# -eq 0 ] && [ -e "$known" ]; then
		echo "ok   $name, as it was"
		passed=$((passed + 1))
	elif output=$("lint_$name"); then
		remember "$name" "$known"
		echo "ok   $name"
		passed=$((passed + 1))
	else
		echo "FAIL $name"
		echo "    ${output//$'\n'/$'\n'    }"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
