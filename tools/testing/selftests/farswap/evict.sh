#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Donors evict regions under load: all of them, repeatedly; some of them, for which they ask first
# how busy each is and get the idle ones; and with a deadline that passes, after which the rkey is
# revoked with I/O in flight.
# cluster: donors=2 mem=192 disks=2 slab_mb=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

evict_rounds() {
	for evict_round in 1 2; do
		stats_save
		for evict_donor in $DONORS; do
			on "$evict_donor" 'farswapctl evict all' >"$TMP/evicted" &&
				cat "$TMP/evicted" &&
				grep -q ' [1-9][0-9]* returned' "$TMP/evicted" || return 1
		done
		wait_for 20 grown slab_evicted 3 && wait_for 20 grown slab_mapped 3 || return 1
		echo "round $evict_round: slab_evicted $(stat_of slab_evicted)"
	done
}

# slabs_held: slabs of the evicting donor, and how busy each is
slabs_held() {
	awk -v a="$asked" 'index($4, a ":") == 1 || $4 == a { print $1 "/" $2, $7 }' \
		"$FARSWAP_DEBUG/slabs"
}

# Page I/Os a second of an idle slab, and of a busy one: tens, but for a slow machine.
IDLE=2
BUSY=$((8 / ${SLOW:-1}))
[ "$BUSY" -ge "$IDLE" ] || BUSY=$IDLE

# nr_idle DONOR: number of its slabs with pages that are idle
nr_idle() {
	awk -v a="$1" -v idle="$IDLE" \
		'(index($4, a ":") == 1 || $4 == a) && $5 > 0 && $7 <= idle { n++ }
		END { print n + 0 }' "$FARSWAP_DEBUG/slabs"
}

# Choose the donor with the most idle slabs, once those of the first device are idle; all were left
# alone at the same time, but for those with pages of others, like this shell.
idle_and_busy() {
	awk -v idle="$IDLE" 'NR > 1 && $1 == 0 && $7 > idle { busy++ } END { exit (busy > 3) }' \
		"$FARSWAP_DEBUG/slabs" || return 1
	asked=
	for idle_donor in $DONORS; do
		[ -n "$asked" ] && [ "$(nr_idle "$asked")" -ge "$(nr_idle "$idle_donor")" ] ||
			asked=$idle_donor
	done
	[ "$(nr_idle "$asked")" -ge 3 ] &&
		[ "$(slabs_held | awk -v busy="$BUSY" '$2 > busy' | wc -l)" -ge 2 ]
}

# evict_one: an idle slab goes; returns 2 if that is unknown, because other slabs came or went
# meanwhile
evict_one() {
	idle_checks=$(donor_metric "$asked" activity_checks_total)
	idle_done=$(donor_metric "$asked" 'returns_total{how="done"}')
	slabs_held | sort >"$TMP/held"
	stats_save
	on "$asked" "farswapctl evict 1" >"$TMP/evicted"
	grep -q "^1 regions evicted: 1 returned, 0 revoked" "$TMP/evicted" || return 1
	slabs_held | cut -d' ' -f1 | sort >"$TMP/held.now"
	idle_gone=$(cut -d' ' -f1 "$TMP/held" | grep -vxFf "$TMP/held.now")
	echo "gone: $idle_gone of $(tr '\n' ',' <"$TMP/held")"
	for idle_stat in slab_cold slab_moved replica_mapped replica_left stopgap; do
		echo "$idle_stat grew by $(stat_delta "$idle_stat")"
	done
	# The slab was empty, and was being given back before the donor asked.
	if [ "$(stat_delta slab_evicted)" -eq 0 ] && [ "$(stat_delta slab_cold)" -gt 0 ]; then
		return 2
	fi
	grew slab_evicted && [ "$(stat_delta slab_evicted)" -eq 1 ] &&
		donor_metric_is "$asked" activity_checks_total -gt "$idle_checks" &&
		donor_metric_is "$asked" 'returns_total{how="done"}' -eq $((idle_done + 1)) || return 1
	echo "$idle_gone" | awk -v idle="$IDLE" '
		NR == FNR { gone[$1] }
		NR > FNR && $1 in gone { $2 <= idle ? was_idle++ : was_busy++ }
		END { exit !was_idle == !was_busy ? 2 : !!was_busy }' - "$TMP/held"
	case $? in
	0) idle_nr=$((idle_nr + 1)) ;;
	1) ;;
	*) return 2 ;;
	esac
}

# The donor asks about one region and four more at random. Near the end none of them is idle in one
# case of ten; without the query it would be at least every second case.
evict_some() {
	idle_nr=0
	some_known=0
	some_until=$(($(date +%s) + 100 * ${SLOW:-1}))
	for some_round in 1 2 3 4 5 6 7 8 9 10 11 12; do
		echo "round $some_round"
		[ "$(date +%s)" -lt "$some_until" ] || { echo "too slow"; return 1; }
		wait_for 90 idle_and_busy || { cat "$FARSWAP_DEBUG/slabs"; return 1; }
		evict_one
		case $? in
		0) some_known=$((some_known + 1)) ;;
		2) ;;
		*) return 1 ;;
		esac
		[ "$some_known" -lt 6 ] || break
	done
	echo "$idle_nr of $some_known had been idle"
	[ "$some_known" -eq 6 ] && [ "$idle_nr" -ge 4 ]
}

none_was_lost() {
	stat_is slab_lost "$evict_lost" && stat_is donor_down "$evict_down"
}

hasty_restart() {
	donor_kill "$asked" && wait_for 60 donor_is_not_live "$asked" &&
		donor_start "$asked" evict_ms=1 && wait_for 60 donor_is_live "$asked"
}

# In-flight I/O of the client is lost on the network, so that the client cannot give a region back
# in time; the I/O is retransmitted after the rkey was revoked.
# A hedge would replace a read before it fails.
deadline_passes() {
	set_value "$FARSWAP/hedge" 0
	stats_save
	lose "$CLIENT" "$asked" 1 || return 1
	sleep 0.2
	on "$asked" 'farswapctl evict all'
	lose_none "$asked"
	donor_metric_is "$asked" 'returns_total{how="revoked"}' -gt 0 &&
		wait_for 30 eval 'grew load_fallback || grew store_write_failed'
}

test_begin 15
lose_ready || skip_rest "no ingress qdisc"
# Restart the donors: they may keep regions of an earlier test, and would evict these first.
for donor in $DONORS; do
	donor_kill "$donor"
	donor_start "$donor" || bail "no donors"
done
farswap_up 2
swap_on
make_cgroup evict 16M
# These pages stay remote, in slabs that become idle.
evict_lost=$(stat_of slab_lost)
evict_down=$(stat_of donor_down)
check "idle pages are remote" hold_remote idle evict 1 4000 -m 56 -n 1 ||
	skip_rest "there are none"
# Otherwise the kernel would put new pages into the same slabs.
swap_on "$SWAP_DISK2" 10
start_load evict evict -m 28 -p 2 -d 250 -r 50 -w 50 -i 10
check "busy pages are remote" wait_for 60 grown load_remote 500
check "a partial eviction prefers idle slabs" evict_some
stats_save
check "all slabs are evicted and mapped again, repeatedly" evict_rounds
check "the donors are still in use" donors_live 2
check "no slab is lost by that" none_was_lost
asked=${DONORS%% *}
check "a donor waits 1 ms" hasty_restart || donors_show
echo "$asked" >"$FARSWAP/donors"
stats_save
check "the other donor is not used" wait_for 60 grown store_remote 500
check "rkeys are revoked with I/O in flight, which fails" deadline_passes
check "the load still runs" load_runs evict
check --data "memory contents are right" stop_load evict
go_on idle
check --data "memory contents of the idle load are right" wait_load idle
stats_show
check "the donor is still in use" wait_for 60 donors_live 1 || donors_show
donor_kill "$asked"
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
