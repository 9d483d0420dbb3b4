#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor answers every message, but no page gets through: the network drops the long packets,
# or the donor's interface has a smaller MTU. It is not used, and the log says why in few words. Its
# session is lost when grace_ms are over, and no byte is wrong.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# A page is one packet or four; no message is that long.
lose_long() {
	for long_match in '0x1000 0xf000' '0x0800 0xf800' '0x0400 0xfc00'; do
		lose_at "$2" "tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 \
			match ip src $1/32 match ip protocol 17 0xff match ip dport 4791 0xffff \
			match u16 $long_match at 2 action drop" || return 1
	done
}

pages_stop() {
	lose_long "$1" "$CLIENT" && lose_long "$CLIENT" "$1"
}

# said_of_length DONOR LOST FITS: the log says why the donor can't be used
said_of_length() {
	wait_for 40 log_has "donor $1" "packets of $2 bytes (to|from) it are lost, of $3 not" \
		"MTU is $(cat /sys/class/net/eth0/mtu) on eth0"
	said_status=$?
	cat "$TMP/log"
	return "$said_status"
}

# set_mtu DONOR MTU
set_mtu() {
	on "$1" "ip link set eth0 mtu $2"
}

# not_used_since RESUMES
not_used_since() {
	donor_is_not_live "$victim" && donor_field_is "$victim" resumes "$1"
}

few_words() {
	words=$(log_show | grep -c "donor $1.*: suspect")
	words_all=$(log_show | grep -c farswap)
	echo "$words of $words_all lines, $(donor_field "$1" suspects) times"
	[ "$words" -ge 1 ] && [ "$words" -le 5 ] && [ "$words_all" -le 30 ]
}

test_begin 11
lose_ready || skip_rest "no ingress qdisc"
farswap_up 2
set_value "$FARSWAP/io_timeout_ms" 1000
set_value "$FARSWAP/grace_ms" 8000
swap_on
make_cgroup path 16M
start_load path path -m 32 -p 2 -d 280 -r 60 -w 30 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
victim=$(donor_of_most)
say "dropping page packets from and to $victim"
log_mark
resumes=$(donor_field "$victim" resumes)
stats_save
check "no page arrives" pages_stop "$victim"
check "the log reports the length of lost packets" said_of_length "$victim" 1024 512
check "its session is lost after grace_ms" \
	wait_for 40 eval 'regions_lost && grew donor_down'
sleep 5
check "it is not used" not_used_since "$resumes"
check "the log is not flooded" few_words "$victim"
heal "$victim"
check "it is in use again when pages arrive" wait_for 90 donor_is_live "$victim"
log_mark
set_mtu "$victim" 1500
echo >"$FARSWAP/donors"
donor_list 2 >"$FARSWAP/donors"
check "the log reports a donor with a smaller MTU" said_of_length "$victim" 2048 1024
set_mtu "$victim" "$(cat /sys/class/net/eth0/mtu)"
check "it is in use again when the MTUs are equal" wait_for 90 donor_is_live "$victim"
check --data "memory contents are right" stop_load path
stats_show
check --data "no page is lost" stat_is load_lost 0
test_end
