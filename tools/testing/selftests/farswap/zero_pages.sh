#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Pages that become all zero are kept in the kernel's zero map: a stale copy in remote memory must
# never be read, and a page that is no longer zero must not be taken for zero. No hook reports
# that: attached, the stale copy stays. A kernel that calls farswap reports it, and the copy is
# dropped at once.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# has_read LOAD N: it has read more than N pages
has_read() {
	read_pages=$(sed -n 's/.* reads=\([0-9]*\).*/\1/p' "$TMP/$1.log" | tail -n 1)
	echo "$1 has read ${read_pages:-0} pages"
	[ "${read_pages:-0}" -gt "$2" ]
}

# all_turn_zero: remote pages are read and rewritten with zeroes, repeatedly
all_turn_zero() {
	echo 8M >"$CGROUP/zero/memory.high"
	hold_remote zeroes zero 1 3500 -m 16 -q -w 100 -z 100 -Z -d 600 -i 1 || return 1
	go_on zeroes
	wait_for 100 has_read zeroes 8192
}

# old_copies_go: copies from before the zeroes are dropped
old_copies_go() {
	wait_for 30 eval '[ "$(stat_of remote_pages)" -lt 40 ]'
	old_status=$?
	echo "of 4096 pages, all zero, $(stat_of remote_pages) still have the remote bit"
	return "$old_status"
}

test_begin 7
farswap_up 2
swap_on
make_cgroup zero 24M
check --data "pages that turn zero and back are right" \
	in_cgroup zero "$LOAD" -m 40 -p 2 -n 2000 -w 70 -z 50 -u 4
stats_show
check "pages went out to donors and came in" grew store_remote load_remote
check --data "no page is lost" same load_lost
check --data "no remote bit outlives its slot" no_orphaned_pages
check "remote pages turn zero" all_turn_zero
reclaim zero
if is_direct; then
	check "the stale copies are dropped" old_copies_go
else
	skip_one "attached: the kernel does not tell of pages that turn zero"
fi
check --data "pages that turned zero are right" stop_load zeroes
test_end
