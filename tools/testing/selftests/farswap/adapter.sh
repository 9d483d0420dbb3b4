#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Adapters do what real ones do and soft RoCE does not: they lose completions, a drain's too,
# complete queue pairs out of order, can't map pages for a while, or large folios at all, report
# errors, are slow to register memory, and a network delivers requests twice. A fault costs a connection at most,
# never a session: no page is lost, though only one donor has each.
# cluster: donors=2 mem=192 disks=1 fs.adapter=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

ADAPTER=/sys/module/farswap_adapter/parameters

# at MACHINE COMMAND: on the client, or on a donor
at() {
	if [ "$1" = "$CLIENT" ]; then
		sh -c "$2"
	else
		on "$1" "$2"
	fi
}

# The module does not know queue pairs that existed before it.
adapters_are_ours() {
	for ours in $CLIENT $DONORS; do
		at "$ours" "modprobe farswap-adapter && [ -e $ADAPTER/lost ]" || return 1
	done
	for ours in $DONORS; do
		donor_kill "$ours"
		# A slow machine could miss the default deadline for a region and lose its pages.
		donor_start "$ours" "evict_ms=$((20000 * ${SLOW:-1}))" grace_ms=60000 || return 1
	done
}

adapter_count() {
	at "$1" "cat $ADAPTER/$2"
}

# adapter_counted MACHINE COUNT N: the count is above N
adapter_counted() {
	counted_now=$(adapter_count "$1" "$2")
	echo "$2 at $1: $counted_now"
	[ "$counted_now" -gt "$3" ]
}

goes_on() {
	wait_for 60 donors_live 2 || return 1
	stats_save
	wait_for 60 grew store_remote load_remote && load_runs adapter &&
		stat_is load_lost 0 && stat_is slab_lost 0
}

# suffers MACHINE COUNT N SECONDS NAME=VALUE...: inject the fault for that time, and until it has
# occurred more than N times; then sessions work again
suffers() {
	suffers_at=$1
	suffers_count=$2
	suffers_n=$(($(adapter_count "$1" "$2") + $3))
	suffers_seconds=$4
	shift 4
	for suffers_word; do
		at "$suffers_at" "echo ${suffers_word#*=} >$ADAPTER/${suffers_word%%=*}" || return 1
	done
	sleep "$suffers_seconds"
	wait_for 30 adapter_counted "$suffers_at" "$suffers_count" "$suffers_n"
	suffers_status=$?
	for suffers_word; do
		at "$suffers_at" "echo 0 >$ADAPTER/${suffers_word%%=*}"
	done
	[ "$suffers_status" -eq 0 ] && goes_on
}

# has_events MACHINE EVENT...
has_events() {
	events_at=$1
	shift
	for events_kind; do
		events_before=$(adapter_count "$events_at" events)
		at "$events_at" "echo $events_kind >$ADAPTER/event" &&
			adapter_counted "$events_at" events "$events_before" && sleep 1 && goes_on ||
			return 1
	done
}

evict_some() {
	for evict_donor in $DONORS; do
		on "$evict_donor" "farswapctl evict 2" || return 1
	done
}

# A request that is delivered twice may belong to a region that was unmapped in between.
requests_come_twice() {
	host repeat client 300 || return 1
	for _ in 1 2 3; do
		evict_some
		sleep 1
	done
	host repeat client 0
	goes_on
}

# A slow command must not make a donor suspect.
registers_slowly() {
	slow_suspects=$(donor_field "${DONORS%% *}" suspects)
	slow_donor=${DONORS%% *}
	on "$slow_donor" "echo 3000 >$ADAPTER/register_ms" || return 1
	on "$slow_donor" 'farswapctl evict all'
	wait_for 60 adapter_counted "$slow_donor" slowed 1
	slow_status=$?
	sleep 8
	on "$slow_donor" "echo 0 >$ADAPTER/register_ms"
	echo "suspect: $slow_suspects times, then $(donor_field "$slow_donor" suspects)"
	[ "$slow_status" -eq 0 ] && donor_field_is "$slow_donor" suspects "$slow_suspects" && goes_on
}

# A bounce buffer takes no large folio as a whole. Connections know what it takes.
large_in_pieces() {
	pieces_tracing=/sys/kernel/tracing
	pieces_event=$pieces_tracing/events/farswap/farswap_store_end
	echo 16384 >"$ADAPTER/map_max"
	has_events "$CLIENT" fatal || return 1
	pieces_refused=$(adapter_count "$CLIENT" refused)
	echo >"$pieces_tracing/trace"
	echo 'nr == 16 && error == 0' >"$pieces_event/filter" && echo 1 >"$pieces_event/enable" ||
		return 1
	in_cgroup pieces "$LOAD" -m 24 -t huge -n 300 -o 25
	pieces_status=$?
	echo 0 >"$pieces_event/enable"
	pieces_stored=$(grep -c 'pages=16 error=0' "$pieces_tracing/trace")
	echo "$pieces_stored folios of 64 KiB were stored; refused: $pieces_refused," \
		"then $(adapter_count "$CLIENT" refused)"
	[ "$pieces_status" -eq 0 ] && [ "$pieces_stored" -gt 0 ] &&
		[ "$(adapter_count "$CLIENT" refused)" = "$pieces_refused" ]
}

test_begin 14
has_module farswap-adapter || skip_rest "no farswap-adapter for this kernel"
farswap_load
if ! { echo 0 >"$FARSWAP/attached" && unload_modules; }; then
	bail "farswap can't be unloaded"
fi
modprobe farswap-adapter 2>"$TMP/adapter" || ! grep -qi 'not supported' "$TMP/adapter" ||
	skip_rest "this kernel has no DMA operations of devices"
check "the test adapters are in use" adapters_are_ours || skip_rest "they can't"
farswap_up 2
set_value "$FARSWAP/grace_ms" 60000
set_value "$FARSWAP/io_timeout_ms" $((1500 * ${SLOW:-1}))
set_value "$FARSWAP/backup" none
swap_on
make_cgroup adapter 12M
start_load adapter adapter -m 24 -p 2 -d 900 -w 40 -i 10
check "pages go out to donors and come in" pages_go_and_return 1000
check "completions are late and out of order between queue pairs" \
	suffers "$CLIENT" held 50 3 hold_every=3 || donors_show
check "completions are lost" suffers "$CLIENT" lost 2 2 lose_every=100 || donors_show
check "completions of a flush and of a drain are missing" \
	suffers "$CLIENT" lost 2 3 lose_flushed=1 lose_every=100 || donors_show
check "DMA mapping fails for seconds" suffers "$CLIENT" refused 2 4 map_fails=1 ||
	donors_show
check "creating and destroying queue pairs is slow" \
	suffers "$CLIENT" slowed 4 3 qp_ms=200 lose_every=100 || donors_show
check "the client's adapter reports errors" \
	has_events "$CLIENT" access request fatal port_down port_up || donors_show
check "the donors' adapters report errors" \
	has_events "${DONORS%% *}" access request fatal || donors_show
check "requests are delivered twice" requests_come_twice || donors_show
check "a donor is slow to register memory" registers_slowly || donors_show
if [ -e "$THP/hugepages-64kB/enabled" ]; then
	make_cgroup pieces 12M
	set_value "$THP/enabled" madvise
	set_value "$THP/hugepages-64kB/enabled" always
	set_value "$THP/hugepages-2048kB/enabled" never
	check "a large folio exceeds the mapping limit" large_in_pieces || donors_show
	echo 0 >"$ADAPTER/map_max"
else
	skip_one "no 64 KiB folios in this kernel"
fi
check --data "memory contents are right" stop_load adapter
stats_show
check --data "no page is lost" stat_is load_lost 0
test_end
