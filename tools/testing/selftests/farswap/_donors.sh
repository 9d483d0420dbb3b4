# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# farswap and its donors. A part of _lib.sh.

donors_touched=
donors_patient=

# has_module NAME: whether there is one for this kernel
has_module() {
	[ -n "$(find "/lib/modules/$(uname -r)" -name "$1.ko*")" ]
}

# farswap_load: load farswap, or skip the rest of the test
farswap_load() {
	[ ! -d "$FARSWAP" ] || return 0
	has_module farswap || skip_rest "no farswap module"
	modprobe farswap || bail "farswap can't be loaded: $(dmesg | tail -n 3)"
}

# farswap_up N: load and attach farswap, and use the first N donors at once
farswap_up() {
	farswap_load
	[ -e "$FARSWAP_DEBUG/stats" ] || bail "no $FARSWAP_DEBUG/stats"
	[ "$(cat "$FARSWAP/attached")" = 1 ] || echo 1 >"$FARSWAP/attached" ||
		bail "cannot attach: $(dmesg | tail -n 3)"
	set_value "$FARSWAP/enabled" 1
	set_value "$FARSWAP/hotslab" 0
	up_list=$(donor_list "$1")
	for up_donor in $(echo "$up_list" | tr , ' '); do
		donor_start "$up_donor" || bail "no farswapd on $up_donor"
	done
	# Clear the list first: new sessions do not wait out the pause after a failure.
	echo >"$FARSWAP/donors"
	set_value "$FARSWAP/donors" "$up_list"
	if ! wait_for 30 donors_live "$1"; then
		donors_show
		bail "not all donors have become usable"
	fi
	stats_save
}

# is_direct: whether this kernel's swap code calls farswap itself, without hooks; not so for a
# module built out of the kernel's tree, which modules_install puts elsewhere
is_direct() {
	# This goes first, because the other test takes emulated machines seconds.
	[ -z "$(find "/lib/modules/$(uname -r)/extra" -name 'farswap.ko*' 2>/dev/null)" ] &&
		grep -qw frontswap_register /proc/kallsyms
}

# unload_modules: after detaching; farswap may still be loading its transport
unload_modules() {
	wait_for 10 modules_unloaded
}

modules_unloaded() {
	[ ! -d /sys/module/farswap_rdma ] || rmmod farswap_rdma
	[ -d "$FARSWAP" ] || return 0
	rmmod farswap
}

# reload_modules [PARAMETER=VALUE...]: detach and unload the modules first, if they are loaded
reload_modules() {
	if [ -d "$FARSWAP" ]; then
		echo 0 >"$FARSWAP/attached" && unload_modules || return 1
	fi
	modprobe farswap "$@"
}

# donor_list N: the first N, in the format of the donors file
donor_list() {
	# shellcheck disable=SC2086 # words are wanted
	echo $DONORS | cut -d' ' -f"1-$1" | tr ' ' ,
}

# donors_show: state and logs of both sides, for a donor that is not in use
donors_show() {
	{
		cat "$FARSWAP_DEBUG/donors"
		dmesg | grep farswap | tail -n 10
		rdma res show cm_id
		rdma res show qp
		rdma statistic show link
		for show_donor in $DONORS; do
			echo "$show_donor:"
			on "$show_donor" 'tail -n 10 /run/farswapd.log; farswapctl status;
				rdma res show cm_id; rdma res show qp; rdma statistic show link
				tc qdisc show dev eth0; dmesg | tail -n 5
				echo w >/proc/sysrq-trigger; dmesg | grep -A 12 "task:"'
		done
	} 2>&1 | sed 's/^/# /'
}

# donor_count: number of usable donors
donor_count() {
	awk 'NR > 1 && $2 == "live" { nr++ } END { print nr + 0 }' "$FARSWAP_DEBUG/donors"
}

donors_live() {
	[ "$(donor_count)" -eq "$1" ]
}

# donor_is_live ADDRESS
donor_is_live() {
	awk -v a="$1" 'NR > 1 && ($1 == a || index($1, a ":") == 1) && $2 == "live" { f = 1 }
		END { exit !f }' "$FARSWAP_DEBUG/donors"
}

donor_is_not_live() {
	! donor_is_live "$1"
}

# donor_field ADDRESS NAME: a column of the donors file
donor_field() {
	awk -v a="$1" -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) f = i }
		NR > 1 && ($1 == a || index($1, a ":") == 1) { print $f }' "$FARSWAP_DEBUG/donors"
}

# donor_field_is ADDRESS NAME VALUE
donor_field_is() {
	[ "$(donor_field "$1" "$2")" = "$3" ]
}

# donor_field_above ADDRESS NAME N
donor_field_above() {
	[ "$(donor_field "$1" "$2")" -gt "$3" ]
}

# donor_metric ADDRESS NAME: a counter of its farswapd, from "farswapctl metrics"
donor_metric() {
	on "$1" 'farswapctl metrics' | awk -v n="farswapd_$2" '$1 == n { print $2 }'
}

# donor_metric_is ADDRESS NAME TEST NUMBER
donor_metric_is() {
	metric_now=$(donor_metric "$1" "$2")
	echo "$2 of $1: $metric_now"
	test "$metric_now" "$3" "$4"
}

# lent_is TEST NUMBER: compares the number of regions all donors have lent, including those parked
# for an earlier test's client during grace_ms
lent_is() {
	for lent_donor in $DONORS; do
		donor_metric "$lent_donor" 'regions{state="mapped"}'
	done | awk -v all="$(echo "$DONORS" | wc -w)" \
		'{ sum += $1 } END { if (NR == all) print sum }' >"$TMP/lent"
	echo "$(cat "$TMP/lent") regions lent"
	test "$(cat "$TMP/lent")" "$1" "$2"
}

# donor_pages ADDRESS: number of pages in its slabs
donor_pages() {
	awk -v a="$1" 'NR > 1 && ($4 == a || index($4, a ":") == 1) { sum += $5 }
		END { print sum + 0 }' "$FARSWAP_DEBUG/slabs"
}

# donors_but ADDRESS: the other donors, one a line
donors_but() {
	echo "$DONORS" | tr ' ' '\n' | grep -vx "$1"
}

# empty_slabs DONOR: number of its regions without a page; an eviction may choose these first
empty_slabs() {
	awk -v donor="$1" 'NR > 1 && $4 == donor && !$5 { n++ } END { print n + 0 }' \
		"$FARSWAP_DEBUG/slabs"
}

# donor_of_most: address of the donor that holds the most remote pages
donor_of_most() {
	awk 'NR > 1 && $4 != "-" {
			for (i = split($4, at, ","); i; i--) {
				sub(/:[0-9]*$/, "", at[i])
				sum[at[i]] += $5
			}
		}
		END {
			for (a in sum)
				if (sum[a] > best) {
					best = sum[a]
					most = a
				}
			print most
		}' "$FARSWAP_DEBUG/slabs"
}

# donor_name ADDRESS: its name for the "host" command
donor_name() {
	echo "donor$((${1##*.} - 1))"
}

# donor_touch ADDRESS: restart this donor at the end of the test
donor_touch() {
	case " $donors_touched " in
	*" $1 "*) ;;
	*) donors_touched="$donors_touched $1" ;;
	esac
}

# donor_answers ADDRESS: with a short timeout, for a machine that is off
donor_answers() {
	on -t 3 "$1" true >/dev/null 2>&1
}

donor_has_daemon() {
	on "$1" 'pidof farswapd' >/dev/null 2>&1
}

# donor_start ADDRESS [KEY=VALUE...]: boot the machine if it is off, then start farswapd
donor_start() {
	start_donor=$1
	shift
	# One query suffices where the donor is up.
	start_has=$(on -t 3 "$start_donor" 'pidof farswapd || echo none' 2>/dev/null)
	case $start_has in
	[0-9]*) return 0 ;;
	esac
	if [ "$start_has" != none ] && ! wait_for 3 donor_answers "$start_donor"; then
		host boot "$(donor_name "$start_donor")"
		wait_for 60 donor_answers "$start_donor" || return 1
	fi
	donor_has_daemon "$start_donor" || on "$start_donor" "$START_FARSWAPD $*" >/dev/null
	wait_for 20 donor_has_daemon "$start_donor"
}

# patient_donors [MS [OPTION]]: until the end of the test, donors have an evict_ms long enough for
# a slow machine to give back all regions
patient_donors() {
	farswap_load
	for patient_donor in $DONORS; do
		donors_patient="$donors_patient $patient_donor"
		donor_kill "$patient_donor"
		donor_start "$patient_donor" "evict_ms=$((${1:-20000} * ${SLOW:-1}))" \
			"${2:-grace_ms=60000}" || return 1
	done
}

# Drop packets at the receiver: rxe treats a packet that its own machine drops as an error. For the
# same reason add the qdisc before there is traffic: the device drops outgoing packets while a
# qdisc is added or removed.

lose_at() {
	if [ "$1" = "$CLIENT" ]; then
		eval "$2"
	else
		on "$1" "$2"
	fi
}

# lose_ready: prepare for packet loss, before there is traffic
lose_ready() {
	for lose_machine in $CLIENT $DONORS; do
		lose_at "$lose_machine" 'tc qdisc show dev eth0 | grep -q ingress ||
			tc qdisc add dev eth0 handle ffff: ingress' || return 1
	done
}

# lose FROM TO ONE_IN: drop one in so many RDMA packets between two addresses; other packets pass,
# because "on" uses the same network
lose() {
	lose_action="pass random netrand drop $3"
	[ "$3" -gt 1 ] || lose_action=drop
	lose_at "$2" "tc filter add dev eth0 parent ffff: protocol ip prio 1 u32 \
		match ip src $1/32 match ip protocol 17 0xff match ip dport 4791 0xffff \
		action $lose_action"
}

# lose_none TO: stop dropping packets
lose_none() {
	lose_at "$1" 'tc filter del dev eth0 parent ffff: prio 1'
}

# cut_off ADDRESS: drop every RDMA packet to and from the donor until heal
cut_off() {
	lose "$1" "$CLIENT" 1 && lose "$CLIENT" "$1" 1
}

# heal ADDRESS
heal() {
	lose_none "$CLIENT"
	lose_none "$1"
}

# donor_kill ADDRESS: kill -9 of its daemon
donor_kill() {
	donor_touch "$1"
	on "$1" "$KILL_FARSWAPD"
}

# fake_start MODE: run fakedonor as $fake on the first donor's machine, beside its daemon; its
# output goes to a file there
fake_start() {
	fake_host=${DONORS%% *}
	# shellcheck disable=SC2034 # for the tests
	fake=$fake_host:9401
	fake_stop
	on "$fake_host" "setsid $HERE/fakedonor $1 9401 120 >/run/fake.log 2>&1 </dev/null &" &&
		wait_for 10 fake_said ready
}

fake_said() {
	on "$fake_host" 'cat /run/fake.log' | grep "$1" | head -n 3
	on "$fake_host" "grep -q '$1' /run/fake.log"
}

fake_stop() {
	on "$fake_host" "pid=\$(pidof fakedonor) && kill -9 \$pid && { $GONE; }"
}
