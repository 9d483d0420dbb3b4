#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A donor's headroom can be set by sysfs where the module is loaded; without the module, the
# daemon's configuration applies. The daemon never holds more than its cgroup allows.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

KNOB=/sys/kernel/farswap/headroom_mb
donor=${DONORS%% *}

# metric NAME: of the donor's farswapd, in MB
metric() {
	donor_metric "$donor" "$1" | awk '{ print int($1 / 1048576) }'
}

metric_is() {
	is=$(metric "$1")
	echo "$1: $is MB"
	test "$is" "$2" "$3"
}

available() {
	on "$donor" 'cat /proc/meminfo' | awk '/^MemAvailable:/ { print int($2 / 1024) }'
}

available_above() {
	is=$(available)
	echo "$is MB available"
	[ "$is" -gt "$1" ]
}

knob() {
	on "$donor" "echo $1 >$KNOB"
}

# limited_to max|high MB: set the limit of the cgroup above the daemon's
limited_to() {
	on "$donor" "echo $2M >/sys/fs/cgroup/farswap/memory.$1"
}

starts_in_cgroup() {
	donor_kill "$donor"
	on "$donor" 'mkdir -p /sys/fs/cgroup && { [ -e /sys/fs/cgroup/cgroup.procs ] ||
		mount -t cgroup2 none /sys/fs/cgroup; } &&
		echo +memory >/sys/fs/cgroup/cgroup.subtree_control &&
		mkdir -p /sys/fs/cgroup/farswap/daemon' &&
		limited_to max 200 &&
		on "$donor" "echo \$\$ >/sys/fs/cgroup/farswap/daemon/cgroup.procs &&
			$START_FARSWAPD" >/dev/null &&
		wait_for 20 donor_has_daemon "$donor"
}

# An allocation of its cgroup was refused, or a task was killed.
was_refused() {
	on "$donor" 'grep -E "^(max|oom|oom_kill) [1-9]" /sys/fs/cgroup/farswap/memory.events ||
		grep "cannot allocate .* more memory" /run/farswapd.log'
}

test_begin 11
farswap_up 2
configured=$(metric headroom_bytes)
held=$(metric held_bytes)
say "$donor: headroom $configured MB, holds $held MB, $(available) MB available"
check "the module is loaded on a donor" on "$donor" \
	'modprobe farswap enabled=0 && [ "$(cat /sys/kernel/farswap/headroom_mb)" = 0 ]'
check "a larger headroom applies" eval \
	'knob 400 && wait_for 20 metric_is headroom_bytes -eq 400'
check "that much memory becomes available" wait_for 20 available_above 390
check "the daemon holds less" metric_is held_bytes -lt "$held"
check "a headroom above the machine's memory is refused" eval '! knob 5000'
check "headroom_mb=0 applies the configuration's" \
	eval 'knob 0 && wait_for 20 metric_is headroom_bytes \
	-eq "$configured" && wait_for 60 metric_is held_bytes -gt $((held * 3 / 4))'
check "without the module, the configuration's headroom applies" \
	eval 'knob 300 && wait_for 20 metric_is headroom_bytes -eq 300 &&
	on "$donor" "rmmod farswap" && wait_for 20 metric_is headroom_bytes -eq "$configured"'
check "a daemon is started in a cgroup with a limit" starts_in_cgroup
check "the daemon holds what the limit leaves" wait_for 30 eval \
	'metric_is held_bytes -gt 100 && metric_is held_bytes -le 168'
check "a lower limit applies without a refused allocation" \
	eval '! was_refused && limited_to high 150 &&
	wait_for 20 metric_is held_bytes -le 118 && donor_has_daemon "$donor"'
check "a higher limit applies" eval 'limited_to max 250 && limited_to high 250 &&
	wait_for 30 metric_is held_bytes -gt 120'
test_end
