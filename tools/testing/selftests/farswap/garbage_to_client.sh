#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor that sends garbage, breaks the protocol, lends memory it does not have or falls silent
# harms nobody: its pages go to the device, the other donor still serves, and it can be removed
# from the list.
# cluster: donors=2 mem=192 disks=1 slab_mb=2 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

real=${DONORS##* }

# The session ended, or never began.
was_noticed() {
	awk -v a="$fake" '$1 == a && ($7 > 0 || $8 < 0) { f = 1 } END { exit !f }' \
		"$FARSWAP_DEBUG/donors"
}

# Modes that failed earlier do not affect later ones.
swap_anew() {
	! grep -q "^$SWAP_DISK " /proc/swaps || swapoff "$SWAP_DISK" || return 1
	swap_on
}

fake_is_used() {
	donor_is_live "$fake" || was_noticed
}

# survives MODE...: each next to a real donor, on a swap device of its own
survives() {
	survive_status=0
	for survive_mode in "$@"; do
		survive_one "$survive_mode" || survive_status=1
		fake_stop
	done
	return "$survive_status"
}

survive_one() {
	echo "fakedonor $1"
	fake_start "$1" || return 1
	echo "$fake,$real" >"$FARSWAP/donors" || return 1
	wait_for 20 fake_said hello && wait_for 30 donor_is_live "$real" || return 1
	case $1 in
	badregion | badrkey | curious | longlater | misnames | misplaced | mute | reaches | rolledback)
		# Otherwise the real donor would have all slabs by then.
		wait_for 20 fake_is_used && swap_anew || return 1
		start_load lent fake -m 6 -p 2 -d 200 -r 50 -w 60 -i 0
		wait_for 60 fake_said '^map [0-9]' && { [ "$1" != badrkey ] || wait_for 60 was_noticed; }
		survive_lent=$?
		stop_load lent && [ $survive_lent -eq 0 ] || return 1 ;;
	*)
		swap_anew || return 1
		in_cgroup fake "$LOAD" -m 6 -p 2 -n 100 -w 60 -i 0 -S 60 || return 1 ;;
	esac
	case $1 in
	rolledback)
		wait_for 40 grep -q "restored to an earlier state" "$FARSWAP_DEBUG/session_ends" ||
			return 1 ;;
	misnames)
		wait_for 40 grep -q "did not name" "$FARSWAP_DEBUG/session_ends" || return 1 ;;
	garbage | immediate | wrongseq | longmsg | longlater | shortmsg | curious | mute | badregion | misplaced)
		wait_for 20 was_noticed || return 1
		cat "$FARSWAP_DEBUG/session_ends" ;;
	esac
	swapoff "$SWAP_DISK" && donor_is_live "$real" || return 1
	# This takes a bounded time, whatever the fake donor does.
	echo "$real" >"$FARSWAP/donors"
}

good_is_used() {
	fake_start good && echo "$fake" >"$FARSWAP/donors" && wait_for 20 donors_live 1 || return 1
	swap_anew || return 1
	stats_save
	start_load good fake -m 6 -p 2 -d 200 -r 50 -w 60 -i 0
	wait_for 60 grown store_remote 100 && wait_for 60 grown load_remote 100
	good_status=$?
	stop_load good && swapoff "$SWAP_DISK" && fake_said map && return $good_status
}

# It claims to resume, but its answer count is that of its first session.
rolled_back() {
	survives rolledback && ! fake_said resume &&
		grep "^[1-9][0-9]* can't resume: it, or this machine, was restored" \
			"$FARSWAP_DEBUG/session_ends"
}

# Not because the rkey is wrong: a donor may know one.
reaches_nothing() {
	survives reaches && fake_said '^reached' && fake_said '^reached remote invalid request error'
}

was_lost() {
	awk -v a="$fake" '$1 == a && $7 > 0 { f = 1 } END { exit !f }' "$FARSWAP_DEBUG/donors"
}

# The session is resumed at first, because the donor may have evicted a region.
dead_keys() {
	set_value "$FARSWAP/grace_ms" 3000
	fake_start deadkey && echo "$fake,$real" >"$FARSWAP/donors" &&
		wait_for 30 donor_is_live "$fake" || return 1
	swap_anew || return 1
	start_load keys fake -m 8 -p 2 -d 100 -r 70 -w 60 -i 0
	wait_for 60 was_lost
	keys_status=$?
	fake_said resume || keys_status=1
	cat "$FARSWAP_DEBUG/session_ends"
	stop_load keys && swapoff "$SWAP_DISK" && echo "$real" >"$FARSWAP/donors" &&
		grep -q "^[1-9][0-9]* remote access error$" "$FARSWAP_DEBUG/session_ends" &&
		return $keys_status
}

test_begin 22
[ -x "$HERE/fakedonor" ] || skip_rest "no fakedonor: it needs librdmacm to be built"
farswap_up 2
# The fake donor needs its memory.
donor_kill "${DONORS%% *}"
make_cgroup fake 4M
check "a fake donor that behaves is used" good_is_used
fake_stop
stats_save
check "random bytes; unexpected answers" survives garbage wrongseq
check "the reason is counted" grep "^[1-9][0-9]* answer without a request$" \
	"$FARSWAP_DEBUG/session_ends"
check "an oversized message after a MAP" survives longlater
check "the reason is counted" grep "^[1-9][0-9]* message too long$" \
	"$FARSWAP_DEBUG/session_ends"
check "messages too long, too short" survives longmsg shortmsg
check "messages with immediate data" survives immediate
check "the reason is counted" grep "^[1-9][0-9]* message is not a plain SEND$" \
	"$FARSWAP_DEBUG/session_ends"
check "an EVICT of nothing; a region of half the size" survives evictunknown badregion
check "an invalid rkey" survives badrkey
check "a donor that writes to the client's memory is refused by the queue pair" reaches_nothing
check "a donor that reports this machine at the wrong time" survives misplaced
check "the reason is counted" grep "^[1-9][0-9]* field out of range$" \
	"$FARSWAP_DEBUG/session_ends"
check "queries without end" survives curious
check "the reason is counted" grep "^[1-9][0-9]* too many queries in a second$" \
	"$FARSWAP_DEBUG/session_ends"
check "silence at first, silence later" survives silent mute
check "a donor restored from a snapshot" rolled_back
check "a donor that lost regions nobody claimed" survives misnames
check "the reason is counted" grep \
	"^[1-9][0-9]* can't resume: it reports regions lost that we did not name$" \
	"$FARSWAP_DEBUG/session_ends"
check "revoked rkeys, repeatedly" dead_keys
stats_show
check "the real donor served page-outs and page-ins" grew store_remote load_remote
check --data "no page is lost" stat_is load_lost 0
test_end
