#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two daemons on one machine are two donors that fail together: both lend, and no page has both
# replicas on that machine. Until there is another machine, the disk is the replica. Machines with
# equal machine-ids, as clones have, are different machines.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

machine=${DONORS%% *}
other=${DONORS##* }
machine_id=0123456789abcdef0123456789abcdef

clone_machines() {
	for clone in $machine $other; do
		on "$clone" "echo $machine_id >/etc/machine-id" || return 1
	done
}

unclone_machines() {
	for clone in $machine $other; do
		on "$clone" "rm -f /etc/machine-id"
	done
}

# A container with a boot id of its own reports its machine-id.
contain() {
	donor_kill "$other" && on "$other" "echo 11111111-2222-4333-8444-555555555555 >/run/boot_id
		unshare -m sh -c 'mount --bind /run/boot_id /proc/sys/kernel/random/boot_id &&
			$START_FARSWAPD'" && wait_for 20 donor_has_daemon "$other"
}

node_is() {
	donor_field "$1" node
	[ "$(donor_field "$1" node | tr -d -)" = "$2" ]
}

same_machine_is_said() {
	said="donors $machine(:9402)? and $machine(:9402)? report the same machine"
	log_has farswap "$said" && cat "$TMP/log" || return 1
	[ "$(grep -c . "$TMP/log")" = 1 ] &&
		donor_field_is "$machine:9402" same_machine "$machine"
}

# Start both daemons: the memory of one is not enough.
both_start() {
	donor_kill "$machine" && donor_start "$machine" memory=24M &&
		on "$machine" '. /run/cluster.env
			options=
			for option in $(echo "$daemon" | tr "," " "); do
				options="$options -o $option"
			done
			setsid farswapd -n $options -o listen=0.0.0.0:9402 \
				-o control=/run/second.sock -o memory=24M \
				>/run/second.log 2>&1 </dev/null &' &&
		wait_for 10 on "$machine" 'farswapctl -s /run/second.sock status'
}

use_donors() {
	echo "$1" >"$FARSWAP/donors"
	wait_for 30 donors_live "$2"
}

# slabs_on MACHINES: each slab with pages is on so many machines, once on each
slabs_on() {
	cat "$FARSWAP_DEBUG/slabs"
	awk -v n="$1" 'NR > 1 && $3 == "mapped" && $5 > 0 {
			slabs++
			split("", seen)
			machines = 0
			regions = split($4, at, ",")
			for (i in at) {
				sub(/:[0-9]*$/, "", at[i])
				machines += !seen[at[i]]++
			}
			wrong += machines != n || regions != n
		}
		END {
			print wrong + 0 " of " slabs + 0 " slabs are not on " n
			exit !slabs || wrong
		}' "$FARSWAP_DEBUG/slabs"
}

both_lend() {
	on "$machine" 'farswapctl metrics; farswapctl -s /run/second.sock metrics' >"$TMP/metrics"
	grep 'regions{state="mapped"}' "$TMP/metrics"
	[ "$(grep -c 'regions{state="mapped"} [1-9]' "$TMP/metrics")" -eq 2 ]
}

both_die() {
	stats_save
	donor_kill "$machine" && wait_for 20 donors_live 1 && wait_for 20 grew replica_lost &&
		sleep 2 && load_runs busy
}

test_begin 11
farswap_up 2
check "both machines are clones" clone_machines
set_value "$FARSWAP/backup" replica
check "two daemons start on one machine" both_start
log_mark
check "they are two donors" use_donors "$machine,$machine:9402" 2
check "the log and the donors file report it" same_machine_is_said
swap_on
make_cgroup busy 12M
stats_save
start_load busy busy -m 24 -p 2 -w 20 -d 280 -r 70 -i 0
check "both donors lend" eval 'wait_for 60 stat_above remote_pages 2000 && wait_for 30 both_lend'
# Long enough for several attempts to find a replica.
sleep 5
check "no slab is on that machine twice" slabs_on 1
check "pages without a replica are on the disk, with a reason counted" \
	grew backup_written map_same_machine
check "a second machine is added" eval 'contain && use_donors "$machine,$machine:9402,$other" 3 &&
	node_is "$other" $machine_id'
check "each slab is on both machines" wait_for 90 slabs_on 2
# A slab that has no pages yet may be on that machine alone, and is lost then.
check "both daemons die, no page is lost" eval 'both_die && data same lost load_lost'
check --data "memory contents are right" stop_load busy
unclone_machines
donor_kill "$other"
stats_show
test_end
