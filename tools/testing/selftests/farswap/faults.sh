#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The core alone, over a transport without a network (tools/testing/ram) that
# fails at will: I/O that ends at once, late, with an error, is refused, takes
# its session with it; regions asked back. No wrong byte over any of it.
# cluster: donors=0 mem=320 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

RAM=/sys/module/farswap_ram/parameters

# Small slabs: the kernel spreads swap over the device in pieces of 2 MiB.
use_ram() {
	if [ -d "$FARSWAP" ]; then
		echo 0 >"$FARSWAP/attached" && unload_modules || return 1
	fi
	modprobe farswap slab_mb=2 donors= hotslab=0 && modprobe farswap-ram regions=20 &&
		echo 10.9.9.1,10.9.9.2 >"$FARSWAP/donors" && wait_for 20 donors_live 2
}

leave_ram() {
	echo 0 >"$FARSWAP/attached" && rmmod farswap_ram && rmmod farswap && modprobe farswap
}

# with PARAMETER VALUE... -- COUNTER...: set, see them all grow, set to 0
with() {
	with_set=
	while [ "$1" != -- ]; do
		echo "$2" >"$RAM/$1" || return 1
		with_set="$with_set $1"
		shift 2
	done
	shift
	stats_save
	wait_for 40 grew "$@"
	with_status=$?
	sleep 3
	for with_one in $with_set; do
		echo 0 >"$RAM/$with_one"
	done
	return "$with_status"
}

evicts() {
	evict_rounds=0
	while [ "$evict_rounds" -lt 20 ]; do
		evict_rounds=$((evict_rounds + 1))
		echo 4 >"$RAM/evict"
		sleep 0.2
	done
}

evicted() {
	stats_save
	evicts
	wait_for 20 grew slab_evicted slab_mapped store_remote load_remote
}

test_begin 13
[ -z "$(find "/lib/modules/$(uname -r)" -name 'farswap-ram.ko*')" ] &&
	skip_rest "no module farswap-ram"
check "farswap over memory of this machine" use_ram || skip_rest "it cannot be used"
swap_on
make_cgroup faults 20M
stats_save
start_load faults faults -m 44 -p 2 -d 280 -w 40 -u 2 -o 5 -z 3 -i 20
check "I/O that ends inside its submission" wait_for 40 grew store_remote load_remote
check "I/O that takes its time" with delay_us 500 -- store_remote load_remote
check "I/O that fails" with delay_us 200 keep_session 1 fail_every 31 -- \
	store_write_failed load_fallback
check "I/O that fails inside its submission" with keep_session 1 fail_every 31 -- \
	store_write_failed load_fallback
check "I/O that is refused" with refuse_every 29 -- store_refused load_fallback
check "sessions that fail" with delay_us 200 fail_every 499 -- donor_down donor_up slab_lost
check "all of it at once" with delay_us 300 fail_every 307 refuse_every 211 -- \
	donor_down store_refused store_write_failed load_fallback
check "regions asked back" evicted
check "memory was right all the time" stop_load faults
stats_show
check "no page was lost" stat_is load_lost 0
check "no remote bit outlives its slot" no_remote_bits
swapoff "$SWAP_DISK"
check "back to the network" leave_ram
test_end
