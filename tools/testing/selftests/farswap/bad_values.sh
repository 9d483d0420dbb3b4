#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A bad value is refused, changes nothing and is explained by one line in the
# log, in sysfs and as a module parameter; a good one at either limit is taken.
# cluster: donors=0 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

# refused FILE VALUE...
refused() {
	refused_file=$1
	shift
	refused_old=$(cat "$FARSWAP/$refused_file")
	for refused_value in "$@"; do
		log_mark
		if printf '%s\n' "$refused_value" >"$FARSWAP/$refused_file"; then
			echo "$refused_file took '$refused_value'"
			return 1
		fi
		refused_now=$(cat "$FARSWAP/$refused_file")
		if [ "$refused_now" != "$refused_old" ]; then
			echo "$refused_file: '$refused_value' made '$refused_old' '$refused_now'"
			return 1
		fi
		if ! log_has farswap "$refused_file|donor" || [ "$(wc -l <"$TMP/log")" -ne 1 ]; then
			echo "$refused_file: no line, or more than one, in the log for '$refused_value':"
			log_show
			return 1
		fi
		cat "$TMP/log"
	done
}

# taken FILE VALUE...
taken() {
	taken_file=$1
	taken_old=$(cat "$FARSWAP/$taken_file")
	shift
	for taken_value in "$@"; do
		echo "$taken_value" >"$FARSWAP/$taken_file" || return 1
		[ "$(cat "$FARSWAP/$taken_file")" = "$taken_value" ] || return 1
	done
	echo "$taken_old" >"$FARSWAP/$taken_file"
}

many_donors() {
	seq 1 200 | sed "s/.*/10.1.1.&:9400/" | tr '\n' ,
}

# parameter_refused NAME=VALUE...: each alone
parameter_refused() {
	for parameter in "$@"; do
		log_mark
		if modprobe farswap "$parameter" 2>/dev/null; then
			echo "loaded with $parameter: $(cat "$FARSWAP/${parameter%%=*}")"
			echo 0 >"$FARSWAP/attached"
			unload_modules
			return 1
		fi
		[ ! -d "$FARSWAP" ] || return 1
		if ! log_has farswap "${parameter%%=*}|donor"; then
			echo "no line in the log for $parameter:"
			log_show
			return 1
		fi
		cat "$TMP/log"
	done
}

test_begin 18
farswap_up 0
check "attached" refused attached 2 -1 yes "" 0x
check "enabled" refused enabled 2 -1 on "" "1 1"
check "hotslab" refused hotslab -1 x "" 99999999999999999999 "5 5"
check "poll_us" refused poll_us -1 1001 x ""
check "io_timeout_ms" refused io_timeout_ms 99 60001 0 -1 x ""
check "donors: not an address" refused donors donor1 10.0.0 10.0.0.256 10.0.0.2:0 10.0.0.2:65536 \
	10.0.0.2: :9400 10.0.0.2:x "[fe80" 0x0a000002
check "donors: not a list" refused donors , 10.0.0.2, ,10.0.0.2 10.0.0.2,,10.0.0.3
check "donors: one twice" refused donors 10.0.0.2,10.0.0.2 10.0.0.2,10.0.0.2:9400
check "donors: too many" refused donors "$(many_donors)"
check "slab_mb cannot be written" eval '! echo 64 >"$FARSWAP/slab_mb"'
check "limits of poll_us" taken poll_us 0 1000
check "limits of io_timeout_ms" taken io_timeout_ms 100 60000
check "limits of hotslab" taken hotslab 0 1
check "values of enabled" taken enabled 0 1
check "detached and unloaded" eval 'echo 0 >"$FARSWAP/attached" && unload_modules'
check "parameter slab_mb" parameter_refused slab_mb=0 slab_mb=1 slab_mb=3 slab_mb=2048 slab_mb=x slab_mb=-2
check "other parameters" parameter_refused enabled=2 hotslab=x poll_us=1001 \
	io_timeout_ms=99 donors=donor1
check "it loads with good ones" modprobe farswap slab_mb=2 poll_us=0
echo 0 >"$FARSWAP/attached" && unload_modules && modprobe farswap
test_end
