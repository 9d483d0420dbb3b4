# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# farswap over the RAM transport, which has no network and fails on request: see
# tools/testing/modules/farswap-ram.c. For tests of the core alone, after _lib.sh.

RAM=/sys/module/farswap_ram/parameters

has_ram() {
	has_module farswap-ram
}

# Small slabs, so that there are many.
use_ram() {
	reload_modules slab_mb=2 donors= hotslab=0 && modprobe farswap-ram regions=36 &&
		echo 10.9.9.1,10.9.9.2 >"$FARSWAP/donors" && wait_for 20 donors_live 2
}

leave_ram() {
	echo 0 >"$FARSWAP/attached" && rmmod farswap_ram && rmmod farswap && modprobe farswap
}

# resumes: number of resumed sessions, over all donors
resumes() {
	awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "resumes") column = i; next }
		{ sum += $column } END { print sum + 0 }' "$FARSWAP_DEBUG/donors"
}

# with PARAMETER VALUE... -- COUNTER...: set the parameters, wait until the counters grow, reset
# the parameters, the last one first; let pending work end before that. A session that fails late
# goes down, and is up again a tenth of a second later.
with() {
	with_set=
	while [ "$1" != -- ]; do
		echo "$2" >"$RAM/$1" || return 1
		with_set="$1 $with_set"
		shift 2
	done
	shift
	stats_save
	wait_for 40 grew "$@"
	with_status=$?
	sleep 1
	with_pause=0.5
	for with_one in $with_set; do
		echo 0 >"$RAM/$with_one"
		sleep "$with_pause"
		with_pause=0.1
	done
	sleep 0.3
	wait_for 20 donors_live 2 && return "$with_status"
}
