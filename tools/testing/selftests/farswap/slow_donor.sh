#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor whose reads take two hundred times as long as another's, over the RAM transport: reads are
# repeated from the device or from the other donor, and the donor is avoided until it recovers. Its
# late reads arrive when their pages belong to others, and no byte is wrong. Also with pages that
# are encrypted and compressed, and during a swapoff.
# cluster: donors=0 mem=384 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

SICK=10.9.9.1

again() {
	echo 0 >"$FARSWAP/attached" && rmmod farswap_ram && reload_modules slab_mb=2 donors= \
		hotslab=0 "$@" && modprobe farswap-ram regions=36 &&
		echo 10.9.9.1,10.9.9.2 >"$FARSWAP/donors" && wait_for 20 donors_live 2
}

# The reads of either donor have shown how long they take.
tails_are_known() {
	donor_field_above "$SICK" tail_us 0 && donor_field_above 10.9.9.2 tail_us 0
}

# The load reads more than one page at a time, and so waits for more than one that is late.
load_begins() {
	start_load slow slow -m 26 -p 6 -d 250 -w 40 -u 2 -o 5 -z 3 -c 60 -i 20
	stats_save
	wait_for 60 grew store_remote load_remote && wait_for 90 tails_are_known
}

# slow_begins COUNTER...: the donor becomes slow; the counters grow
slow_begins() {
	log_mark
	stats_save
	echo 200 >"$RAM/slow_ms"
	echo 1 >"$RAM/slow"
	wait_for 60 grew load_hedged load_hedge_won donor_slow "$@" && same load_lost
}

told() {
	log_has "donor $SICK: slow: reads take more than [0-9]* ms, ten times" &&
		donor_field_is "$SICK" slow 1 && donor_field_is 10.9.9.2 slow 0
}

# What it holds is read from the other donor, or the device.
avoided() {
	stats_save
	wait_for 20 grew "$@"
}

recovers() {
	log_mark
	echo 0 >"$RAM/slow"
	wait_for 100 donor_field_is "$SICK" slow 0 &&
		log_has "donor $SICK: not avoided any more"
}

# Without hedges no donor is found to be slow either.
off() {
	echo 0 >"$FARSWAP/hedge" || return 1
	sleep 1
	stats_save
	echo 1 >"$RAM/slow"
	wait_for 60 grown load_remote 40 && same load_hedged donor_slow
	off_status=$?
	echo 0 >"$RAM/slow"
	echo 2 >"$FARSWAP/hedge"
	return "$off_status"
}

swapped_off() {
	wait_for 90 tails_are_known
	stats_save
	echo 1 >"$RAM/slow"
	wait_for 60 grew load_hedged
	swapoff "$SWAP_DISK" && echo 0 >"$RAM/slow" && stat_is remote_pages 0
}

test_begin 14
has_ram || skip_rest "no module farswap-ram"
check "farswap runs over the RAM transport" use_ram || skip_rest "it cannot be used"
swap_on
make_cgroup slow 13M
check "how long the donors' reads take is known" load_begins
check "slow reads are repeated from the device, which is faster" slow_begins
check "the donor is slow, and the log says so" wait_for 20 told
check "its pages are read from the device" avoided load_avoided
check "it is tried again, and has recovered" recovers
set_value "$FARSWAP/backup" replica
check "pages have two replicas" wait_for 60 grew replica_mapped repaired
check "slow reads are repeated from the other donor" slow_begins
check "it recovers again" recovers
check "with hedge=0 no read is repeated" off
check --data "a swapoff during such reads leaves no page lost or wrong" \
	eval 'swapped_off && stop_load slow && stat_is load_lost 0 && stat_is lost 0'
stats_show
check "pages are encrypted and compressed from now on" again protect=encrypt compress=lz4
swap_on
load_begins
check --data "reads of such pages are repeated, too, and none is wrong" \
	eval 'slow_begins && stop_load slow && stat_is load_lost 0 && stat_is load_altered 0'
echo 0 >"$RAM/slow"
stats_show
swapoff "$SWAP_DISK"
check "the RDMA transport is back" leave_ram
test_end
