#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=replica: farswap detaches while one donor of each slab is suspect, and the other one fails
# for a moment. All pages are fetched from the latter, without waiting for the former. Then one
# donor fails while pages are fetched from both: the other one also serves the reads that failed.
# cluster: donors=2 mem=192 disks=1 slab_mb=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# The first donor of the slabs with the most pages.
first_of_most() {
	awk 'NR > 1 { split($4, donors, ","); pages[donors[1]] += $5 }
		END { for (i in pages) if (pages[i] > most) { most = pages[i]; first = i }
		print first }' "$FARSWAP_DEBUG/slabs"
}

# The donor's state is not "suspect" while it is removed, so compare the counter.
becomes_suspect() {
	suspect_times=$(donor_field "$1" suspects)
	cut_off "$1" && wait_for 30 donor_field_above "$1" suspects "$suspect_times"
}

# Slowly enough that the other donor fails meanwhile.
detaches() {
	stats_save
	host iops "${SWAP_DISK##*/}" 20 || return 1
	echo 0 >"$FARSWAP/attached" &
	detach_pid=$!
	wait_for 20 grew fetched && becomes_suspect "$other"
}

# Long before the first donor's grace is over.
detached() {
	host iops "${SWAP_DISK##*/}" 0
	wait_for 40 eval '! kill -0 "$detach_pid"' 2>/dev/null
	detached_status=$?
	heal "$gone"
	wait "$detach_pid" && return "$detached_status"
}

# The first donor stays unreachable.
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
	# Some reads from it have been started.
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
# No more slabs than are evacuated at once.
check "both donors have the pages" hold_remote held suspect 1 2000 -m 13 -n 100 ||
	skip_rest "there are none"
gone=$(first_of_most)
other=${DONORS%% *}
[ "$other" != "$gone" ] || other=${DONORS##* }
check "one donor becomes suspect" becomes_suspect "$gone" || donors_show
check "the other donor becomes suspect during the evacuation" detaches || donors_show
check "its session is resumed with all pages" comes_home || donors_show
check --data "no page is lost" same lost
echo 1 >"$FARSWAP/attached"
go_on held
check --data "memory contents are right" wait_load held
wait_for 60 donors_live 2 || donors_show
check "both donors have the pages again" hold_remote again suspect 1 2000 -m 13 -n 100 ||
	skip_rest "there are none"
gone=$(first_of_most)
# When its reads fail, the other donor has served everything else.
set_value "$FARSWAP/io_timeout_ms" $((6000 * ${SLOW:-1}))
check "one donor fails while pages are fetched from both" falls_silent || donors_show
go_on again
check --data "memory contents are right then" wait_load again
stats_show
check --data "no page is lost" eval 'same lost && stat_is load_lost 0'
test_end
