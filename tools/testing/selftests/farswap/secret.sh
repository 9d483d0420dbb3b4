#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Client and donors authenticate each other by keys, and what they say is sealed: a capture of the
# network has nothing of it. A wrong key on either side is refused with one line that says so, on
# both sides. A session is resumed with its keys, and the key can't be read. A client that has a
# donor's code joins with it, once, and the code's secret is not on the network.
# cluster: donors=2 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

first=${DONORS%% *}
second=${DONORS##* }
WIRETAP=$HERE/wiretap

# marker: the instance in HELLO, in the order of the bytes on the network
marker() {
	sed 's/../& /g' "$FARSWAP/instance" |
		awk '{ for (i = NF; i; i--) printf "%s", $i }'
}

# listen_in COMMAND...: while it runs, record the network; then count the marker in $seen, and the
# hexadecimal $listen_also in $also_seen
listen_in() {
	"$WIRETAP" record eth0 "$TMP/tap" >"$TMP/tap.log" &
	tap_pid=$!
	wait_for 10 grep -q ready "$TMP/tap.log"
	"$@"
	listen_status=$?
	kill "$tap_pid"
	wait "$tap_pid" 2>/dev/null
	seen=$("$WIRETAP" count "$TMP/tap" "$(marker)")
	echo "marker $(marker) seen $seen times in $(wc -c <"$TMP/tap") bytes, magic numbers" \
		"$("$WIRETAP" count "$TMP/tap" 66737770)"
	also_seen=$("$WIRETAP" count "$TMP/tap" "${listen_also:-66737770}")
	rm -f "$TMP/tap"
	return $listen_status
}

# use DONORS: connect anew
use() {
	echo >"$FARSWAP/donors" && log_mark && echo "$1" >"$FARSWAP/donors"
}

connects() {
	use "$1" && wait_for 30 donors_live "${2:-1}"
}

seen_in_clear() {
	listen_in connects "$first" && [ "$seen" -gt 0 ]
}

# Made once, for this user only.
makes_key() {
	own=$(farswapctl key) && [ "$(farswapctl key)" = "$own" ] && [ ${#own} -eq 44 ] &&
		[ "$(stat -c %a /etc/farswap/key)" = 600 ] && "$WIRETAP" keys
}

# allow DONOR KEY: while its daemon runs
allow() {
	on "$1" "farswapctl allow client $2 2>&1" >"$TMP/allow"
	allow_status=$?
	cat "$TMP/allow"
	return $allow_status
}

# A daemon that has started without a key can't check those of others.
needs_restart() {
	! allow "$1" "$own" && grep -q 'restart farswapd' "$TMP/allow" || return 1
	donor_kill "$1"
	donor_start "$1"
}

# Its sessions end at once, and it can come back.
denied() {
	on "$first" 'farswapctl deny client' && wait_for 5 donor_is_not_live "$first" &&
		donor_says "$first" "may not connect with this key any more" &&
		allow "$first" "$own" && wait_for 30 donor_is_live "$first"
}

# The session with the next key does not end when the old one is denied.
next_key() {
	next=$(farswapctl key next) && [ "$next" != "$own" ] && [ "$(farswapctl key)" = "$own" ] &&
		allow "$first" "$next" && [ "$(farswapctl key commit)" = "$next" ] &&
		connects "$first#$first_key" && on "$first" "farswapctl deny client $own" &&
		sleep 1 && donor_is_live "$first" && [ "$(farswapctl key)" = "$next" ]
}

# It has no key yet, and /dev/null does not ask for auth = none.
must_be_asked() {
	on "$first" 'timeout 20 farswapd -n -f /dev/null -o control=/run/other 2>&1
		echo "status $?"' >"$TMP/unasked"
	cat "$TMP/unasked"
	grep -q '^status 78$' "$TMP/unasked" && grep -q 'auth is not set' "$TMP/unasked"
}

donor_says() {
	on "$1" 'cat /run/farswapd.log' | grep -F "$2"
}

# refused DONORS CLIENT_SAYS DONOR DONOR_SAYS: both sides say why, and no session begins
refused() {
	use "$1" && wait_for 20 log_has "donor $3: can't connect" "$2" "; (there: )?farswapctl (key|allow) " &&
		farswapctl check | grep "^fail  donor: $3 is not used: .*$2.*; type: .*farswapctl key" &&
		wait_for 5 donor_says "$3" "$4" && donors_live 0
}

# One byte of the key.
other_key() {
	case $1 in
	A*) echo "B${1#?}" ;;
	*) echo "A${1#?}" ;;
	esac
}

sealed() {
	listen_in connects "$first#$first_key,$second#$second_key" 2 && [ "$seen" -eq 0 ] &&
		[ "$(cat "$FARSWAP/donors")" = "$first#$first_key,$second#$second_key" ]
}

# The session of a donor that has pages.
goes_on() {
	on_donor=$first
	[ "$(donor_pages "$first")" -gt 0 ] || on_donor=$second
	on_before=$(donor_pages "$on_donor")
	on_resumes=$(donor_field "$on_donor" resumes)
	cut_off "$on_donor" || return 1
	wait_for 20 donor_field_is "$on_donor" state suspect
	on_status=$?
	heal "$on_donor"
	wait_for 30 donor_field_above "$on_donor" resumes "$on_resumes" &&
		wait_for 30 donor_is_live "$on_donor" || on_status=1
	echo "$on_before remote pages before, $(donor_pages "$on_donor") after"
	return $on_status
}

# Both donors have one key, and name two machines.
one_machine() {
	donor_kill "$second"
	one_key=$(on "$first" 'cat /etc/farswap/key')
	on "$second" "echo '$one_key' >/etc/farswap/key" && allow "$second" "$(farswapctl key)" &&
		donor_start "$second" && connects "$first#$first_key,$second#$first_key" 2 &&
		log_has 'report the same machine'
}

# invite DONOR: set $code
invite() {
	on "$1" "setsid farswapctl invite client max=64M --for 2m >/run/invite 2>&1 </dev/null &
		echo \$! >/run/invite.pid"
	wait_for 20 on "$1" 'grep -q ^farswap: /run/invite' || return 1
	code=$(on "$1" 'grep ^farswap: /run/invite')
}

# join CODE: without other users seeing it
join() {
	echo "$1" | farswapctl join 2>&1
}

join_is_refused() {
	join "$1" >"$TMP/join" && return 1
	cat "$TMP/join"
	grep -q "refuses the code" "$TMP/join"
}

# The donor knows no key of this machine. A wrong code leaves the right one valid.
joins() {
	on "$second" 'farswapctl deny client'
	echo >"$FARSWAP/donors"
	invite "$second" || return 1
	join_is_refused "${code%#*}#$(other_key "${code##*#}")" || return 1
	listen_also=$(printf %s "${code##*#}" | base64 -d | od -An -tx1 | tr -d ' \n')
	listen_in join "$code" || return 1
	echo "the secret, ${#listen_also} digits, is seen $also_seen times"
	[ "${#listen_also}" -eq 64 ] && [ "$also_seen" -eq 0 ] && [ "$seen" -eq 0 ] &&
		[ "$(cat "$FARSWAP/donors")" = "$second#$second_key" ] &&
		grep -q "^donors = $second#$second_key\$" /etc/farswap/farswap.conf.d/donors.conf &&
		on "$second" "grep 'key=$(farswapctl key) max=64M' /etc/farswapd.conf.d/client-client.conf" &&
		wait_for 30 donor_is_live "$second"
}

is_used_once() {
	join_is_refused "$code" && donor_says "$second" 'has no valid invitation' &&
		donor_is_live "$second"
}

is_withdrawn() {
	invite "$second" && on "$second" 'kill $(cat /run/invite.pid)' || return 1
	sleep 1
	join_is_refused "$code"
}

bad_line() {
	! echo "$1" >"$FARSWAP/donors" 2>/dev/null && log_has 'donors: invalid key'
}

bad_lines() {
	log_mark
	bad_line "$first#" && bad_line "$first#short" && bad_line "$first#${first_key}x" &&
		bad_line "$first#farswap-secret:$first_key" && ! log_has "secret:$first_key"
}

test_begin 21
farswap_up 2
[ -x "$WIRETAP" ] || skip_rest "no $WIRETAP"
lose_ready
check "without keys the network sees what is said" seen_in_clear
check "and the log warns of it" eval 'log_has "donor $first: not authenticated" &&
	donor_says "$first" "auth is none"'
check "a donor without a key lends to everybody only if it is asked to" must_be_asked
check "a key is made once, and nobody can read it" makes_key
first_key=$(on "$first" 'farswapctl key')
second_key=$(on "$second" 'farswapctl key')
for donor in $DONORS; do
	check "a donor that has had no key needs a restart" needs_restart "$donor"
done
check "a client without the donor's key is refused" refused "$first" \
	'it wants a key' "$first" 'does not authenticate itself'
check "a donor that has another key is refused" refused "$first#$second_key" \
	'does not know this machine' "$first" 'is wrong'
check --data "both sides know each other, and the network sees nothing" sealed
check "a client that is denied is gone, and may return" denied
swap_on
make_cgroup auth 12M
start_load auth auth -m 40 -p 2 -w 30 -d 280 -r 70 -i 0
check "pages go to donors and return" pages_go_and_return 2000
check "a session is resumed with its keys" goes_on
check --data "every page is right" stop_load auth
on "$second" 'farswapctl deny client' >/dev/null
allow "$second" "$(other_key "$own")" >/dev/null
check "a client whose key is not known is refused" refused "$second#$second_key" \
	'does not know this machine' "$second" 'not in the configuration'
check --data "a machine joins with a code, whose secret the network does not see" joins
check "a code is valid once" is_used_once
check "a code is withdrawn with the program that has made it" is_withdrawn
check "a bad key is refused, and a secret one not printed" bad_lines
check "a machine changes its key" next_key
check "donors with one key are one machine, whatever they say" one_machine
rm -f /etc/farswap/key
check "a new key of this machine is not known to them" eval 'farswapctl key >/dev/null &&
	refused "$first#$first_key" "does not know this machine" "$first" "not in the configuration"'
for donor in $DONORS; do
	donor_kill "$donor"
	on "$donor" 'cd /etc && rm -f farswapd.conf.d/auth.conf farswapd.conf.d/client-*.conf farswap/key'
done
rm -rf /etc/farswap/key /etc/farswap/farswap.conf.d
test_end
