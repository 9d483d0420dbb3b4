#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's own programs need its memory: the daemon gives back free regions, then evicts lent
# ones, and lends again when memory is available. No page is lost, and no program there runs out of
# memory.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# Grow until the daemon holds nothing, and less is available than it needs to lend again (two
# regions above the headroom of 88 MB). The program takes 16 MB at a time, each once the daemon has
# made up for the last, within 20 s, however slow the machine. The lowest MemAvailable seen, in kB,
# is written to a file there.
program_grows() {
	on -t 250 "$victim" 'mkdir -p /run/program && mount -t tmpfs -o size=95% none /run/program &&
		low=999999999 i=0 &&
		available() {
			now=$(awk "/^MemAvailable:/ { print \$2 }" /proc/meminfo)
			[ "$now" -ge "$low" ] || low=$now
		} &&
		holds_nothing() { farswapctl metrics | grep "^farswapd_held_bytes 0$" >/dev/null; } &&
		until holds_nothing && available && [ "$now" -le $((96 * 1024)) ]; do
			late=0
			until available; [ "$now" -ge $((80 * 1024)) ] || holds_nothing; do
				late=$((late + 1))
				[ $late -lt 100 ] || { echo "only $now kB after 20 s"; exit 1; }
				sleep 0.2
			done
			dd if=/dev/zero of=/run/program/$i bs=1M count=16 2>/dev/null || exit 1
			i=$((i + 1))
			available
			echo "$now kB available, $((i * 16)) MB taken"
			sleep 0.3
		done
		echo "$low" >/run/program.low; echo "$i files of 16 MB, at least $low kB available"'
}

# lends_nothing: the program also takes memory that came back late and was lent again
lends_nothing() {
	donor_metric_is "$victim" held_bytes -eq 0 && return
	on "$victim" 'grep MemAvailable /proc/meminfo
		dd if=/dev/zero bs=1M count=8 2>/dev/null >>/run/program/more'
	sleep 2
	return 1
}

program_ends() {
	on "$victim" 'umount /run/program'
}

# At least half of the headroom.
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
make_cgroup headroom 12M
start_load headroom headroom -m 24 -p 2 -d 280 -r 70 -w 50 -i 10
check "pages go out to donors and come in" pages_go_and_return 2000
victim=$(donor_of_most)
held=$(donor_metric "$victim" held_bytes)
say "$victim holds $held bytes; a program there needs more"
stats_save
check "a program on the donor gets its memory" program_grows
check "the headroom was kept available all the time" headroom_was_left
check "the donor reclaimed its regions" \
	wait_for 20 donor_metric_is "$victim" reclaims_total -gt 0 || show_victim
check "slabs are evicted, none is lost" eval 'regions_left && same slab_lost' || stats_show
check "it lends nothing" wait_for 40 lends_nothing || show_victim
check "the program ends" program_ends
check "the donor lends again" \
	wait_for 60 donor_metric_is "$victim" held_bytes -gt $((held / 2)) || show_victim
check --data "memory contents are right" stop_load headroom
stats_show
check --data "no page is lost" stat_is load_lost 0
check --data "no remote bit outlives its slot" no_orphaned_pages
test_end
