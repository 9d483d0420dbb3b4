#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=none: a donor is removed, and its pages are evacuated to a disk that is so slow that this
# takes minutes. Another donor evicts regions meanwhile: it does not wait for that, and no page is
# lost.
# cluster: donors=2 mem=192 disks=1 slab_mb=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# slabs_of DONOR N: it has more than N slabs of sole copies
slabs_of() {
	donor_field_above "$1" slabs "$2" && echo "$1 has $(donor_field "$1" slabs) slabs"
}

# More slabs than are evacuated at once.
drains_slowly() {
	stats_save
	host iops "${SWAP_DISK##*/}" 10 || return 1
	echo "$other" >"$FARSWAP/donors" &
	drain_pid=$!
	wait_for 20 grew fetched && kill -0 "$drain_pid" &&
		donor_field_above "$asked" slabs 8
}

given_back_meanwhile() {
	stats_save
	on "$other" 'farswapctl evict 2' >"$TMP/evict"
	cat "$TMP/evict"
	kill -0 "$drain_pid" || return 1
	grep -q '^2 regions evicted: 2 returned, 0 revoked' "$TMP/evict" && data same lost
}

ends() {
	host iops "${SWAP_DISK##*/}" 0
	wait "$drain_pid" && data same lost
}

test_begin 7
patient_donors 30000 || bail "no donors"
farswap_up 2
swap_on
make_cgroup drain 8M
set_value "$FARSWAP/backup" none
set_value "$FARSWAP/staging_mb" 1
check "the donor has the only copies" hold_remote drain drain 1 7000 -m 60 -n 100 ||
	skip_rest "there are none"
asked=$(donor_of_most)
other=${DONORS%% *}
[ "$asked" != "$other" ] || other=${DONORS##* }
check "one donor has many slabs" slabs_of "$asked" 9
check "the other donor has some slabs" slabs_of "$other" 2
check "one donor is evacuated slowly" drains_slowly
check "the other donor gets its regions back" given_back_meanwhile
check "the evacuation ends, no page is lost" ends
go_on drain
check --data "memory contents are right" wait_load drain
test_end
