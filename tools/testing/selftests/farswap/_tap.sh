# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# A test's output: KTAP, by the kernel's own helpers, which a kernel's tree and what it
# installs have beside these tests. A part of _lib.sh.

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

# result STATUS DESCRIPTION: one result; STATUS 0 is good
result() {
	if [ "$1" -eq 0 ]; then
		ktap_test_pass "$2"
	else
		ktap_test_fail "$2"
	fi
}

# check DESCRIPTION COMMAND...: the result of a command, its output beside it
check() {
	check_what=$1
	shift
	"$@" >"$TMP/check" 2>&1
	check_status=$?
	[ ! -s "$TMP/check" ] || sed 's/^/# /' "$TMP/check"
	result $check_status "$check_what"
	return $check_status
}

# skip_rest REASON: the results still owed are skipped; ends the test
skip_rest() {
	while [ "$KTAP_TESTNO" -lt "$KSFT_NUM_TESTS" ]; do
		skip_one "$@"
	done
	test_end
}

# skip_one REASON: one result is skipped
skip_one() {
	ktap_test_skip "$*"
}

# skip_all REASON: before test_begin
skip_all() {
	ktap_print_header
	ktap_skip_all "$@"
	exit "$KSFT_SKIP"
}

# bail REASON: no use going on; it is said where results are, from within a check too
bail() {
	cleanup
	ktap_exit_fail_msg "$@" >&3
}
