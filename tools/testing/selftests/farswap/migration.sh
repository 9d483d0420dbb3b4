#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Live migration: when a donor evicts regions, the pages of busy slabs migrate to another donor and
# are read from there, without disk reads. If that donor dies meanwhile, or there is none, they are
# on the disk or are fetched.
# cluster: donors=3 mem=192 disks=1 slab_mb=2 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# evict_moves ADDRESS: evict all its regions; slabs that are idle need not migrate
evict_moves() {
	moves_had=$(donor_field "$1" slabs)
	echo "$1 has $moves_had slabs"
	[ "$moves_had" -gt 0 ] || return 1
	stats_save
	on "$1" 'farswapctl evict all' || return 1
	wait_for 20 grown slab_moved $((moves_had / 2)) || return 1
	sleep 1
	grew moved load_remote slab_evicted || return 1
	moves_device=$(stat_delta load_device)
	moves_remote=$(stat_delta load_remote)
	echo "$moves_remote pages read from donors, $moves_device from the disk"
	# In-flight page-outs weigh more where fewer pages are read.
	[ $((moves_device * 100)) -le $((moves_remote * ${SLOW:-1})) ] && same slab_lost
}

# Retry once: on a busy machine a donor may be suspect meanwhile.
evict_each() {
	for each_donor in $DONORS; do
		wait_for 90 reads_are_remote 4000 || return 1
		evict_moves "$each_donor" && continue
		wait_for 90 reads_are_remote 4000 && evict_moves "$(donor_of_most)" || return 1
	done
}

# evict_in_turn PAUSE: evict all regions of each donor
evict_in_turn() {
	for turn_donor in $DONORS; do
		on "$turn_donor" 'farswapctl evict all' || return 1
		sleep "$1"
	done
}

# The remaining donor with the most pages has more than two slabs.
has_slabs() {
	die_from=$(donor_of_most)
	echo "$die_left" | grep -qwF "${die_from:-none}" && donor_field_above "$die_from" slabs 2
}

# Two of the three donors die while slabs migrate to them, one after the other.
targets_die() {
	die_left=$DONORS
	for die_round in 1 2; do
		echo "round $die_round"
		wait_for 60 has_slabs || return 1
		for die_donor in $die_left; do
			[ "$die_donor" = "$die_from" ] || break
		done
		die_left=$(echo "$die_left" | tr ' ' '\n' | grep -vxF "$die_donor")
		donor_touch "$die_donor"
		on "$die_from" 'farswapctl evict all' >"$TMP/evict" &
		die_evict=$!
		sleep 0.2
		on "$die_donor" "$KILL_FARSWAPD" || return 1
		wait "$die_evict"
		cat "$TMP/evict"
		grep -q '^[1-9][0-9]* regions evicted' "$TMP/evict" || return 1
	done
	load_runs busy
}

nowhere_to_go() {
	wait_for 60 has_slabs || return 1
	stats_save
	on "$die_from" 'farswapctl evict all' || return 1
	wait_for 20 grew slab_evicted && same moved slab_moved
}

only_donors_have() {
	[ $(($(stat_of remote_pages) - $(stat_of backed_pages))) -gt "$1" ]
}

test_begin 11
# A quarter of evict_ms is for migration.
patient_donors 40000 || bail "no donors"
farswap_up 3
swap_on
make_cgroup migration 16M
# In order, so that each page is soon read once and is on a donor from then on.
start_load reader migration -m 28 -p 2 -r 75 -w 0 -q -d 250 -i 0
check "every page is remote" wait_for 120 reads_are_remote 2800 7700
check "each donor is evicted: its slabs migrate without disk reads" evict_each
check --data "memory contents are right" stop_load reader
start_load busy migration -m 28 -p 2 -r 70 -w 50 -u 3 -o 5 -z 3 -d 250 -i 0
wait_for 60 stat_above remote_pages 2000
stats_save
check "migration with concurrent writes and frees" eval \
	'evict_in_turn 0.5 && grew slab_moved moved && same slab_lost && load_runs busy'
set_value "$FARSWAP/backup" none
wait_for 30 only_donors_have 500
stats_save
check "migration with sole copies" eval \
	'evict_in_turn 1 && grew slab_moved moved && data same lost load_lost && same slab_lost &&
	load_runs busy'
set_value "$FARSWAP/backup" disk
# Detaching fetches all pages, so that none depends on one donor.
echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached"
wait_for 60 donors_live 3 || donors_show
check "the target of a migration dies" targets_die
check "migration without another donor" nowhere_to_go
check --data "memory contents are right" stop_load busy
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no sole copy is lost" stat_is lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
for donor in $DONORS; do
	on "$donor" "$KILL_FARSWAPD"
done
test_end
