# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# A test's output: KTAP. A part of _lib.sh.

tap_planned=0
tap_number=0
tap_failed=0
tap_skipped=0

# say TEXT...: a diagnostic line
say() {
	echo "# $*"
}

# result STATUS DESCRIPTION: one result; STATUS 0 is good
result() {
	tap_number=$((tap_number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_number $2"
	else
		echo "not ok $tap_number $2"
		tap_failed=$((tap_failed + 1))
	fi
}

# check DESCRIPTION COMMAND...: the result of a command, its output beside it
check() {
	check_what=$1
	shift
	"$@" >"$TMP/check" 2>&1
	check_status=$?
	sed 's/^/# /' "$TMP/check"
	result $check_status "$check_what"
	return $check_status
}

# skip_rest REASON: the results still owed are skipped; ends the test
skip_rest() {
	while [ $((tap_number + 1)) -lt "$tap_planned" ]; do
		skip_one "$@"
	done
	test_end
}

# skip_one REASON: one result is skipped
skip_one() {
	tap_number=$((tap_number + 1))
	tap_skipped=$((tap_skipped + 1))
	echo "ok $tap_number # SKIP $*"
}

# skip_all REASON: before test_begin
skip_all() {
	echo "TAP version 13"
	echo "1..0 # SKIP $*"
	exit "$KSFT_SKIP"
}

# bail REASON: no use going on
bail() {
	echo "Bail out! $*"
	cleanup
	exit "$KSFT_FAIL"
}
