#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A suspect donor with sole copies is removed from the donors line, or farswap detaches. Both wait
# for its pages, which are fetched if it answers again within grace_ms, and give up after that.
# cluster: donors=1 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

donor=${DONORS%% *}

suspect() {
	cut_off "$donor" && wait_for 30 donor_field_is "$donor" state suspect
}

# leaves FILE VALUE: the donor answers again while the write blocks
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
check "only the donor has the pages" hold_remote one suspect 1 1000 -m 24 -n 1000
check "the donor becomes suspect" suspect
check "its removal from the donors line waits for it" leaves "$FARSWAP/donors" ""
check "it can be added again" named_again
go_on one
check --data "memory contents are right" wait_load one
check "only the donor has the pages" hold_remote two suspect 1 1000 -m 24 -n 1000
check "a detach waits for it" eval \
	'suspect && leaves "$FARSWAP/attached" 0'
echo 1 >"$FARSWAP/attached"
go_on two
check --data "memory contents are right" wait_load two
stats_show
check --data "no page is lost" stat_is load_lost 0
test_end
