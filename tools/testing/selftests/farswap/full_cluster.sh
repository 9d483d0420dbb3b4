#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# When donors are full, idle slabs are displaced by busy ones: memory in use comes in from donors,
# and displaced pages come in right from the swap device. Slabs in equal use do not displace each
# other.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# Regions of both donors together.
REGIONS=6

# The donors have lent all their regions, and other slabs wait for one.
donors_are_full() {
	stat_is mapped_slabs $REGIONS && lent_is -eq $REGIONS && grew map_failed
}

# At most N slabs were displaced since stats_save.
gave_way_at_most() {
	echo "$(stat_delta slab_gave_way) gave way, $(stat_delta slab_wanted_back) wanted back"
	growth_is -le "$1" slab_gave_way
}

loads_above() {
	[ $(($(stat_of load_remote) + $(stat_of load_device))) -gt "$1" ]
}

# Nine in ten of the next thousand page-ins come from donors. The last slab may be partly used, and
# is then not busy enough at first.
mostly_remote() {
	before_remote=$(stat_of load_remote) before_device=$(stat_of load_device)
	wait_for 20 loads_above $((before_remote + before_device + 1000)) || return 1
	remote=$(($(stat_of load_remote) - before_remote))
	device=$(($(stat_of load_device) - before_device))
	echo "$remote page-ins from donors, $device from the device"
	[ $remote -gt $((9 * device)) ]
}

# The load NAME has run for SECONDS.
load_ran() {
	tail -n 1 "$TMP/$1.log" | awk -v s="$2" '/progress/ { sub(/.*seconds=/, ""); ok = $1 + 0 >= s }
		END { exit !ok }'
}

test_begin 12
slab_mb=$(cat "$FARSWAP/slab_mb" 2>/dev/null || echo 8)
patient_donors 20000 "memory=$((REGIONS * slab_mb / 2))M" || bail "no donors"
farswap_up 2
[ "$(cat "$FARSWAP/slab_mb")" = "$slab_mb" ] || skip_rest "slabs of another size"
swap_on
make_cgroup cold 8M
make_cgroup hot 8M
check "idle memory goes out to donors" \
	hold_remote cold cold 1 $((REGIONS * slab_mb * 128)) -m $(((REGIONS + 2) * slab_mb))
check "the donors are full" wait_for 20 donors_are_full
echo 4 >"$FARSWAP/hotslab"
# The load only reads from now on, so that its pages keep their slots.
start_load hot hot -m $((3 * slab_mb)) -w 0 -d 200 -i 5
check "idle slabs are displaced by busy ones" wait_for 60 grew slab_gave_way promoted
check "memory in use comes in from donors" wait_for 60 mostly_remote
# A slab that gets no page in ten seconds, on a slow machine, gives its region back (slab_cold).
check "the same regions are reused" eval \
	'wait_for 20 lent_is -eq $REGIONS && same slab_evicted slab_lost slab_unmapped'
check "no more slabs are displaced than there are" gave_way_at_most $REGIONS
check --data "memory contents of the slabs in use are right" stop_load hot
go_on cold
check --data "memory contents of the displaced slabs are right" wait_load cold
make_cgroup wide 16M
stats_save
start_load wide wide -m $(((REGIONS + 4) * slab_mb)) -w 0 -d 200 -i 4
check "a program uses more memory than the donors have" wait_for 60 load_ran wide 20
check "slabs in equal use do not displace each other" gave_way_at_most $((REGIONS + 3))
check --data "its memory contents are right" stop_load wide
stats_show
check --data "no page is lost" same load_lost
test_end
