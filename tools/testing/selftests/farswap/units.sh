#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A stand-in for a virtual machine is shrunk to almost nothing by farswapctl, still answers, grows
# again and is read back; what can't be swapped is named. What a cgroup may swap without farswap's
# policies is the kernel's to say.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

GUEST=$HERE/guest
MB=24

# start_guest NAME OPTIONS...: in a cgroup of that name
start_guest() {
	guest_name=$1
	shift
	make_cgroup "$guest_name" max
	load_list="$load_list $guest_name"
	sh -c 'echo $$ >"$0" && exec "$@"' "$CGROUP/$guest_name/cgroup.procs" \
		"$TMP/qemu-system-x86_64" -name "guest=$guest_name" "$@" "$TMP/$guest_name.socket" \
		>"$TMP/$guest_name.log" 2>&1 3>&- &
	echo $! >"$TMP/$guest_name.pid"
	wait_for 60 grep ready "$TMP/$guest_name.log" || bail "no guest $guest_name"
}

# memory_mb NAME
memory_mb() {
	echo $(($(cat "$CGROUP/$1/memory.current") >> 20))
}

listed() {
	farswapctl vm list | tee "$TMP/list"
	awk -v mb=$MB '$1 == "private" && $3 == mb && $9 == "private" { private = 1 }
		$1 == "shared" && $3 == mb && $9 == "shared" { shared = 1 }
		END { exit !(private && shared) }' "$TMP/list"
}

# shrunk NAME: it may keep its page tables, and what the program itself needs all the time
shrunk() {
	farswapctl --psi 100 vm min "$1" || return 1
	say "$1: $(($(cat "$CGROUP/$1/memory.current") >> 10)) kB of $MB MB are left"
	[ "$(memory_mb "$1")" -lt 4 ]
}

answers() {
	for answers_name in private shared; do
		timeout 60 "$GUEST" ask "$TMP/$answers_name.socket" e || return 1
	done
}

# pulled NAME: it has most of its memory again before any of its pages was accessed
pulled() {
	farswapctl --pull --leave 8M vm grow "$1" max || return 1
	[ "$(memory_mb "$1")" -gt $((MB / 2)) ]
}

all_right() {
	for right_name in private shared; do
		timeout 120 "$GUEST" ask "$TMP/$right_name.socket" v || return 1
	done
}

# Its memory is kept at the size while all of it is read.
kept_small() {
	farswapctl --psi 100 vm size private 16M && grep -qx 16777216 "$CGROUP/private/memory.high" &&
		grep -qx max "$CGROUP/private/memory.max" &&
		timeout 120 "$GUEST" ask "$TMP/private.socket" v && [ "$(memory_mb private)" -lt 20 ]
}

locked_is_named() {
	! farswapctl vm min locked 2>"$TMP/why" && cat "$TMP/why" && grep "are locked (mlock)" "$TMP/why"
}

# memory.swap.max=0 keeps a cgroup off donors and the device.
stays_here() {
	echo 0 >"$CGROUP/stays/memory.swap.max"
	stats_save
	! farswapctl --psi 100 shrink /stays 8M >"$TMP/why" && cat "$TMP/why" &&
		grep "its memory.swap.max is 0" "$TMP/why" && same store_remote store_device
}

test_begin 11
farswap_up 2
swap_on
ln -s "$GUEST" "$TMP/qemu-system-x86_64"
start_guest private -m $MB
check "a machine shrinks to almost nothing" shrunk private
start_guest shared -m $MB -s
check "machines are found, with shared memory and without" listed
check "one with shared memory shrinks to almost nothing" shrunk shared
# what went out before the first region came is copied to donors later
check "their memory comes to donors" wait_for 60 stat_above remote_pages $((MB * 400))
check --data "they still answer" answers
check "one that may grow is read back" pulled private
check --data "memory contents are right while it is kept small" kept_small
check "shared memory is read back" pulled shared
check --data "all memory contents are right" all_right
kill_load shared
kill_load private
start_guest locked -m 16 -l
check "locked memory is named" locked_is_named
start_guest stays -m 16
check "memory.swap.max=0 keeps pages off donors and the device" stays_here
test_end
