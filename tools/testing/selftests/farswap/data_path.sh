#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor answers every message, but no page gets through: the network drops the
# long packets. Its session is resumed each time it fails, and is lost all the same
# when grace_ms are over, with few words in the log and no wrong byte.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# A page is one packet or four; no message is so long.
lose_long() {
	for long_match in '0x1000 0xf000' '0x0400 0xfc00'; do
		lose_at "$2" "tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 \
			match ip src $1/32 match ip protocol 17 0xff match ip dport 4791 0xffff \
			match u16 $long_match at 2 action drop" || return 1
	done
}

pages_stop() {
	lose_long "$1" "$CLIENT" && lose_long "$CLIENT" "$1"
}

few_words() {
	words=$(log_show | grep -c "donor $1.*: suspect")
	words_all=$(log_show | grep -c farswap)
	echo "$words of $words_all lines, $(donor_field "$1" suspects) times"
	[ "$words" -ge 1 ] && [ "$words" -le 5 ] && [ "$words_all" -le 30 ]
}

test_begin 8
lose_ready || skip_rest "no ingress qdisc"
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
set_value "$FARSWAP/grace_ms" 8000
swap_on
make_cgroup path 16M
start_load path path -m 32 -p 2 -d 280 -r 60 -w 30 -i 10
check "pages go to donors and come back" pages_go_and_return 2000
victim=$(donor_of_most)
say "no pages from and to $victim"
log_mark
resumes=$(donor_field "$victim" resumes)
stats_save
check "no page gets through" pages_stop "$victim"
check "its session is resumed" wait_for 30 donor_field_above "$victim" resumes "$resumes"
check "but lost when grace_ms are over" wait_for 40 eval 'regions_lost && grew donor_down'
check "the log isn't flooded" few_words "$victim"
heal "$victim"
check "it is used again when pages get through" wait_for 90 donor_is_live "$victim"
check --data "memory was right all the time" stop_load path
stats_show
check --data "no page was lost" stat_is load_lost 0
test_end
