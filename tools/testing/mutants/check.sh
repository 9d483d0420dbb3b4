#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Takes one precaution after the other away, as the patches here say, and has the test
# that each names run: it must fail. A test that fails by chance only has "Tries: N" below its name,
# and must fail once in N runs. With names, only those; with -l, lists them. A few minutes each.
# KDIR= as for make. The tests' output stays in out/mutants/NAME.

set -u
cd "$(dirname "$0")/../../.." || exit 1
here=tools/testing/mutants
out=$PWD/out/mutants
tree=$out/tree
KDIR=${KDIR:-$(tools/testing/qemu/fetch.sh --kdir)}

all() {
	for file in "$here"/*.patch; do
		basename "$file" .patch
	done
}

what_of() {
	sed -n 2p "$here/$1.patch"
}

test_of() {
	sed -n 's/^Test: //p' "$here/$1.patch"
}

# A copy of this tree, with uncommitted changes.
copy_tree() {
	rm -rf "$tree" && mkdir -p "$out" && git clone -q . "$tree" || return 1
	git diff --binary HEAD >"$out/diff"
	[ ! -s "$out/diff" ] || git -C "$tree" apply "$out/diff"
}

build() {
	make -s -C "$tree" --no-print-directory "KDIR=$KDIR" "$@" >"$out/build" 2>&1 && return
	tail -n 5 "$out/build"
	return 1
}

tries_of() {
	tries=$(sed -n 's/^Tries: //p' "$here/$1.patch")
	seq "${tries:-1}"
}

run_test() {
	case $1 in
	"kunit "*)
		"$tree/tools/testing/tree/kunit.sh" "${1#kunit }" && return
		echo "FAIL $1"
		return 1
		;;
	"unit "*)
		make -s -C "$tree/tools/testing/unit" "../../../out/unit/${1#unit }" &&
			"$tree/out/unit/${1#unit }" && return
		echo "FAIL $1"
		return 1
		;;
	"lint "*) (cd "$tree" && KDIR=$KDIR tools/testing/lint/lint.sh "${1#lint }") ;;
	*) "$tree/tools/testing/qemu/run-selftests.py" --timeout 240 "$1" ;;
	esac
}

# mutant NAME: good if its test fails
mutant() {
	git -C "$tree" apply "$PWD/$here/$1.patch" || return 1
	build modules daemon || {
		git -C "$tree" apply -R "$PWD/$here/$1.patch"
		return 1
	}
	mutant_lives=1
	for _ in $(tries_of "$1"); do
		run_test "$(test_of "$1")" >"$out/$1" 2>&1 || mutant_lives=0
		[ $mutant_lives = 1 ] || break
	done
	git -C "$tree" apply -R "$PWD/$here/$1.patch"
	grep -E '^(FAIL|ok|skip) ' "$out/$1" | cut -c 1-100
	[ "$mutant_lives" = 0 ] && grep -q '^FAIL ' "$out/$1"
}

if [ "${1:-}" = -l ]; then
	for name in $(all); do
		echo "$name ($(test_of "$name")): $(what_of "$name")"
	done
	exit
fi
# shellcheck disable=SC2046 # names are words
[ $# -gt 0 ] || set -- $(all)
for name; do
	[ -e "$here/$name.patch" ] || {
		echo "mutants: no $here/$name.patch; there are: $(all | tr '\n' ' ')"
		exit 1
	}
done
if ! { copy_tree && build modules daemon tests; }; then
	echo "mutants: the tree as it is does not build"
	exit 1
fi
echo "TAP version 13"
echo "1..$#"
number=0
failed=0
for name; do
	number=$((number + 1))
	result=ok
	mutant "$name" >"$out/said" || result="not ok"
	sed 's/^/# /' "$out/said"
	echo "$result $number - $name, $(test_of "$name"): $(what_of "$name")"
	[ "$result" = ok ] || failed=$((failed + 1))
done
rm -rf "$tree"
[ $failed = 0 ]
