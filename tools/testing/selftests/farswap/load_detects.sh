#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The load generator detects a stale page, a zero page, another page and a single wrong bit. The
# other tests rely on that.
# cluster: donors=0 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

sees() {
	"$LOAD" -b "$@" >"$TMP/seen"
	sees_status=$?
	cat "$TMP/seen"
	[ "$sees_status" -eq 1 ] && grep -q "wrong_pages=4" "$TMP/seen" &&
		for sees_what in "another generation of this page" "all zero" \
			"found another page" "torn .*, 1 words wrong"; do
			grep -Eq "$sees_what" "$TMP/seen" || return 1
		done
}

test_begin 4
check --data "load accepts right memory" "$LOAD" -m 8 -p 2 -n 2000 -z 10 -u 20
check --data "load finds wrong private memory" sees -m 2
check --data "load finds wrong shared memory" sees -m 2 -t shmem
swap_on
make_cgroup detects 16M
check --data "load accepts right memory that was swapped" \
	in_cgroup detects "$LOAD" -m 28 -p 2 -n 1000 -z 10
test_end
