#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two clients have pages at the same two donors. One of them is evicted from, then paused
# for longer than its grace, then loses power: the donors get back what they lent it, and the
# other client notices nothing.
# cluster: clients=2 donors=2 mem=192 disks=1
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

# lent_to_other DONOR: how many regions it has lent the other client
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

# Its pages are left alone until /tmp/NAME.hold.go is there.
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

# A donor asks how busy each region is when it lends no more than six.
evict_idle() {
	wait_for 40 other_is_idle || return 1
	for evict_donor in $DONORS; do
		[ "$(lent_to_other "$evict_donor")" -gt 0 ] || continue
		on "$evict_donor" 'farswapctl evict 1' || return 1
	done
	wait_for 10 other_stat_above slab_evicted 0
}

other_goes_on() {
	on "$other" "touch /tmp/one.hold.go; sleep 2; killall -TERM load; i=0
		while pidof load >/dev/null && [ \$((i += 1)) -lt 300 ]; do sleep 0.1; done
		cat /tmp/one.log; tail -n 1 /tmp/one.log | grep -q 'wrong_pages=0 .*lost_pages=0'"
}

# Counters that would grow at the first client if its own donor failed.
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

test_begin 14
farswap_up 2
swap_on
make_cgroup watch 14M
check "the other client is set up" other_up
start_load watch watch -m 24 -p 2 -d 250 -r 50 -w 50 -i 10
check "pages of the first go to donors and come back" pages_go_and_return 1500
check "pages of the other are remote, and idle" other_load one
for donor in $DONORS; do
	donor_field "$donor" suspects >"$TMP/suspects.$donor"
done
stats_save
check "idle regions are taken back: the other's" evict_idle
check "no slab was taken from the first, which is busy" same slab_evicted
check "the other is paused" host pause "$other"
check "what it had is lent no more when its grace is over" wait_for 40 other_has -eq 0
host resume "$other"
check --data "its memory is right when it goes on" other_goes_on
check "it has pages at the donors again" other_load two
check "the other loses power" host poweroff "$other"
check "what it had is lent no more when its grace is over" wait_for 40 other_has -eq 0
check "the first had no fallback, and no slab was lost" unharmed
check --data "its memory was right all the time" stop_load watch
check "pages went and came" grew store_remote load_remote
stats_show
test_end
