#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# farswapctl shows both halves, and farswapctl check names each mistake at set-up and what to type.
# cluster: donors=2 mem=192 disks=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# finds LINE CURE: check ends with status 1, and a line of it matches both
finds() {
	farswapctl check >"$TMP/found"
	found_status=$?
	[ "$found_status" -eq 1 ] && grep -E "^fail  $1" "$TMP/found" | grep -F "; type: $2" && return
	cat "$TMP/found"
	return 1
}

# finds_soon LINE CURE LOG: the same, once the kernel's log has it, with a cure of its own
finds_soon() {
	wait_for 40 finds "$1" "$2" && { log_has "$3" || { log_show | grep farswap; return 1; }; }
}

good_machine() {
	farswapctl check
	good_status=$?
	farswapctl --json check >"$TMP/json" && grep -q '"fail":0}$' "$TMP/json" &&
		[ "$good_status" -eq 0 ] || return 1
	for good_donor in $DONORS; do
		grep "donor.*$good_donor is live.*MiB free, a page is read in [1-9][0-9]* us" "$TMP/json" ||
			return 1
	done
	awk 'NR > 1 { if ($2 != 8 || $3 <= 0 || $4 < $3 || $5) exit 1; n++ } END { exit n != 2 }' \
		"$FARSWAP_DEBUG/timing"
}

# Both halves count the same regions.
both_halves() {
	swap_on
	make_cgroup both 12M
	start_load both both -m 24 -p 2 -d 60 -i 1
	wait_for 40 grown store_remote 500 || return 1
	stop_load both || return 1
	farswapctl status && farswapctl donors && farswapctl slabs | head -n 3 &&
		farswapctl stats | grep " store_remote$" &&
		timeout 3 farswapctl --json stats --watch 1 | grep -m 1 '{"seconds":1,"growth":{"store_remote"' ||
		return 1
	wait_for 40 same_counts
}

# A region of a session that ended a moment ago is lent until grace_ms are over.
same_counts() {
	farswapctl --json status >"$TMP/status" || return 1
	cat "$TMP/status"
	here=$(sed 's/.*"gauges":{[^}]*"mapped_slabs":\([0-9]*\).*/\1/' "$TMP/status")
	there=0
	for both_donor in $DONORS; do
		on "$both_donor" 'farswapctl --json status' >"$TMP/donor" || return 1
		cat "$TMP/donor"
		there=$((there + $(sed 's/.*"regions":{[^}]*"mapped":\([0-9]*\).*/\1/' "$TMP/donor")))
	done
	echo "$here slabs are mapped, $there regions are lent"
	[ "$here" -gt 0 ] && [ "$here" -eq "$there" ]
}

metrics_of_both() {
	farswapctl metrics >"$TMP/metrics" && grep '^farswap_store_remote_total [1-9]' "$TMP/metrics" &&
		grep '^farswap_latency_seconds_count{kind="store_remote"} [1-9]' "$TMP/metrics" &&
		[ "$(tail -n 1 "$TMP/metrics")" = "# EOF" ] || return 1
	printf 'GET /metrics HTTP/1.1\r\nHost: client\r\n\r\n' | farswapctl metrics --http >"$TMP/http" &&
		head -n 1 "$TMP/http" | grep '^HTTP/1.1 200 ' || return 1
	on "$other" 'farswapctl metrics' >"$TMP/metrics" &&
		grep '^farswapd_regions{state="mapped"} ' "$TMP/metrics" &&
		grep '^farswapd_build_info{' "$TMP/metrics" &&
		grep '^farswapd_ping_seconds_bucket{le="+Inf"} ' "$TMP/metrics"
}

bench_runs() {
	set_value "$FARSWAP/hotslab" 0
	farswapctl --json bench 16 >"$TMP/bench" || return 1
	cat "$TMP/bench"
	grep '"size_mib":16,.*"out_remote_percent":[1-9].*"in_remote_percent":[1-9].*"wrong_pages":0}$' \
		"$TMP/bench" && [ ! -e /sys/fs/cgroup/farswap-bench ] &&
		farswapctl bench 8 && farswapctl bench 9999 2>"$TMP/bench"
	[ $? -eq 2 ] && grep "invalid size '9999'" "$TMP/bench"
}

top_shows() {
	farswapctl top >"$TMP/top" && cat "$TMP/top" && grep "of 2 donors live" "$TMP/top" &&
		[ "$(wc -l <"$TMP/top")" -le 24 ]
}

donor_commands() {
	on "$other" 'farswapctl --json evict all' >"$TMP/evict" &&
		grep '^{"evicted":[0-9]*,"returned":[0-9]*,"revoked":[0-9]*,"broken":0}$' "$TMP/evict" &&
		on "$other" 'farswapctl --json drain' >"$TMP/drain" &&
		grep '^{"evicted":[0-9]*,"returned":.*,"broken":0}$' "$TMP/drain" &&
		on "$other" 'farswapctl check' >"$TMP/drained" &&
		grep '^warn  farswapd: .*drained.*; type: farswapctl undrain$' "$TMP/drained" &&
		on "$other" 'farswapctl --json undrain' >"$TMP/undrain" &&
		grep '^{"was_drained":1,"free_bytes":[1-9]' "$TMP/undrain"
}

# use LIST: use these donors, and connect at once
use() {
	echo >"$FARSWAP/donors"
	log_mark
	echo "$1" >"$FARSWAP/donors"
}

# Two slabs, and a load that needs more.
full_donor() {
	slab_mb=$(cat "$FARSWAP/slab_mb")
	donor_kill "$victim" &&
		on "$victim" "$START_FARSWAPD memory=$((2 * slab_mb))M headroom=0 slab=${slab_mb}M" &&
		use "$victim" && wait_for 60 donor_is_live "$victim" && farswapctl bench 24 &&
		farswapctl check >"$TMP/full" || return 1
	cat "$TMP/full"
	grep "^warn  donor: $victim is full: .*; type: farswapctl status (there)" "$TMP/full" &&
		log_has "farswap: donor $victim: is full: .*; a larger memory or a smaller headroom"
}

names_resolve() {
	use "$other" && farswapctl donors add "$(donor_name "$victim")" &&
		[ "$(cat "$FARSWAP/donors")" = "$other,$victim" ] && farswapctl donors remove "$victim" &&
		[ "$(cat "$FARSWAP/donors")" = "$other" ] || return 1
	farswapctl donors add no-such-name 2>"$TMP/name"
	[ $? -eq 2 ] && grep "the host name 'no-such-name' does not resolve" "$TMP/name" || return 1
	farswapctl donors add "$other:99999" 2>"$TMP/name"
	[ $? -eq 1 ] && grep "refused: .*$other:99999" "$TMP/name"
}

# This machine's own name is left out.
names_found() {
	mkdir -p /etc/farswap/donors.d /run/farswap &&
		printf 'donor = %s\n' "$(donor_name "$victim")" "$(donor_name "$other")" "$CLIENT" \
			>/etc/farswap/donors.d/test.conf && use "$other" || return 1
	farswapctl donors sync
	names_status=$?
	rm -r /etc/farswap/donors.d /run/farswap/donors
	[ $names_status -eq 0 ] && [ "$(cat "$FARSWAP/donors")" = "$other,$victim" ] &&
		wait_for 60 donors_live 2
}

# The service of the timer has what sync prints in its journal.
unknown_name() {
	mkdir -p /etc/farswap/donors.d && echo 'donor = no-such-name' >/etc/farswap/donors.d/test.conf &&
		finds 'donors: the name in donor=no-such-name does not resolve' 'getent hosts no-such-name' || return 1
	farswapctl donors sync 2>"$TMP/name"
	unknown_status=$?
	rm -r /etc/farswap/donors.d
	[ $unknown_status -eq 1 ] && grep 'no-such-name: .*; check the name in /etc/farswap/donors.d' "$TMP/name"
}

no_swap() {
	swapoff "$SWAP_DISK" && finds 'swap: there is no swap device' 'fallocate' || return 1
	log_mark
	echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached" &&
		log_has 'attached; no swap device is on yet, .*: see swapon'
}

no_such_machine() {
	use 10.0.0.77
	finds_soon 'donor: 10.0.0.77 does not answer' 'ping 10.0.0.77' 'donor 10.0.0.77: .*; is it on'
}

no_daemon() {
	donor_kill "$victim" && use "$victim" &&
		finds_soon "donor: $victim is not used: .*no farswapd listens" \
			'systemctl enable --now farswapd (there)' \
			"donor $victim: .*no farswapd at this address.*; there: systemctl start"
}

other_slab_size() {
	slab_mb=$(cat "$FARSWAP/slab_mb")
	other_mb=$((slab_mb == 2 ? 4 : slab_mb / 2))
	donor_touch "$victim" && on "$victim" "$START_FARSWAPD slab=${other_mb}M" && use "$victim" &&
		finds_soon "donor: $victim is not used: it lends slabs of $other_mb MiB, slab_mb here is $slab_mb" \
			"echo 'slab = ${slab_mb}M' >/etc/farswapd.conf.d/slab.conf" \
			"donor $victim: .*lends slabs of $other_mb MiB.*; make slab in its farswapd.conf"
}

# The drop rule closes UDP port 4791, and ping is not affected.
closed_port() {
	use "$other" && wait_for 60 donor_is_live "$other" && echo >"$FARSWAP/donors" &&
		lose "$CLIENT" "$other" 1 || return 1
	use "$other"
	finds_soon "donor: $other .*UDP port 4791 is closed" '' "donor $other: .*UDP port 4791 open"
	closed_status=$?
	lose_none "$other"
	return "$closed_status"
}

small_mtu() {
	on "$other" "ip link set eth0 mtu 1500" && use "$other" || return 1
	finds_soon "donor: $other is not used: packets of .* are lost.*MTU is" 'ip link set dev' \
		"donor $other: .*MTU is .*; give all interfaces and switches"
	mtu_status=$?
	on "$other" "ip link set eth0 mtu $(cat /sys/class/net/eth0/mtu)"
	return "$mtu_status"
}

own_address() {
	$START_FARSWAPD memory=24M headroom=0 "slab=$(cat "$FARSWAP/slab_mb")M" && use "$CLIENT" &&
		finds_soon "donors: $CLIENT is this machine itself" 'farswapctl donors add' \
			"donor $CLIENT: is this machine: not used; name another machine"
	own_status=$?
	sh -c "$KILL_FARSWAPD"
	return "$own_status"
}

# A refused donors line is reported as the reason until farswap is detached.
no_donors_at_all() {
	echo >"$FARSWAP/donors"
	log_mark
	! sh -c "echo here >$FARSWAP/donors" 2>/dev/null && log_has '"here" is not an address; give' &&
		finds 'donors: .*the log says: "here" is not an address' 'editor' || return 1
	echo 0 >"$FARSWAP/attached" && echo 1 >"$FARSWAP/attached" || return 1
	finds 'donors: this machine has no donors' 'farswapctl donors add ADDRESS'
	none_status=$?
	use "$victim,$other" && wait_for 90 donors_live 2 && return $none_status
}

no_device() {
	timeout 60 rdma link del r0 && use "$other" || return 1
	finds 'rdma: this machine has no RDMA device' 'modprobe rdma_rxe' &&
		wait_for 40 log_has "donor $other: .*no RDMA device.*; rdma link shows"
	device_status=$?
	rdma link add r0 type rxe netdev eth0 && return "$device_status"
}

no_ftrace() {
	is_direct && return
	echo 0 >"$FARSWAP/attached" && echo 0 >/proc/sys/kernel/ftrace_enabled || return 1
	finds 'kernel: kernel.ftrace_enabled is 0' 'sysctl kernel.ftrace_enabled=1' &&
		! sh -c "echo 1 >$FARSWAP/attached" 2>/dev/null &&
		finds "module: .*the log says: .*can't trace" "echo 1 >$FARSWAP/attached"
	ftrace_status=$?
	echo 1 >/proc/sys/kernel/ftrace_enabled && echo 1 >"$FARSWAP/attached" &&
		return "$ftrace_status"
}

# shellcheck disable=SC2086 # several
set -- $DONORS
victim=$1
other=$2
test_begin 21
lose_ready || skip_rest "no ingress qdisc"
farswap_up 2
check "both halves show the same" both_halves
check "check finds nothing wrong on a good machine" good_machine
check "metrics of both halves" metrics_of_both
check --data "bench finds all its pages right" bench_runs
check "top shows a frame" top_shows
check "evict, drain and undrain as JSON" donor_commands
check "no donors" no_donors_at_all
check "names of donors are resolved, or refused with a reason" names_resolve
check "names in donors.d are found" names_found
check "a name in donors.d that does not resolve" unknown_name
check "a donor with another slab size" eval 'donor_kill "$victim"; other_slab_size'
check "a full donor" full_donor
check "a machine without farswapd" no_daemon
check "a machine that is not there" no_such_machine
check "a closed port" closed_port
check "a smaller MTU on the way" small_mtu
check "only its own address in the list" own_address
check "no swap device" no_swap
check "no RDMA device" no_device
check "ftrace is switched off" no_ftrace
check "the machine is good again" eval 'swap_on; donor_start "$victim"; use "$victim,$other" &&
	wait_for 90 donors_live 2 && good_machine'
test_end
