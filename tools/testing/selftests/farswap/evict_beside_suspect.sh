#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=replica: one donor of each slab is suspect when the other one evicts its regions. It gets
# them in time: the pages are fetched from it, because the first donor may never answer again.
# cluster: donors=2 mem=192 disks=1 slab_mb=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

becomes_suspect() {
	suspect_resumes=$(donor_field "$gone" resumes)
	cut_off "$gone" && wait_for 30 donor_field_is "$gone" state suspect
}

given_back() {
	stats_save
	on "$asked" 'farswapctl evict all' >"$TMP/evict"
	cat "$TMP/evict"
	grep -q '^[1-9][0-9]* regions evicted: [1-9][0-9]* returned, 0 revoked' "$TMP/evict" &&
		grew fetched && data same lost && donor_field_is "$gone" state suspect
}

is_heard_again() {
	heal "$gone"
	wait_for 60 donor_field_above "$gone" resumes "$suspect_resumes"
}

test_begin 6
lose_ready || skip_rest "no ingress qdisc"
patient_donors 8000 "grace_ms=$((90000 * ${SLOW:-1}))" || bail "no donors"
set_value "$FARSWAP/grace_ms" $((90000 * ${SLOW:-1}))
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" $((1000 * ${SLOW:-1}))
set_value "$FARSWAP/backup" replica
swap_on
make_cgroup beside 6M
check "both donors have the pages" hold_remote held beside 1 2000 -m 13 -n 100 ||
	skip_rest "there are none"
asked=${DONORS%% *}
gone=${DONORS##* }
check "one donor becomes suspect" becomes_suspect || donors_show
check "the other donor gets its regions back meanwhile" given_back || donors_show
go_on held
check --data "memory contents are right while the first donor is suspect" wait_load held
check "its session is resumed" is_heard_again || donors_show
stats_show
check --data "no page is lost" eval 'same lost && stat_is load_lost 0'
test_end
