#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor that was killed and restarted is an ordinary donor: it gets slabs again, and nothing that
# it held before is trusted.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

holds_pages() {
	[ "$(donor_pages "$1")" -gt 100 ]
}

test_begin 9
farswap_up 2
swap_on
make_cgroup returns 12M
start_load returns returns -m 24 -p 2 -d 280 -r 70 -w 50 -i 10
check "pages go out to donors" wait_for 60 stat_above remote_pages 2000
first=$(donor_of_most)
second=$(donors_but "$first" | head -n 1)
say "killing $first, then $second"
donor_kill "$first"
check "the loss is detected" wait_for 60 donor_is_not_live "$first"
check "the donor starts again" donor_start "$first"
check "it is in use again" wait_for 60 donor_is_live "$first" || donors_show
# Now only its memory is available.
donor_kill "$second"
check "slabs are mapped on it again" wait_for 90 holds_pages "$first"
stats_save
check "pages go out to it and come in" wait_for 60 grew store_remote load_remote
check --data "memory contents are right" stop_load returns
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
