#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=replica: farswap is detached while one donor of each slab is suspect, and the other one
# falls silent for a moment. All pages come home from that, and the first one is not waited for.
# And one falls silent while pages come home from both: the other one has those, too, that were
# being read from it.
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

# Long before the first one's grace is over.
detached() {
	host iops "${SWAP_DISK##*/}" 0
	wait_for 40 eval '! kill -0 "$detach_pid"' 2>/dev/null
	detached_status=$?
	heal "$gone"
	wait "$detach_pid" && return "$detached_status"
}

# The cut at the first one's end stays.
comes_home() {
	heal "$other"
	wait_for 30 donor_field_above "$other" resumes 0
	home_status=$?
	detached && return "$home_status"
}

falls_silent() {
	stats_save
	host iops "${SWAP_DISK##*/}" 50 || return 1
	echo 0 >"$FARSWAP/attached" &
	detach_pid=$!
	wait_for 20 grew fetched
	silent_status=$?
	cut_off "$gone"
	# Some of its are begun to be read.
	sleep 0.5
	detached && return "$silent_status"
}

test_begin 10
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
gone=$(first_of_most)
other=${DONORS%% *}
[ "$other" != "$gone" ] || other=${DONORS##* }
check "one is suspect" becomes_suspect "$gone" || donors_show
check "the other is, too, while all is brought home" detaches || donors_show
check "it is heard again, and has all" comes_home || donors_show
check --data "nothing is lost" same lost
echo 1 >"$FARSWAP/attached"
go_on held
check --data "memory is right" wait_load held
wait_for 60 donors_live 2 || donors_show
check "pages are at both donors again" hold_remote again suspect 1 2000 -m 13 -n 100 ||
	skip_rest "there are none"
gone=$(first_of_most)
# By the time that its reads fail the other one has given all else.
set_value "$FARSWAP/io_timeout_ms" $((6000 * ${SLOW:-1}))
check "one falls silent while pages come home from both" falls_silent || donors_show
go_on again
check --data "memory is right then" wait_load again
stats_show
check --data "no page was lost" eval 'same lost && stat_is load_lost 0'
test_end
