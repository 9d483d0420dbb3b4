#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's own programs need its memory: the daemon gives back what is not lent,
# then evicts what is, and lends again when there is memory again. No byte is
# lost, and nobody there runs out of memory.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# metric NAME: one of the victim's farswapd
metric() {
	on "$victim" "farswapctl metrics" | awk -v n="farswapd_$1" '$1 == n { print $2 }'
}

metric_is() {
	[ "$(metric "$1")" -eq "$2" ]
}

metric_above() {
	[ "$(metric "$1")" -gt "$2" ]
}

# Until less than the headroom (88 MB) is left of what is available and what the daemon
# holds, at some 40 MB a second. Lowest MemAvailable seen on the way, in kB, to a file
# there.
program_grows() {
	on "$victim" 'mkdir -p /run/program && mount -t tmpfs -o size=95% none /run/program &&
		left=$(awk "/^MemAvailable:/ { print int(\$2 / 1024) }" /proc/meminfo) &&
		held=$(farswapctl metrics | awk "/^farswapd_held_bytes/ { print int(\$2 / 1048576) }") &&
		low=999999999 i=0 &&
		while [ $i -lt $(((left + held - 130) / 16)) ]; do
			dd if=/dev/zero of=/run/program/$i bs=1M count=16 2>/dev/null || exit 1
			i=$((i + 1))
			now=$(awk "/^MemAvailable:/ { print \$2 }" /proc/meminfo)
			[ "$now" -ge "$low" ] || low=$now
			echo "$now kB available, $((i * 16)) MB taken"
			sleep 0.3
		done
		echo "$low" >/run/program.low; echo "$i files of 16 MB, at least $low kB available"'
}

program_ends() {
	on "$victim" 'umount /run/program'
}

# Half the headroom at the least.
headroom_was_left() {
	left_kb=$(on "$victim" 'cat /run/program.low')
	echo "at least $left_kb kB were available"
	[ "$left_kb" -gt $((88 * 1024 / 2)) ]
}

show_victim() {
	on "$victim" 'farswapctl status; tail -n 5 /run/farswapd.log; grep -E "^Mem" /proc/meminfo' |
		sed 's/^/# /'
}

test_begin 11
farswap_up 2
swap_on
make_cgroup headroom 24M
start_load headroom headroom -m 48 -p 2 -d 280 -w 50 -i 10
check "pages go to donors and come back" eval \
	'wait_for 60 stat_above remote_pages 2000 && wait_for 30 grew store_remote load_remote'
victim=$(donor_of_most)
held=$(metric held_bytes)
say "$victim holds $held bytes, the machine's programs will want more"
stats_save
check "a program there gets the memory it wants" program_grows
check "memory was left to others all the time" headroom_was_left
check "the donor took what it had lent" wait_for 20 metric_above reclaims_total 0 || show_victim
check "slabs were evicted, not lost" eval 'grew slab_evicted && same slab_lost' || stats_show
check "it lends nothing" wait_for 20 metric_is held_bytes 0 || show_victim
check "the program ends" program_ends
check "the donor lends again" wait_for 60 metric_above held_bytes $((held / 2)) || show_victim
check "memory was right all the time" stop_load headroom
stats_show
check "no page was lost" stat_is load_lost 0
check "no remote bit outlives its slot" no_remote_bits
test_end
