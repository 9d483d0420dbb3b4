#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# backup=replica: each page is at two donors, and few pages are written to the disk. A donor that
# dies, is unreachable or evicts regions costs no page, no wrong byte and no read of the disk; then
# there are two replicas again, and another donor may die. Pages that were stored earlier, or while
# there was one replica, are on the disk, too; with backup=replica+disk all pages are.
# cluster: donors=3 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# slabs_whole N: each slab with pages is at N donors, which have nearly all of them: a page that is
# read from the disk goes to one donor first
slabs_whole() {
	awk -v n="$1" 'NR > 1 && $3 == "mapped" && $5 > 0 {
			slabs++
			if (split($4, at, ",") == n && $8 * 20 <= $5)
				whole++
		}
		END {
			print whole + 0 " of " slabs + 0 " slabs are whole"
			exit !(slabs > 0 && whole == slabs)
		}' "$FARSWAP_DEBUG/slabs"
}

no_disk_read() {
	moves_device=$(($(stat_delta load_device) + $(stat_delta load_fallback)))
	moves_remote=$(stat_delta load_remote)
	echo "$moves_remote pages read from donors, $moves_device from the disk"
	[ "$moves_remote" -gt 0 ] && [ $((moves_device * 100)) -le "$moves_remote" ] &&
		data same lost load_lost && same slab_lost && return
	awk 'NR == FNR { old[$1] = $2; next } $2 != old[$1] { print $1, $2 - old[$1] }' \
		"$TMP/stats" "$FARSWAP_DEBUG/stats"
	return 1
}

# The donor with the most pages dies, with a load that verifies them.
a_donor_died() {
	stats_save
	dies=$(donor_of_most)
	donor_kill "$dies" && wait_for 20 donor_is_not_live "$dies" &&
		wait_for 20 grew replica_lost
}

a_donor_dies() {
	a_donor_died && sleep 1 && no_disk_read
}

made_again() {
	wait_for 90 slabs_whole 2 && grew repaired replica_mapped && no_disk_read
}

# nothing_single: donors have pages, and each has two copies
nothing_single() {
	awk 'NR > 1 { remote += $5; single += $9 }
		END {
			print single + 0 " of " remote + 0 " pages are at one donor and nowhere else"
			exit !(remote > 0 && !single)
		}' "$FARSWAP_DEBUG/slabs"
}

last_donor_dies() {
	stats_save
	dies=$(donor_of_most)
	donor_kill "$dies" && wait_for 20 donors_live 0 && wait_for 20 grew slab_lost &&
		wait_for 20 stat_is remote_pages 0 && same lost load_lost
}

# The network to a donor fails until that is detected, by a PING only if nothing is read there, and
# works again before the donor is lost.
one_resumes() {
	stats_save
	cut_donor=$(donor_of_most)
	cut_resumes=$(donor_field "$cut_donor" resumes)
	cut_off "$cut_donor" || return 1
	wait_for 20 donor_field_is "$cut_donor" state suspect
	cut_status=$?
	heal "$cut_donor"
	[ "$cut_status" -eq 0 ] &&
		wait_for 30 donor_field_above "$cut_donor" resumes "$cut_resumes"
}

wants_back() {
	stats_save
	on "$(donor_of_most)" 'farswapctl evict all' &&
		wait_for 20 grew replica_left && same slab_evicted
}

# Except pages that were stored while a slab was new and had one replica.
spared() {
	wait_for 20 grown store_remote 400 || return 1
	spared_stored=$(stat_delta store_remote)
	spared_written=$(stat_delta backup_written)
	echo "$spared_stored pages were stored, $spared_written written to the disk"
	[ $((spared_written * 4)) -le "$spared_stored" ]
}

# All at once, before anything can be rebuilt at a donor or on the disk.
kill_all() {
	stats_save
	set_value "$FARSWAP/enabled" 0
	for doomed_donor in $DONORS; do
		donor_touch "$doomed_donor"
		on "$doomed_donor" "$KILL_FARSWAPD" &
	done
	wait_for 30 donors_live 0
}

all_die() {
	kill_all && wait_for 30 grew lost
}

# on_both: pages are at two donors, and the disk has each of them, too
on_both() {
	both_pages=$(stat_of remote_pages)
	echo "$both_pages pages are at donors, $(stat_of backed_pages) of them on the disk"
	[ "$both_pages" -gt 1000 ] && stat_is staged_pages 0 &&
		[ "$(stat_of backed_pages)" -ge "$both_pages" ] && slabs_whole 2
}

# No donor has a page any more.
disk_serves() {
	kill_all && wait_for 30 grew slab_lost && wait_for 20 stat_is remote_pages 0 &&
		wait_for 20 grown load_device 500 && same lost load_lost
}

test_begin 19
lose_ready || skip_rest "no ingress qdisc"
farswap_up 3
set_value "$FARSWAP/backup" replica
set_value "$FARSWAP/grace_ms" 20000
set_value "$FARSWAP/io_timeout_ms" 1000
swap_on
make_cgroup replica 12M
start_load reader replica -m 24 -p 2 -w 0 -q -d 250 -r 50 -i 0
check "every page has two replicas" eval \
	'wait_for 90 reads_are_remote 3000 7000 && wait_for 30 slabs_whole 2'
check "a donor is evicted: its pages are read elsewhere" eval \
	'wants_back && made_again'
check "a donor is unreachable for a while" eval 'one_resumes && no_disk_read'
check "a donor dies" a_donor_dies
check "its replicas are rebuilt elsewhere" made_again
check "another donor may die then" a_donor_dies
check "pages of the last donor are written to the disk" wait_for 60 nothing_single
check --data "no page is lost when the last donor dies" last_donor_dies
check --data "memory contents are right" stop_load reader
for donor in $DONORS; do
	donor_start "$donor"
done
wait_for 30 donors_live 3
set_value "$FARSWAP/replicas" 3
start_load busy replica -m 20 -p 2 -w 50 -u 3 -o 5 -z 3 -d 250 -i 0
check "busy pages have three replicas" wait_for 120 eval \
	'stat_above remote_pages 1000 && slabs_whole 3'
wait_for 20 stat_is staged_pages 0
stats_save
check "few pages are written to the disk" spared
check "a donor is evicted, another dies" eval \
	'wants_back && a_donor_died && sleep 2 && data same lost load_lost && same slab_lost'
check --data "memory contents are right" stop_load busy
donor_start "$dies"
echo "${DONORS%% *}" >"$FARSWAP/donors"
stats_save
start_load alone replica -m 20 -p 1 -r 50 -w 50 -d 250 -i 0
check "with one donor, the disk is the replica" wait_for 60 grew store_remote backup_written
kill_load alone
donor_list 3 >"$FARSWAP/donors"
wait_for 30 donors_live 3
set_value "$FARSWAP/replicas" 2
set_value "$FARSWAP/backup" replica+disk
start_load both replica -m 20 -p 2 -w 0 -q -d 250 -r 50 -i 0
check "replica+disk: pages are at two donors and on the disk" wait_for 60 on_both
check --data "all donors die: the disk serves every page, none is lost" disk_serves
check --data "memory contents are right" stop_load both
for donor in $DONORS; do
	donor_start "$donor"
done
set_value "$FARSWAP/enabled" 1
wait_for 30 donors_live 3
set_value "$FARSWAP/replicas" 3
set_value "$FARSWAP/backup" replica
start_load doomed replica -m 20 -p 2 -r 50 -w 20 -d 250 -i 0 -L
wait_for 60 eval 'stat_above remote_pages 1000 && slabs_whole 3'
all_die
stop_load doomed >"$TMP/doomed"
check --data "all donors die: lost pages are counted, none is wrong" eval \
	'tail -n 1 "$TMP/doomed"; grew lost && grep -q " wrong_bytes=0 " "$TMP/doomed"'
stats_show
set_value "$FARSWAP/backup" disk
# Unload the modules, because other tests check that no page was ever lost.
check "the modules can be unloaded" eval 'swapoff "$SWAP_DISK" && reload_modules'
test_end
