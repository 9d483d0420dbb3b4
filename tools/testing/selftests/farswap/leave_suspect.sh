#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor that has the only copy of pages is taken off the donors line, or all are,
# while it is suspect. Its pages are waited for, and come home when it is heard again
# within grace_ms; no longer than that if it isn't.
# cluster: donors=1 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

donor=${DONORS%% *}

suspect() {
	cut_off "$donor" && wait_for 30 donor_field_is "$donor" state suspect
}

# leaves FILE VALUE: heard again while that waits
leaves() {
	stats_save
	echo "$2" >"$1" &
	leaves_pid=$!
	sleep 2
	kill -0 "$leaves_pid" || return 1
	heal "$donor"
	wait "$leaves_pid" && grew fetched && data same lost && same slab_lost
}

named_again() {
	echo "$donor" >"$FARSWAP/donors" && wait_for 60 donors_live 1
}

test_begin 9
lose_ready || skip_rest "no ingress qdisc"
farswap_up 1
set_value "$FARSWAP/io_timeout_ms" 1000
set_value "$FARSWAP/grace_ms" 30000
set_value "$FARSWAP/backup" none
swap_on
make_cgroup suspect 14M
check "pages are at the donor only" hold_remote one suspect 1 1000 -m 24 -n 1000
check "it is suspect" suspect
check "taken off the donors line it is waited for" leaves "$FARSWAP/donors" ""
check "and named again" named_again
go_on one
check --data "memory is right" wait_load one
check "pages are at the donor only" hold_remote two suspect 1 1000 -m 24 -n 1000
check "when farswap detaches, too, it is waited for" eval \
	'suspect && leaves "$FARSWAP/attached" 0'
echo 1 >"$FARSWAP/attached"
go_on two
check --data "memory is right" wait_load two
stats_show
check --data "no page was lost" stat_is load_lost 0
test_end
