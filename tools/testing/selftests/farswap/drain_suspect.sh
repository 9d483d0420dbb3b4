#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=replica: farswap is detached while one donor of each slab is suspect, and the other one
# falls silent for a moment. All pages come home from that before the first one is heard again.
# cluster: donors=2 mem=192 disks=1 slab_mb=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# The first one of the slabs that have most pages.
first_of_most() {
	awk 'NR > 1 { split($4, donors, ","); pages[donors[1]] += $5 }
		END { for (i in pages) if (pages[i] > most) { most = pages[i]; first = i }
		print first }' "$FARSWAP_DEBUG/slabs"
}

# Its state is another one while it leaves.
becomes_suspect() {
	suspect_times=$(donor_field "$1" suspects)
	cut_off "$1" && wait_for 30 donor_field_above "$1" suspects "$suspect_times"
}

# So slowly that the other falls silent meanwhile.
detaches() {
	stats_save
	host iops "${SWAP_DISK##*/}" 20 || return 1
	echo 0 >"$FARSWAP/attached" &
	detach_pid=$!
	wait_for 20 grew fetched && becomes_suspect "$other"
}

# The cut at the first one's end stays.
comes_home() {
	heal "$other"
	wait_for 30 donor_field_above "$other" resumes 0
	home_status=$?
	host iops "${SWAP_DISK##*/}" 0
	[ "$home_status" -eq 0 ] && wait_for 30 grown fetched $((pages * 9 / 10)) &&
		[ "$(donor_field "$gone" resumes)" -eq 0 ] && kill -0 "$detach_pid"
}

ends() {
	heal "$gone"
	wait "$detach_pid" && same lost slab_lost
}

test_begin 7
lose_ready || skip_rest "no ingress qdisc"
farswap_load
set_value "$FARSWAP/grace_ms" $((90000 * ${SLOW:-1}))
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" $((1000 * ${SLOW:-1}))
set_value "$FARSWAP/backup" replica
set_value "$FARSWAP/staging_mb" 1
swap_on
make_cgroup suspect 6M
# No more slabs than are drained at once.
check "pages are at both donors" hold_remote held suspect 1 2000 -m 13 -n 100 ||
	skip_rest "there are none"
pages=$(stat_of remote_pages)
gone=$(first_of_most)
other=${DONORS%% *}
[ "$other" != "$gone" ] || other=${DONORS##* }
check "one is suspect" becomes_suspect "$gone" || donors_show
check "the other is, too, while all is brought home" detaches || donors_show
check "it is heard again, and has all" comes_home || donors_show
check "so is the first, and nothing is lost" ends
echo 1 >"$FARSWAP/attached"
go_on held
check "memory is right" wait_load held
stats_show
check "no page was lost" stat_is load_lost 0
test_end
