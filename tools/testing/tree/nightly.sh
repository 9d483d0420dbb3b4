#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs what takes too long for make check: all selftests, and chaos, on the debug kernel in both
# hook modes, and on the kernel that looks for data races; chaos for ten minutes with two clients
# and three machines that are both; farswap built in; the newer kernel; every way to lose the
# network; KUnit by the kernel's own program; kselftest in both hook modes; the kernel's own tests;
# the mutants; the fuzzers; the packages' life; a real guest that shrinks. Runs the named steps, or
# all; their output is in out/nightly/STEP. The last line is the total, in which a step without a
# total counts as one.
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
out=$top/out/nightly
seed=${SEED:-$(date +%j)}

usage() {
	echo "usage: nightly.sh [STEP ...]"
	echo "steps: $(steps | cut -d'|' -f1 | tr '\n' ' ')"
}

# steps: "STEP|arguments of make"
steps() {
	for variant in debug debug-attach race; do
		echo "$variant|check-tree VARIANT=$variant"
		echo "chaos-$variant|chaos VARIANT=$variant SEED=$seed SECONDS=120"
	done
	for backup in disk replica; do
		echo "chaos-cluster-$backup|chaos CLIENTS=2 BOTH=3 BACKUP=$backup SEED=$seed SECONDS=600"
	done
	for backup in disk replica none; do
		echo "chaos-protect-$backup|chaos PROTECT=encrypt BACKUP=$backup SEED=$seed SECONDS=300"
	done
	cat <<-STEPS
	builtin|check-tree VARIANT=builtin
	later|check-tree KERNEL=7.3
	inspect-later|inspect KERNEL=7.3
	away|check-away
	kunit|kunit
	kselftest|kselftest
	kernel-selftests|kernel-selftests
	kernel-selftests-direct|kernel-selftests KERNEL=6.12
	coverage|coverage
	mutants|mutants
	fuzz|fuzz SECONDS=1800
	packages|check-packages
	guest|bench-guest
	STEPS
}

# count FILE STATUS: add its totals, and one failure if STATUS is not 0 although the file reports
# none
count() {
	# shellcheck disable=SC2046 # two numbers
	set -- "$2" $(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$1" |
		awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }')
	if [ "$1" -ne 0 ] && [ "$3" -eq 0 ]; then
		set -- "$1" "$2" 1
	elif [ "$1" -eq 0 ] && [ "$2" -eq 0 ]; then
		set -- "$1" 1 "$3"
	fi
	passed=$((passed + $2))
	failed=$((failed + $3))
	echo "== $step: $2 passed, $3 failed ($(($(date +%s) - began)) s)"
}

case ${1:-} in
-*) usage; exit 2 ;;
esac
for step in "$@"; do
	steps | grep -q "^$step|" || {
		echo "nightly: no step $step"
		usage
		exit 2
	}
done
# shellcheck disable=SC2046 # several
[ $# -gt 0 ] || set -- $(steps | cut -d'|' -f1)

mkdir -p "$out"
passed=0
failed=0
for step; do
	words=$(steps | sed -n "s/^$step|//p")
	began=$(date +%s)
	echo "== $step: make $words"
	# shellcheck disable=SC2086 # several
	make -C "$top" --no-print-directory $words >"$out/$step" 2>&1 </dev/null
	status=$?
	count "$out/$step" "$status"
	grep -E '^(FAIL|FAILED|failed)' "$out/$step"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
