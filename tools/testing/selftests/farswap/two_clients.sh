#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two clients have pages at the same two donors. The one with less weight loses regions to an
# eviction, is paused for longer than its grace, then loses power: the donors free its regions, and
# the other client is not affected.
# cluster: clients=2 donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

other=${CLIENTS##* }

other_up() {
	on "$other" "swapoff -a 2>/dev/null; mkswap $SWAP_DISK >/dev/null && swapon $SWAP_DISK &&
		modprobe farswap && cd $FARSWAP && echo 0 >hotslab && echo 2000 >grace_ms &&
		echo >donors && echo $(donor_list 2) >donors &&
		echo +memory >$CGROUP/cgroup.subtree_control && mkdir -p $CGROUP/other &&
		echo 12M >$CGROUP/other/memory.high"
}

other_stat() {
	on "$other" "awk '\$1 == \"$1\" { print \$2 }' $FARSWAP_DEBUG/stats"
}

other_stat_above() {
	other_now=$(other_stat "$1")
	echo "$1 of the other: $other_now"
	[ "$other_now" -gt "$2" ]
}

# lent_to_other DONOR: number of regions it has lent to the other client
lent_to_other() {
	on "$1" 'farswapctl status' | awk -v a="$other:" '
		index($2, a) == 1 {
			for (i = 2; i <= NF; i++)
				if ($i == "regions")
					sum += $(i - 1)
		}
		END { print sum + 0 }'
}

other_has() {
	other_sum=0
	for other_donor in $DONORS; do
		other_sum=$((other_sum + $(lent_to_other "$other_donor")))
	done
	echo "$other_sum regions are lent to the other, $(uptime_seconds) s after boot"
	test "$other_sum" "$1" "$2"
}

# Its pages stay idle until /tmp/NAME.hold.go exists.
other_load() {
	wait_for 60 on "$other" \
		"[ \$(awk 'NR > 1 && \$2 == \"live\"' $FARSWAP_DEBUG/donors | wc -l) -eq 2 ]" || return 1
	on "$other" "rm -f /tmp/$1.*; (echo \$\$ >$CGROUP/other/cgroup.procs; exec setsid $LOAD \
		-m 24 -p 1 -w 50 -O -H /tmp/$1.hold -d 60 -i 0 >/tmp/$1.log 2>&1 </dev/null) &"
	wait_for 60 on "$other" "ls /tmp/$1.hold.ready.*" &&
		wait_for 10 other_stat_above remote_pages 2000
}

other_is_idle() {
	on "$other" "cat $FARSWAP_DEBUG/slabs" |
		awk 'NR > 1 && $7 > 2 { busy++ } END { print busy + 0 " are busy"; exit !!busy }'
}

# save_busy: the slabs that the first uses now, and where each of them is
save_busy() {
	awk 'NR > 1 && $3 == "mapped" && $7 > 10 { print $1, $2, $4 }' "$FARSWAP_DEBUG/slabs" \
		>"$TMP/busy"
}

# busy_at DONOR: the first uses a slab there
busy_at() {
	save_busy
	awk -v a="$1" '$3 == a || index($3, a ":") == 1 { print; there = 1 } END { exit !there }' \
		"$TMP/busy"
}

# busy_stay: each slab of save_busy is still mapped, and still where it was
busy_stay() {
	awk 'NR == FNR { stays[$1, $2, $4] = $3 == "mapped"; next }
		!stays[$1, $2, $3] { print "slab", $2, "is no longer at", $3; bad = 1 }
		END { exit bad }' "$FARSWAP_DEBUG/slabs" "$TMP/busy"
}

# evict_at DONOR: it evicts one region while the first client is busy there and the other idle. Adds
# to evicted, and to taken if the first lost a slab that it uses.
evict_at() {
	[ "$(lent_to_other "$1")" -gt 0 ] || return 0
	wait_for 40 other_is_idle || return 1
	wait_for 20 busy_at "$1" || return 0
	on "$1" 'farswapctl evict 1' || return 1
	evicted=$((evicted + 1))
	busy_stay || taken=$((taken + 1))
}

evict_idle() {
	evicted=0 taken=0
	for evict_try in 1 2 3; do
		for evict_donor in $DONORS; do
			evict_at "$evict_donor" && [ $taken -eq 0 ] || return 1
		done
		echo "try $evict_try: $evicted evictions so far"
		[ $evicted -eq 0 ] || ! other_stat_above slab_evicted 0 || return 0
	done
	return 1
}

# The first client has a hundred times the other's weight.
weigh() {
	for weigh_donor in $DONORS; do
		donor_kill "$weigh_donor"
		on "$weigh_donor" "echo 'client $CLIENT weight=100' >/etc/farswapd.conf" &&
			donor_start "$weigh_donor" &&
			on "$weigh_donor" 'rm /etc/farswapd.conf' || return 1
	done
}

other_goes_on() {
	on "$other" "touch /tmp/one.hold.go; sleep 2; killall -TERM load; i=0
		while pidof load >/dev/null && [ \$((i += 1)) -lt 300 ]; do sleep 0.1; done
		cat /tmp/one.log; tail -n 1 /tmp/one.log | grep -q 'wrong_pages=0 .*lost_pages=0'"
}

# Counters of the first client that a failure of its own donors would change.
unharmed() {
	same load_fallback store_write_failed store_device_failed slab_lost replica_lost donor_down &&
		donors_live 2 && unsuspected
}

unsuspected() {
	for unsuspected_donor in $DONORS; do
		donor_field_is "$unsuspected_donor" suspects "$(cat "$TMP/suspects.$unsuspected_donor")" ||
			return 1
	done
}

test_begin 15
check "the first client has more weight than the other" weigh
farswap_up 2
swap_on
make_cgroup watch 14M
check "the other client is set up" other_up
start_load watch watch -m 24 -p 2 -d 250 -r 50 -w 50 -i 10
check "pages of the first client go out and come in" pages_go_and_return 1500
check "the other client has idle remote pages" other_load one
for donor in $DONORS; do
	donor_field "$donor" suspects >"$TMP/suspects.$donor"
done
stats_save
check "regions of the client with less weight are evicted" evict_idle
check "no busy slab of the first client is taken" test "$taken" -eq 0
check "the other client is paused" host pause "$other"
check "its regions are freed after its grace period" wait_for 40 other_has -eq 0
host resume "$other"
check --data "its memory contents are right when it resumes" other_goes_on
check "it has pages at the donors again" other_load two
check "the other client loses power" host poweroff "$other"
check "its regions are freed after its grace period" wait_for 40 other_has -eq 0
check "the first client had no fallback and lost no slab" unharmed
check --data "its memory contents are right" stop_load watch
check "pages went out and came in" grew store_remote load_remote
stats_show
test_end
