# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# KTAP output, by the kernel's own helpers, which kernel trees and installed kselftests have beside
# these tests. A part of _lib.sh.

KTAP_HELPERS=${KTAP_HELPERS:-$HERE/../kselftest/ktap_helpers.sh}
[ -r "$KTAP_HELPERS" ] || {
	echo "Bail out! no $KTAP_HELPERS: say KTAP_HELPERS=, which is tools/testing/selftests/kselftest/ktap_helpers.sh of any Linux"
	exit 1
}
# shellcheck source=/dev/null
. "$KTAP_HELPERS"

exec 3>&1

# say TEXT...: a diagnostic line
say() {
	echo "# $*"
}

# result [--data] STATUS DESCRIPTION: print one result; status 0 is success. See check for --data.
result() {
	result_mark=
	[ "$1" != --data ] || {
		result_mark=" # DATA"
		shift
	}
	if [ "$1" -eq 0 ]; then
		ktap_test_pass "$2$result_mark"
	else
		ktap_test_fail "$2$result_mark"
	fi
}

# check [--data] DESCRIPTION COMMAND...: run a command, print its output and its result. With
# --data a failure means wrong, lost or leaked data, or a complaint of the kernel: the result ends
# with "# DATA", and the runner never repeats the test to excuse it. A failure is marked, too, if
# "data" or a program in the command printed a line with "DATA: ".
check() {
	check_mark=
	case $1 in
	--data)
		check_mark=--data
		shift
		;;
	-*) bail "check: unknown option $1 (only --data)" ;;
	esac
	check_what=$1
	shift
	"$@" >"$TMP/check" 2>&1
	check_status=$?
	[ ! -s "$TMP/check" ] || sed 's/^/# /' "$TMP/check"
	[ "$check_status" -eq 0 ] || ! grep -q 'DATA: ' "$TMP/check" || check_mark=--data
	# shellcheck disable=SC2086 # nothing, or a word
	result $check_mark $check_status "$check_what"
	return $check_status
}

# data COMMAND...: one step of a check; if this step fails, the result is marked "# DATA"
data() {
	"$@" && return
	echo "DATA: failed: $*"
	return 1
}

# skip_rest REASON: skip all remaining results and end the test
skip_rest() {
	while [ "$KTAP_TESTNO" -lt "$KSFT_NUM_TESTS" ]; do
		skip_one "$@"
	done
	test_end
}

# skip_one REASON: skip one result
skip_one() {
	ktap_test_skip "$*"
}

# skip_all REASON: skip the whole test, before test_begin
skip_all() {
	ktap_print_header
	ktap_skip_all "$@"
	exit "$KSFT_SKIP"
}

# bail REASON: abort the test; works within a check, too
bail() {
	cleanup
	ktap_exit_fail_msg "$@" >&3
}
