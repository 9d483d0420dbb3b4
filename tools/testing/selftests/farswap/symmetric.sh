#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Machines swap to each other: one after the other needs more memory than it has, while the others
# lend; then one reclaims all its memory while the others have pages there; then all are short at
# once, and none lends. Nothing hangs, no task is killed, every byte is right.
# cluster: both=3 mem=160 slab_mb=4 fs.min_free_kb=8192
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# Memory of a load, in percent of the machine's. A slow kernel keeps a third of it for itself.
NEED=130
[ "${SLOW:-1}" -eq 1 ] || NEED=90
SECONDS_EACH=${SECONDS_EACH:-1}
PATIENCE=$((60 * ${SLOW:-1}))

# each COMMAND...: on all machines at once, with the address as the last word; all must succeed
each() {
	each_pids=
	for each_one in $CLIENTS; do
		("$@" "$each_one" >"$TMP/each.$each_one" 2>&1) &
		each_pids="$each_pids $!"
	done
	each_status=0
	for each_pid in $each_pids; do
		wait "$each_pid" || each_status=1
	done
	for each_one in $CLIENTS; do
		sed "s/^/$each_one: /" "$TMP/each.$each_one"
	done
	return $each_status
}

# others_of ADDRESS
others_of() {
	echo "$CLIENTS" | tr ' ' '\n' | grep -vx "$1"
}

machine_up() {
	on "$1" "swapoff -a 2>/dev/null; modprobe farswap; cd $FARSWAP && echo 0 >hotslab &&
		echo >donors && echo $(others_of "$1" | paste -s -d ,) >donors &&
		mkswap $SWAP_DISK >/dev/null && swapon $SWAP_DISK"
}

machine_has_donors() {
	on "$1" "[ \$(awk 'NR > 1 && \$2 == \"live\"' $FARSWAP_DEBUG/donors | wc -l) -eq 2 ]"
}

machine_stat() {
	on "$1" "awk '\$1 == \"$2\" { print \$2 }' $FARSWAP_DEBUG/stats"
}

# can_lend ADDRESS: it has free regions
can_lend() {
	on "$1" 'farswapctl status' | grep -E '[1-9][0-9]*M can be lent'
}

# gives_back ADDRESS: it gives back the regions it uses
gives_back() {
	on -t $PATIENCE "$1" "cd $FARSWAP && echo 0 >attached && echo 1 >attached"
}

# need SECONDS ADDRESS: run a load larger than memory there; prints one line at its end
need() {
	on -t $((3 * PATIENCE)) "$2" "mb=\$(awk '\$1 == \"MemTotal:\" { print int(\$2 * $NEED / 102400) }' \
			/proc/meminfo)
		$LOAD -m \$mb -p 2 -w 50 -d $1 -i 0 >/tmp/need.log 2>&1; status=\$?
		tail -n 5 /tmp/need.log; exit \$status"
}

# in_turn ADDRESS: pages of its load come in from the others
in_turn() {
	for turn_other in $(others_of "$1"); do
		wait_for 30 can_lend "$turn_other" || return 1
	done
	turn_before=$(machine_stat "$1" load_remote)
	data need "$SECONDS_EACH" "$1" || return 1
	turn_pages=$(($(machine_stat "$1" load_remote) - turn_before))
	echo "$turn_pages pages of $1 were read from the others"
	gives_back "$1" && [ "$turn_pages" -gt 500 ]
}

# lent_by_first TEST NUMBER
lent_by_first() {
	donor_metric_is "$CLIENT" 'regions{state="mapped"}' "$1" "$2"
}

# returned: number of regions that the first has got back from clients
returned() {
	on "$CLIENT" 'farswapctl metrics' |
		awk '/^farswapd_returns_total/ { sum += $2 } END { print sum + 0 }'
}

takes_all_back() {
	wait_for 60 lent_by_first -eq 0 || return 1
	echo "it got back regions: $(($(returned) - returned_before))"
	[ "$(returned)" -gt "$returned_before" ]
}

# all_need SECONDS: on all at once; prints the longest access
all_need() {
	each need "$1" >"$TMP/short" 2>&1
	all_status=$?
	cat "$TMP/short"
	longest=$(sed -n 's/.*longest_ms=\([0-9]*\).*/\1/p' "$TMP/short" | sort -n | tail -n 1)
	return $all_status
}

lend_nothing() {
	on "$1" "echo 0 >$FARSWAP/attached && farswapctl drain"
}

lend_again() {
	on "$1" "farswapctl undrain && echo 1 >$FARSWAP/attached"
}

test_begin 11
check "each machine is client and donor" each machine_up || skip_rest "not set up"
check "each machine uses the others" wait_for 30 each machine_has_donors || skip_rest "no donors"
for machine in $CLIENTS; do
	check "$machine pages out to the others, memory contents are right" in_turn "$machine"
done

pids=
for machine in $(others_of "$CLIENT"); do
	need $((SECONDS_EACH + 9)) "$machine" >"$TMP/grow.$machine" 2>&1 &
	pids="$pids $!"
done
check "the other machines have pages at the first" wait_for 40 lent_by_first -gt 1
returned_before=$(returned)
need $((SECONDS_EACH + 2)) "$CLIENT" >"$TMP/grow.$CLIENT" 2>&1 &
pids="$pids $!"
check "the first grows and reclaims all" takes_all_back
grow=0
for pid in $pids; do
	wait "$pid" || grow=1
done
sed 's/^/# /' "$TMP"/grow.*
result --data $grow "memory contents are right on each machine"

check --data "memory contents are right while all are short at once" all_need "$SECONDS_EACH"
say "longest access while all are short: $longest ms"
each lend_nothing >/dev/null
check "the same works without farswap" all_need "$SECONDS_EACH"
say "longest access while all are short, farswap off: $longest ms"
check "all lend again" each lend_again
test_end
