#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Donors ask for their memory back under load: all of it, again and again; some,
# for which they ask first how busy it is, and get what is idle; and with a
# deadline that passes, after which the key dies with I/O in flight.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

evict_rounds() {
	for evict_round in 1 2 3; do
		evict_before=$(stat_of slab_evicted)
		for evict_donor in $DONORS; do
			on "$evict_donor" 'farswapctl evict all' || return 1
		done
		wait_for 20 stat_above slab_evicted "$evict_before" || return 1
		wait_for 20 stat_above remote_pages 100 || return 1
		echo "round $evict_round: slab_evicted $(stat_of slab_evicted)"
	done
}

# metric METRIC: of the daemon that is asked
metric() {
	on "$asked" 'farswapctl metrics' | grep "^farswapd_$1 " | cut -d' ' -f2
}

# slabs_held: those the asked donor has, and how busy each is
slabs_held() {
	awk -v a="$asked" 'index($4, a ":") == 1 || $4 == a { print $2, $7 }' "$FARSWAP_DEBUG/slabs"
}

# nr_held CONDITION on $2, how busy a slab is
nr_held() {
	slabs_held | awk "$1 { n++ } END { print n + 0 }"
}

idle_and_busy() {
	slabs_held
	[ "$(nr_held '$2 == 0')" -ge 3 ] && [ "$(nr_held '$2 > 0')" -ge 2 ]
}

# evict_idle N: that many go, each of which had been idle; who is busy stays
evict_idle() {
	idle_checks=$(metric activity_checks_total)
	idle_done=$(metric 'returns_total{how="done"}')
	slabs_held | sort >"$TMP/held"
	stats_save
	on "$asked" "farswapctl evict $1" | tee "$TMP/evicted"
	grep -q "^$1 regions evicted: $1 given back, 0 killed" "$TMP/evicted" || return 1
	slabs_held | cut -d' ' -f1 | sort >"$TMP/held.now"
	cut -d' ' -f1 "$TMP/held" | grep -vxFf "$TMP/held.now" >"$TMP/gone"
	echo "asked $(metric activity_checks_total) times, before $idle_checks; gone:" \
		"$(tr '\n' ' ' <"$TMP/gone")of: $(tr '\n' ',' <"$TMP/held")"
	grew slab_evicted && [ "$(stat_delta slab_evicted)" -eq "$1" ] &&
		[ "$(metric activity_checks_total)" -gt "$idle_checks" ] &&
		[ "$(metric 'returns_total{how="done"}')" -eq $((idle_done + $1)) ] &&
		[ "$(wc -l <"$TMP/gone")" -eq "$1" ] || return 1
	while read -r idle_slab; do
		grep -qx "$idle_slab 0" "$TMP/held" || return 1
	done <"$TMP/gone"
}

# evict_sampled N: the donor asks about N and some at random, and one time in
# thirty there are too few idle ones among them
evict_sampled() {
	evict_idle "$1" || { wait_for 30 idle_and_busy && evict_idle "$1"; }
}

evict_some() {
	for some_donor in $DONORS; do
		asked=$some_donor
		wait_for 30 idle_and_busy && evict_sampled 1 && evict_sampled 2 || return 1
	done
}

hasty_restart() {
	donor_kill "$asked" && wait_for 60 donor_is_not_live "$asked" &&
		donor_start "$asked" evict_ms=1 && wait_for 60 donor_is_live "$asked"
}

# What the client has in flight is lost on the way, so it can't give anything
# back in time, and is sent again when the key is dead.
deadline_passes() {
	lose "$CLIENT" "$asked" 1 || return 1
	sleep 0.2
	on "$asked" 'farswapctl evict all'
	lose_none "$asked"
	echo "killed: $(metric 'returns_total{how="killed"}')"
	[ "$(metric 'returns_total{how="killed"}')" -gt 0 ] &&
		wait_for 30 eval 'grew load_fallback || grew store_write_failed'
}

test_begin 15
lose_ready || skip_rest "no ingress qdisc"
farswap_up 2
swap_on
make_cgroup evict 24M
# Its pages stay out, in slabs that get idle.
start_load idle evict -m 48 -p 1 -H "$TMP/idle.hold" -O -n 1 -i 0
check "pages are remote that nobody uses" eval \
	'wait_for 60 load_ready idle 1 && stat_above remote_pages 4000'
start_load evict evict -m 48 -p 2 -d 250 -w 50 -i 10
check "pages are remote that are in use" wait_for 60 grown load_remote 500
check "some slabs evicted: the donor asks, and those go that are idle" evict_some
stats_save
check "all slabs evicted, and mapped again, time after time" evict_rounds
check "the donors are still in use" donors_live 2
check "no slab was lost over it" same slab_lost donor_down
asked=${DONORS%% *}
check "a donor that waits 1 ms" hasty_restart || donors_show
echo "$asked" >"$FARSWAP/donors"
stats_save
check "it is used alone" wait_for 60 grown store_remote 500
check "keys die with I/O in flight, which fails" deadline_passes
check "the load still runs" load_runs evict
check "memory was right all the time" stop_load evict
go_on idle
check "and what was left alone" wait_load idle
stats_show
check "the donor is used after that" wait_for 60 donors_live 1 || donors_show
donor_kill "$asked"
check "no page was lost" stat_is load_lost 0
check "no remote bit outlives its slot" no_remote_bits
test_end
