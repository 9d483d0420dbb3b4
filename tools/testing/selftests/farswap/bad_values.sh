#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A bad value is refused, changes nothing and is explained by one line in the log, in sysfs and as
# a parameter of either module; a value at either limit is accepted.
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
	seq -s , 1 "$1" | sed 's/[0-9][0-9]*/10.1.1.&/g'
}

# parameter_refused NAME=VALUE...: each alone; the kernel may log a line of its own
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
		log_show | grep 'farswap: ' | grep -v "' invalid for parameter" >"$TMP/log"
		if [ "$(wc -l <"$TMP/log")" -ne 1 ] || ! grep -Eq "${parameter%%=*}|donor" "$TMP/log"; then
			echo "no line, or more than one, in the log for $parameter:"
			log_show
			return 1
		fi
		cat "$TMP/log"
	done
}

# loads NAME=VALUE...: the module loads with these, and unloads
loads() {
	modprobe farswap "$@" || return 1
	load_status=0
	for load_word in "$@"; do
		[ "$(cat "$FARSWAP/${load_word%%=*}")" = "${load_word#*=}" ] || load_status=1
	done
	echo 0 >"$FARSWAP/attached" && unload_modules && return "$load_status"
}

QUEUES=/sys/module/farswap_rdma/parameters/queues

queues_are_checked() {
	for queues_value in 0 2 16; do
		echo "$queues_value" >"$QUEUES" && [ "$(cat "$QUEUES")" = "$queues_value" ] || return 1
	done
	for queues_value in 1 17 -1 x ""; do
		log_mark
		! printf '%s\n' "$queues_value" >"$QUEUES" && [ "$(cat "$QUEUES")" = 16 ] || return 1
		log_has farswap_rdma 'queues: invalid value ".*" .range' || {
			log_show
			return 1
		}
		cat "$TMP/log"
	done
	echo 0 >"$QUEUES"
}

# With coldslab above hotslab, a slab would be mapped and given back alternately.
thresholds_must_fit() {
	thresholds_hot=$(cat "$FARSWAP/hotslab")
	echo 5 >"$FARSWAP/hotslab"
	refused coldslab 6 && echo 5 >"$FARSWAP/coldslab" && refused hotslab 4 0
	thresholds_status=$?
	echo 0 >"$FARSWAP/coldslab"
	echo "$thresholds_hot" >"$FARSWAP/hotslab"
	return "$thresholds_status"
}

# All the machine's memory, in MB.
all_memory=$(awk '/^MemTotal:/ { print int($2 / 1024) + 1 }' /proc/meminfo)

test_begin 30
farswap_up 0
check "attached" refused attached 2 -1 yes "" 0x
check "enabled" refused enabled 2 -1 on "" "1 1"
check "force, hedge" eval 'refused force 2 -1 yes "" && refused hedge 11 -1 x ""'
check "hotslab" refused hotslab -1 x "" 1000001 99999999999999999999 "5 5"
check "coldslab" refused coldslab -1 x "" 1000001
check "coldslab above hotslab" thresholds_must_fit
check "headroom_mb" refused headroom_mb -1 x "" "$all_memory" 99999999
check "poll_us, prefetch_pages" eval 'refused poll_us -1 1001 x "" &&
	refused prefetch_pages -1 65 x "" 8k'
check "io_timeout_ms" refused io_timeout_ms 99 60001 0 -1 x ""
check "grace_ms" refused grace_ms 600001 -1 x ""
check "backup, compress, replicas, repair_mb" \
	eval 'refused backup raid x "" && refused compress zip x "" 1 && refused replicas 1 4 -1 x "" &&
	refused repair_mb 0 100001 x'
check "donors: not an address" refused donors donor1 10.0.0 10.0.0.256 10.0.0.2:0 10.0.0.2:65536 \
	10.0.0.2: :9400 10.0.0.2:x "[fe80" 0x0a000002
check "donors: not a list" refused donors , 10.0.0.2, ,10.0.0.2 10.0.0.2,,10.0.0.3
check "donors: a duplicate" refused donors 10.0.0.2,10.0.0.2 10.0.0.2,10.0.0.2:9400
check "donors: too many" refused donors "$(many_donors 65)"
check "slab_mb cannot be written" eval '! echo 64 >"$FARSWAP/slab_mb"'
check "donors: the maximum" taken donors "$(many_donors 64)"
check "limits of poll_us, prefetch_pages" eval 'taken poll_us 0 1000 && taken prefetch_pages 0 64'
check "limits of io_timeout_ms" taken io_timeout_ms 100 60000
check "limits of grace_ms" taken grace_ms 0 600000
check "limits of hotslab" taken hotslab 0 1000000
check "coldslab up to hotslab" eval 'echo 1000000 >"$FARSWAP/hotslab" && taken coldslab 1000000 1 0'
check "values of enabled" taken enabled 0 1
check "values of force, hedge" eval 'taken force 0 1 && taken hedge 0 10'
check "farswap can be detached and unloaded" eval 'echo 0 >"$FARSWAP/attached" && unload_modules'
check "parameter slab_mb" \
	parameter_refused slab_mb=0 slab_mb=1 slab_mb=3 slab_mb=2048 slab_mb=x slab_mb=-2
check "other parameters" parameter_refused enabled=2 enabled=x force=2 hotslab=x hotslab=1000001 \
	coldslab=x coldslab=3 headroom_mb=x "headroom_mb=$all_memory" \
	poll_us=1001 poll_us=-1 prefetch_pages=65 io_timeout_ms=99 io_timeout_ms=60001 grace_ms=600001 \
	backup=raid compress=zip protect=seal replicas=1 replicas=4 repair_mb=0 donors=donor1 \
	donors=10.0.0.2,10.0.0.2 "donors=$(many_donors 65)"
check "the module loads with the lowest values" \
	loads slab_mb=2 hotslab=0 poll_us=0 prefetch_pages=0 \
	io_timeout_ms=100
check "the module loads with the highest values" \
	loads slab_mb=1024 hotslab=1000000 poll_us=1000 prefetch_pages=64 \
	io_timeout_ms=60000 "donors=$(many_donors 64)"
modprobe farswap && modprobe farswap-rdma
check "queues of farswap_rdma" queues_are_checked
test_end
