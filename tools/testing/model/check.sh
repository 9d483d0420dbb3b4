#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Searches seven models exhaustively, of a slab's life, of replicas, of staging, of sessions
# that are resumed, of packed slabs and of moves between them, and of hedged reads: several
# times with different bounds; then with one precaution taken away at a time, when the
# assertion that is named must fail; then for what must happen in it. Prints KTAP.
#
# usage: check.sh [-k] [NAME ...]
#
# NAME is one of those below; all without. With -k, or after a failure, flags,
# logs and trails stay in out/model/NAME. An expected result of a search is
# remembered in the cache until a model, the search or a tool changes; with -k it always searches.

set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
out=$top/out/model
cache=$("$top/tools/testing/qemu/fetch.sh" --cache)/model

# name|what must be found: nothing, or the comment of the assertion that fails|
# bounds other than the model's, and what is broken. With replica_: replica.pml, with
# staged_: staged.pml, with resume_: resume.pml, with pack_: pack.pml, with repack_:
# repack.pml, with hedge_: hedge.pml
cases() {
	cat <<-'CASES'
	late|nothing|EVICTS=0 STORES=2 SENDS=2 OTHERS=1
	lent|nothing|CONNS=1 SENDS=2 OTHERS=1 STUBBORN=1
	evict|nothing|CONNS=1 UNMAPS=1 PROMOTIONS=1 SLOW=1 STUCK=1
	reconnect|nothing|SLOW=1
	death|nothing|BLIPS=0 SENDS=2 DEATHS=1
	two_slots|nothing|SLOTS=2 CONNS=1 MAPS=1 BLIPS=0
	ends|no cycle|CONNS=1 SENDS=2 STUCK=1
	key_late|rule 7|CONNS=1 SENDS=2 BREAK_KEY_LATE
	zero|zeroed|CONNS=1 BREAK_ZERO
	duplicates|the last stored or an error|CONNS=1 MAPS=1 STORES=2 SENDS=2 EVICTS=0 BREAK_DUPLICATES
	stale_bit|the last stored or an error|STORES=2 BLIPS=0 MAPS=1 CONNS=1 BREAK_STALE_BIT
	flush|a page is handed back when nothing can touch it|CONNS=1 SENDS=2 BREAK_FLUSH
	flush_read|a READ writes into no page handed back|CONNS=1 BREAK_FLUSH_READ
	done_early|no request outlives its mapping|CONNS=1 BREAK_DONE_EARLY
	bits|rule 3|CONNS=1 BREAK_BITS
	post|I/O ends|EVICTS=0 BREAK_POST
	refused_ref|slabs drain|EVICTS=0 BREAK_REFUSED_REF
	early|EVICT is obeyed|CONNS=1 BREAK_EARLY
	epoch|lost with its session|EVICTS=0 STORES=0 BREAK_EPOCH
	late_answer|no leak|CONNS=1 SLOW=1 BREAK_LATE_ANSWER
	abandoned|order of messages|CONNS=1 SLOW=1 BREAK_ABANDONED
	settled|order of UNMAP|CONNS=1 UNMAPS=1 BREAK_SETTLED
	unasked|still lent|CONNS=1 BREAK_UNASKED
	credit|order of DONE|CONNS=1 BREAK_CREDIT
	deadline|regions come back|CONNS=1 STUCK=1 BREAK_DEADLINE
	sends|a cycle|CONNS=1 MAPS=1 EVICTS=0 BREAK_SENDS
	reach_early|it happens|CONNS=1 REACH_EARLY
	reach_late|it happens|EVICTS=0 REACH_LATE
	reach_late_elsewhere|it happens|EVICTS=0 OTHERS=1 REACH_LATE_ELSEWHERE
	reach_again|it happens|EVICTS=0 STORES=2 REACH_AGAIN
	reach_twice|it happens|CONNS=1 MAPS=1 SENDS=2 REACH_TWICE
	reach_crossed|it happens|CONNS=1 UNMAPS=1 REACH_CROSSED
	reach_broken|it happens|CONNS=1 STUBBORN=1 REACH_BROKEN
	replica_room|nothing|MAPS=1 NO_ROOM=1
	replica_slot|nothing|FREES=1 NO_ROOM=1
	replica_promoted|nothing|FREES=1 PROMOTIONS=1 NO_ROOM=2 EVICTS=0
	replica_silent|nothing|STORES=3 CUTS=3 EVICTS=0
	replica_deaths|nothing|MAPS=2 CUTS=2 DEATHS=2 EVICTS=0
	replica_drain|nothing|MAPS=1 UNMAPS=1 STORES=1
	replica_two_leave|nothing|MAPS=1 CUTS=2 DEATHS=2 EVICTS=2 STORES=1
	replica_three|nothing|MAPPINGS=3 MAPS=1 DEATHS=0
	replica_three_leave|nothing|MAPPINGS=3 MAPS=1 EVICTS=2 STORES=1
	replica_moves|nothing|MAPS=2 EVICTS=2 CUTS=0 STORES=1
	replica_rebuilt|nothing|REBUILDS=1 NO_ROOM=1 CUTS=0 DEATHS=0 EVICTS=0
	replica_rebuilt_cut|nothing|REBUILDS=1 NO_ROOM=1 CUTS=1 DEATHS=0 EVICTS=0
	replica_rebuilt_moves|nothing|REBUILDS=1 STORES=1 CUTS=0 DEATHS=0 MAPS=1 NO_ROOM=1
	replica_mark|never an old page|BREAK_MARK
	replica_stale|never an old page|BREAK_STALE
	replica_exclude|never an old page|BREAK_EXCLUDE
	replica_look|never an old page|BREAK_LOOK
	replica_late_clear|never an old page|BREAK_LATE_CLEAR
	replica_resume|never an old page|BREAK_RESUME
	replica_new|never an old page|MAPS=1 BREAK_NEW
	replica_first|never an old page|MAPS=1 BREAK_FIRST
	replica_tell|never an old page|MAPS=1 BREAK_TELL
	replica_before|never an old page|REBUILDS=1 NO_ROOM=1 CUTS=0 DEATHS=0 EVICTS=0 BREAK_BEFORE
	replica_after|never an old page|BREAK_AFTER
	replica_tell_promoted|never an old page|PROMOTIONS=1 NO_ROOM=2 CUTS=0 EVICTS=0 BREAK_TELL
	replica_order|never an old page|REBUILDS=1 NO_ROOM=1 CUTS=0 DEATHS=0 EVICTS=0 BREAK_ORDER
	replica_rebuild_mark|never an old page|REBUILDS=1 NO_ROOM=1 CUTS=0 DEATHS=0 EVICTS=0 BREAK_REBUILD_MARK
	replica_rebuild_stale|never an old page|REBUILDS=1 NO_ROOM=1 CUTS=0 DEATHS=0 EVICTS=0 BREAK_REBUILD_STALE
	replica_rebuild_exclude|never an old page|REBUILDS=1 NO_ROOM=1 CUTS=0 DEATHS=0 EVICTS=0 BREAK_REBUILD_EXCLUDE
	replica_fetch|the device has what it must|MAPPINGS=3 MAPS=1 DEATHS=0 BREAK_FETCH
	replica_wait|lost only with its donors|BREAK_WAIT
	replica_only|who leaves takes nothing along|MAPS=1 BREAK_ONLY
	replica_again|who leaves takes nothing along|MAPS=1 BREAK_AGAIN
	replica_written|who leaves takes nothing along|MAPS=1 BREAK_WRITTEN
	replica_refused|all that has begun ends|EVICTS=0 BREAK_REFUSED
	replica_end|what is missed is copied|NO_ROOM=1 CUTS=0 EVICTS=0 BREAK_END
	replica_reach_stale|it happens|NO_ROOM=1 CUTS=0 REACH_STALE
	replica_reach_repaired|it happens|MAPS=1 EVICTS=0 REACH_REPAIRED
	replica_reach_silent|it happens|CUTS=2 EVICTS=0 REACH_SILENT
	replica_reach_both|it happens|MAPPINGS=3 MAPS=1 EVICTS=2 REACH_BOTH
	replica_reach_moved|it happens|MAPS=1 EVICTS=2 CUTS=0 DEATHS=0 REACH_MOVED
	replica_reach_late|it happens|MAPS=1 CUTS=2 DEATHS=2 REACH_LATE
	replica_reach_rebuilt|it happens|REBUILDS=1 NO_ROOM=1 CUTS=0 DEATHS=0 EVICTS=0 REACH_REBUILT
	staged_freed|nothing|FREES=1 EVICTS=0
	staged_replica|nothing|POLICY=1
	staged_replica_drain|nothing|POLICY=1 FREES=1 EVICTS=0 UNMAPS=1
	staged_solely|nothing|POLICY=2 START=1 CUTS=1 DEATHS=1
	staged_solely_moves|nothing|POLICY=2 START=1 STORES=1 CUTS=1 DEATHS=1 MAPS=1
	staged_promoted|nothing|START=1 PROMOTIONS=1 CUTS=1 EVICTS=0
	staged_suspect|nothing|START=1 STORES=1 CUTS=1 DEATHS=1 EVICTS=0
	staged_leaves|nothing|START=1 CUTS=1
	staged_works|nothing is let go for the dead|START=1 STORES=1 CUTS=1 DEATHS=1 EVICTS=0 BREAK_WORKS
	staged_stale|what is staged is what the slot holds|EVICTS=0 BREAK_STALE
	staged_next|what is staged is written|EVICTS=0 BREAK_NEXT
	staged_settle|the device has what it must|STORES=3 FREES=1 EVICTS=0 BREAK_SETTLE
	staged_held|the device has what it must|STORES=3 EVICTS=0 BREAK_HELD
	staged_sole|who leaves takes nothing along|START=1 STORES=1 BREAK_SOLE
	staged_again|what is staged is what the slot holds|POLICY=2 START=1 UNMAPS=1 EVICTS=0 BREAK_AGAIN
	staged_owed|never an old page|START=1 STORES=1 REBUILDS=1 CUTS=1 MAPS=1 EVICTS=0 FAILS=0 BREAK_OWED
	staged_reach_let_go|it happens|REACH_LET_GO
	staged_reach_fetch_held|it happens|REACH_FETCH_HELD
	staged_reach_fetch_stale|it happens|POLICY=2 START=1 UNMAPS=1 REACH_FETCH_STALE
	staged_reach_adopt_fails|it happens|START=1 CUTS=1 EVICTS=0 REACH_ADOPT_FAILS
	resume_same|nothing|CONNS=2 MOVES=0 BLIPS=1 SENDS=2 STORES=2 OTHERS=0
	resume_device|nothing|CONNS=2 BLIPS=1 OTHERS=0
	resume_again|nothing|BLIPS=2 MOVES=2 STORES=0 LOADS=0 OTHERS=0
	resume_devices|nothing|BLIPS=1 STORES=0 OTHERS=0
	resume_lost|nothing|LOSSES=2 MOVES=0 BLIPS=0 LOADS=0 OTHERS=0
	resume_lost_revoked|nothing|CONNS=2 LOSSES=1 MOVES=0 BLIPS=0 EVICTS=1 LOADS=0
	resume_revoked|nothing|CONNS=2 BLIPS=1 EVICTS=1 STORES=0
	resume_revoked_same|nothing|CONNS=2 MOVES=0 BLIPS=1 EVICTS=1 LOADS=0
	resume_given_back|nothing|CONNS=2 BLIPS=1 UNMAPS=1 LOADS=0 OTHERS=0
	resume_refused|nothing|CONNS=2 BLIPS=1 REFUSALS=1
	resume_two|nothing|REGIONS=2 CONNS=2 BLIPS=1 EVICTS=1 STORES=0 LOADS=0 OTHERS=0
	resume_old_key|a key of this device|OTHERS=0 BREAK_OLD_KEY
	resume_open|a key of this device|OTHERS=0 BREAK_OPEN
	resume_rekeyed|a key of this device|LOADS=0 OTHERS=0 BREAK_REKEYED
	resume_heard|a key of this device|LOADS=0 OTHERS=0 BREAK_HEARD
	resume_unregister|a key of this device|BLIPS=1 OTHERS=0 BREAK_UNREGISTER
	resume_lost_key|a key of this device|CONNS=2 BLIPS=1 EVICTS=1 LOADS=0 BREAK_LOST
	resume_agree|both have one key|CONNS=2 STORES=0 OTHERS=0 BREAK_OLD_KEY
	resume_name|a region's own key|REGIONS=2 CONNS=2 BLIPS=1 LOADS=0 OTHERS=0 BREAK_NAME
	resume_late|order of messages|REGIONS=2 CONNS=2 BLIPS=1 STORES=0 OTHERS=0 BREAK_LATE
	resume_order|order of KEY|REGIONS=2 CONNS=2 BLIPS=1 STORES=0 OTHERS=0 BREAK_HEARD
	resume_gone|still lent|MOVES=0 BLIPS=1 EVICTS=1 BREAK_GONE
	resume_owner|rule 7|CONNS=2 BLIPS=1 EVICTS=1 LOADS=0 BREAK_OWNER
	resume_key_late|rule 7|CONNS=1 EVICTS=1 BREAK_KEY_LATE
	resume_disconnect|the last stored or an error|MOVES=0 BLIPS=1 STORES=2 BREAK_DISCONNECT
	resume_quiesce|no I/O outlives its mapping|CONNS=2 MOVES=0 OTHERS=0 BREAK_QUIESCE
	resume_sweep|no leak|MOVES=0 UNMAPS=1 STORES=0 BREAK_SWEEP
	resume_reach_rekeyed|it happens|CONNS=2 BLIPS=1 OTHERS=0 REACH_REKEYED
	resume_reach_revoked|it happens|CONNS=2 BLIPS=1 EVICTS=1 STORES=0 OTHERS=0 REACH_REVOKED
	resume_reach_again|it happens|STORES=0 OTHERS=0 REACH_AGAIN
	resume_reach_late|it happens|CONNS=2 MOVES=0 BLIPS=1 OTHERS=0 REACH_LATE
	pack_unit|nothing|STORES=2
	pack_again|nothing|STORES=3 LOSSES=2
	pack_rebuilt|nothing|STORES=2 REBUILDS=1
	pack_stale|never another page's bytes|STORES=2 REBUILDS=1 BREAK_STALE
	pack_empty|the bit is of a unit in use|STORES=2 REBUILDS=1 BREAK_EMPTY
	pack_free|what a region has is found|BREAK_FREE
	pack_users|never another page's bytes|BREAK_USERS
	pack_reread|never another page's bytes|BREAK_AGAIN
	pack_settle|what a region has is found|BREAK_SETTLE
	pack_take|what a region has is found|BREAK_TAKE
	repack_moves|nothing|STORES=2
	repack_again|nothing|STORES=2 MOVES=2 OTHERS=0
	repack_closed|what a load returns is the page|BREAK_CLOSED
	repack_compare|what a load returns is the page|BREAK_COMPARE
	repack_user|what a load returns is the page|BREAK_USER
	repack_open|what a load returns is the page|BREAK_OPEN
	repack_backed|the device has what moves|BREAK_BACKED
	hedge_swapoff|nothing|SWAPOFF
	hedge_pin|a READ writes to nobody else's memory|BREAK_PIN
	hedge_copy|a READ writes to nobody else's memory|BREAK_COPY
	hedge_cached|a fault finds its page|BREAK_CACHED
	hedge_arrived|the folio is unlocked once|BREAK_ARRIVED
	hedge_claim|the folio is unlocked once|BREAK_CLAIM
	hedge_drop|a kept page is the slot's|BREAK_DROP
	hedge_flag|a swapoff finds what it waits for|SWAPOFF BREAK_SWAPOFF
	CASES
}

# model NAME
model() {
	case $1 in
	replica_*) echo replica.pml ;;
	staged_*) echo staged.pml ;;
	resume_*) echo resume.pml ;;
	pack_*) echo pack.pml ;;
	repack_*) echo repack.pml ;;
	hedge_*) echo hedge.pml ;;
	*) echo slab.pml ;;
	esac
}

# assertion MODEL: the comment of the assertion at which the trail ends
assertion() {
	# shellcheck disable=SC2046
	place=$(spin -t -k "$1.trail" $(cat flags) "$1" |
		sed -n 's/^spin: \([a-z]*\.pml\):\([0-9]*\), Error: assertion violated.*/\1 \2/p')
	[ -n "$place" ] || return
	# shellcheck disable=SC2086
	set -- $place
	sed -n "$2s|.*/\* \(.*\) \*/\$|\1|p" "$1"
}

# search NAME: what fails, or what went wrong, into NAME/found
search() {
	line=$(cases | grep "^$1|") || exit 1
	expected=$(echo "$line" | cut -d '|' -f 2)
	model=$(model "$1")
	known=$cache/$({
		echo "$line"
		sed '/^cases()/,/^}/d' "$0"
		cat "$here"/*.pml
		spin -V
		gcc --version
	} | sha256sum | cut -c 1-24)
	rm -rf "${out:?}/$1"
	if [ ! "${KEEP:-}" ] && cp -r "$known" "$out/$1" 2>/dev/null; then
		touch "$out/$1/remembered"
		return
	fi
	mkdir -p "$out/$1" && cd "$out/$1" || exit 1
	cp "$here"/*.pml .
	echo "$line" | cut -d '|' -f 3 | sed 's/[^ ]*/-D&/g' >flags
	case $expected in
	nothing) how='-O1 -DSAFETY' option= ;;
	*cycle) how='-O1 -DNP -DNOFAIR' option=-l ;;
	*) how='-O0 -DSAFETY' option= ;;
	esac
	# shellcheck disable=SC2046,SC2086
	if ! spin -a $(cat flags) "$model" >log 2>&1 ||
	   ! gcc -w -DCOLLAPSE -DMEMLIM=2048 $how -o pan pan.c >>log 2>&1 ||
	   ! prlimit --cpu=120 ./pan $option -w21 >>log 2>&1; then
		echo "no search: $(tail -n 1 log)" >found
	elif grep -q '^pan:.*assertion violated' log; then
		assertion "$model" >found
	elif grep -q '^pan:.*non-progress cycle' log; then
		echo 'a cycle' >found
	elif grep -q '^pan:1:' log; then
		sed -n 's/^pan:1: //p' log >found
	elif grep -q -e 'Search not completed' -e 'depth too small' log || ! grep -q 'errors: 0$' log; then
		echo 'no search: not completed' >found
	elif [ "$option" ]; then
		echo 'no cycle' >found
	else
		echo nothing >found
	fi
	[ "$(cat found)" = "$expected" ] || return
	mkdir -p "$cache/$1.$$"
	if ! cp found log flags "$cache/$1.$$" || ! mv -T "$cache/$1.$$" "$known"; then
		rm -rf "$cache/$1.$$"
	fi
}

number=0
failed=0
# result OK TEXT
result() {
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		failed=$((failed + 1))
	fi
}

report() {
	expected=$(cases | sed -n "s/^$1|\([^|]*\)|.*/\1/p")
	found=$(cat "$out/$1/found" 2>/dev/null)
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$out/$1/log")
	seconds=$(sed -n 's/^pan: elapsed time \([0-9.e-]*\) seconds/\1/p' "$out/$1/log")
	bounds=$(sed 's/-D//g' "$out/$1/flags")
	[ ! -e "$out/$1/remembered" ] || seconds="remembered, $seconds"
	[ "$found" = "$expected" ]
	result $? "$1: $found (${states:-no} states, ${seconds:-no} s; $bounds)"
	[ "$found" = "$expected" ] || echo "# must be: $expected"
}

# One that no search lets fail may not be able to.
report_assertions() {
	sed -n 's|.*assert(.*/\* \(.*\) \*/$|\1|p' "$here"/*.pml | sort -u >"$out/assertions"
	cases | cut -d '|' -f 2 | sort -u | comm -23 "$out/assertions" - >"$out/untried"
	[ -s "$out/assertions" ] && [ ! -s "$out/untried" ]
	result $? "every assertion fails in some search"
	sed 's/^/# /' "$out/untried"
}

if [ "${1:-}" = --search ]; then
	search "$2"
	exit 0
fi
keep=
if [ "${1:-}" = -k ]; then
	keep=y
	shift
fi
for tool in spin gcc; do
	command -v $tool >/dev/null || {
		echo "Bail out! no $tool here: make fetch"
		exit 1
	}
done
known=$(cases | cut -d '|' -f 1)
for name; do
	echo "$known" | grep -qx "$name" || {
		echo "Bail out! no such search: $name"
		exit 1
	}
done

rm -rf "$out"
mkdir -p "$out"
# shellcheck disable=SC2086
all=${*:-$known}
echo "TAP version 13"
echo "1..$(($(echo "$all" | wc -w) + ($# == 0)))"
echo "$all" | tr ' ' '\n' | KEEP=$keep xargs -n 1 -P "$(nproc)" "$0" --search
for name in $all; do
	report "$name"
done
[ $# -gt 0 ] || report_assertions
[ "$keep" ] || [ $failed -gt 0 ] || rm -rf "$out"
[ $failed = 0 ]
