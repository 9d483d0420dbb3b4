#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=none: a donor evicts regions, and the donor that their slabs migrate to receives no pages.
# No page is lost, although the client notices only near the end of evict_ms.
# cluster: donors=2 mem=192 disks=1 slab_mb=2
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# Until this timeout, nothing shows that the donor receives no pages.
TIMEOUT_MS=$((10000 * ${SLOW:-1}))

# Drop long packets from the client to the other donor: only its messages arrive.
takes_no_pages() {
	lose_at "$other" "tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 \
		match ip src $CLIENT/32 match ip protocol 17 0xff match ip dport 4791 0xffff \
		match u16 0x1000 0xf000 at 2 action drop"
}

slabs_move() {
	stats_save
	takes_no_pages || return 1
	on "$asked" "farswapctl evict $((2 + $(empty_slabs "$asked")))" >"$TMP/evict" &
	move_evict=$!
	wait_for 5 donor_field_above "$other" slabs 1
}

# After the time for migration there is some left to fetch the pages.
pages_are_fetched() {
	wait "$move_evict"
	cat "$TMP/evict"
	echo "moved $(stat_delta moved), fetched $(stat_delta fetched), lost $(stat_delta lost)"
	grew fetched && data same lost && same moved
}

test_begin 5
patient_donors 10000 || bail "no donors"
farswap_up 2
swap_on
make_cgroup stuck 6M
asked=${DONORS%% *}
other=${DONORS##* }
lose_ready || skip_rest "no ingress qdisc"
[ "$(cat /sys/class/net/eth0/mtu)" -gt 4200 ] || skip_rest "pages come in packets as short as others"
set_value "$FARSWAP/backup" none
set_value "$FARSWAP/io_timeout_ms" "$TIMEOUT_MS"
echo "$asked" >"$FARSWAP/donors"
check "the donor has the only copies" hold_remote stuck stuck 1 1200 -m 14 -n 200 ||
	skip_rest "there are none"
donor_list >"$FARSWAP/donors"
wait_for 60 donors_live 2 || donors_show
check "slabs migrate to a donor that receives no pages" slabs_move
check "the pages are fetched instead, none is lost" pages_are_fetched
lose_none "$other"
go_on stuck
check --data "memory contents are right" wait_load stuck
check --data "no page is lost" stat_is load_lost 0
test_end
