#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A policy for a cgroup holds: one that may not use donors does not, one with a limit keeps it,
# together with those below it and after it is created again, and one with a backup policy uses it.
# A policy can be removed under load. While donors have no room, weights divide it.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_ram.sh
. "$HERE/_ram.sh"

MAX_PAGES=512
TRACING=/sys/kernel/tracing

# policy LINE
policy() {
	echo "$1" >"$FARSWAP/cgroups"
}

# column PATH COLUMN: of a policy in debugfs
column() {
	awk -v path="$1" -v column="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$1 == path { print $at[column] }' "$FARSWAP_DEBUG/cgroups"
}

# column_above PATH COLUMN N
column_above() {
	above_now=$(column "$1" "$2")
	echo "$2 of $1: $above_now"
	[ "${above_now:-0}" -gt "$3" ]
}

# watch: record the pages of each policy until the file is removed
watch() {
	: >"$TMP/watch"
	while [ -e "$TMP/watch" ]; do
		awk 'NR > 1 { print $1, $4 }' "$FARSWAP_DEBUG/cgroups"
		sleep 0.1
	done >"$TMP/watched" 3>&- &
	watch_pid=$!
}

# kept PATH [LEAST]: it reached its limit, or LEAST, and never exceeded it by more than 64 pages
kept() {
	awk -v path="$1" -v max="$MAX_PAGES" -v least="${2:-$((MAX_PAGES / 2))}" '$1 == path { looks++; if ($2 > most) most = $2 }
		END {
			print path ": at most " most + 0 " pages of " max " in " looks + 0 " looks"
			exit !(looks && most <= max + 64 && most > least)
		}' "$TMP/watched"
}

refused() {
	for refused_line in "$@"; do
		log_mark
		if policy "$refused_line"; then
			echo "took '$refused_line'"
			return 1
		fi
		log_has farswap "cgroups:" && [ "$(wc -l <"$TMP/log")" -eq 1 ] || return 1
		cat "$TMP/log"
	done 2>/dev/null
	cat "$FARSWAP/cgroups"
	[ -z "$(cat "$FARSWAP/cgroups")" ]
}

changes_one_key() {
	policy "/capped backup=none" && grep . "$FARSWAP/cgroups" &&
		grep -qx "/capped remote=1 max=2048K weight=0 backup=none" "$FARSWAP/cgroups" &&
		policy "/capped backup=default"
}

# The writes are traced by the cgroup of their pages, whoever reclaims.
traced() {
	traced_id=$(stat -c %i "$CGROUP/alone")
	grep "farswap_store_end" "$TRACING/trace" | grep -c "cgroup=$traced_id\$" >"$TMP/traced"
	echo "writes of cgroup $traced_id: $(cat "$TMP/traced")"
	[ "$(cat "$TMP/traced")" -gt 100 ]
}

stop_all() {
	stop_status=0
	for stop_one in "$@"; do
		stop_load "$stop_one" || stop_status=1
	done
	return $stop_status
}

# Its pages do not go to the swap device, those of others do.
only_in_none() {
	stats_save
	reclaim alone
	wait_for 30 column_above /alone stored $((4 * MAX_PAGES / 10)) || return 1
	echo "backup_written grew by $(stat_delta backup_written)"
	same backup_written
}

# Ten regions of 2 MB, of which pages can use every place.
few_regions() {
	swapoff "$SWAP_DISK" && reload_modules slab_mb=2 donors= hotslab=0 &&
		modprobe farswap-ram regions=10 && echo 10.9.9.1 >"$FARSWAP/donors" &&
		wait_for 20 donors_live 1 && set_value "$FARSWAP/compress" lz4
}

# The weights are 1 and 3, so that it could be three times as much.
has_its_share() {
	share_light=$(column /light pages)
	share_heavy=$(column /heavy pages)
	echo "pages: $share_light and $share_heavy"
	[ "$share_light" -gt 100 ] && [ "$share_heavy" -gt $((2 * share_light)) ]
}

test_begin 22
farswap_up 2
swap_on
check "bad policies are refused" refused "capped max=4M" "/capped max=4X" "/capped remote=2" \
	"/capped backup=tape" "/capped max" "/capped weight=1001" "/capped frobnicate=1" "/capped -" ""
make_cgroup capped 4M
make_cgroup denied 4M
make_cgroup top max
echo +memory >"$CGROUP/top/cgroup.subtree_control"
make_cgroup top/one 4M
make_cgroup top/two 4M
# The path of one begins as that of another, but is not below it.
for line in "/capped max=2M" "/cap remote=0" "/denied remote=0" "/top max=2M" /top/one; do
	policy "$line" || bail "no policy $line"
done
check "a key that is not given keeps its value" changes_one_key
watch
stats_save
start_load denied denied -m 10 -d 60 -w 30 -i 1
wait_for 60 grown store_denied 100 || bail "nothing was denied"
check "a cgroup that may not use donors stores nothing there" same store_remote
start_load capped capped -m 14 -d 60 -w 30 -i 1
start_load one top/one -m 10 -d 60 -w 30 -i 1
start_load two top/two -m 10 -d 60 -w 30 -i 1
check "one with a limit stores pages" wait_for 60 column_above /capped stored "$MAX_PAGES"
check "and is refused more" wait_for 60 column_above /capped refused 0
check "two below one with a limit are refused more" wait_for 60 column_above /top refused 0
check "remote reads are counted" wait_for 60 column_above /capped loaded 10
rm -f "$TMP/watch"
wait "$watch_pid"
check "the limit was kept" kept /capped
check "the limit of two together was kept" kept /top
check "one of them alone has no more" kept /top/one 0
policy "/top -"
check --data "memory contents are right" stop_all denied capped one two
check "pages that are freed count no more" wait_for 20 grep -q "^/capped 1 $MAX_PAGES 0 " \
	"$FARSWAP_DEBUG/cgroups"
remove_cgroup capped
make_cgroup capped 4M
start_load capped capped -m 14 -d 60 -w 30 -i 1
check "a policy holds for a cgroup that is made anew" wait_for 60 column_above /capped pages 100
check --data "memory contents are right then" stop_load capped
make_cgroup alone max
policy "/alone backup=none"
start_load alone alone -m 20 -d 60 -O -i 0
wait_for 20 grep -q progress "$TMP/alone.log"
set_value "$TRACING/events/farswap/farswap_store_end/enable" 1
check "a backup of its own is used" only_in_none
check "a trace tells whose pages are written" traced
check --data "memory contents are right without a backup" stop_load alone
for path in /capped /cap /denied /top/one /alone; do policy "$path -"; done
check "farswap runs over a transport with few regions" few_regions || skip_rest "it cannot be used"
swap_on
make_cgroup light 4M
make_cgroup heavy 4M
policy "/light weight=100"
policy "/heavy weight=300"
start_load light light -m 28 -d 200 -i 1
check "one has all that donors have" wait_for 60 column_above /light pages 4000
start_load heavy heavy -m 28 -d 200 -i 1
check "another one gets its share of it" wait_for 90 has_its_share
check --data "memory contents are right with weights" stop_all light heavy
for path in /light /heavy; do policy "$path -"; done
swapoff "$SWAP_DISK"
check "the RDMA transport is back" leave_ram
test_end
