#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The sysfs directory and its documentation list the same files.
# cluster: donors=0 mem=192 disks=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"

ABI=$HERE/sysfs-kernel-farswap
[ -e "$ABI" ] || ABI=$HERE/../../../../Documentation/ABI/testing/sysfs-kernel-farswap

documented_is_there() {
	sed -n 's|^What:[[:space:]]*/sys/kernel/farswap/||p' "$ABI" | sort >"$TMP/documented"
	# shellcheck disable=SC2012 # names are plain
	ls "$FARSWAP" | sort >"$TMP/there"
	diff "$TMP/documented" "$TMP/there" && [ -s "$TMP/there" ]
}

each_reads_as_one_line() {
	for one_file in "$FARSWAP"/*; do
		one_lines=$(wc -l <"$one_file") || return 1
		echo "$one_file: $(cat "$one_file")"
		[ "$one_lines" -le 1 ] || return 1
	done
}

# Each file of debugfs has contents, and so has each readable module parameter.
the_others_can_be_read() {
	for others_file in "$FARSWAP_DEBUG"/* /sys/module/farswap*/parameters/*; do
		others_text=$(cat "$others_file") || return 1
		case $others_file in
		"$FARSWAP_DEBUG"/*) echo "$others_file: $(echo "$others_text" | wc -l) lines" ;;
		*) echo "$others_file: $others_text" ;;
		esac
		[ -n "$others_text" ] && continue
		case ${others_file##*/} in
		donors | session_ends) ;; # no session exists or has ended
		*) return 1 ;;
		esac
	done
}

# Other users don't learn where the pages are.
only_root_knows_donors() {
	donors_modes=$(stat -c %a "$FARSWAP/donors" /sys/module/farswap/parameters/donors)
	echo "$donors_modes"
	[ "$(echo "$donors_modes" | tr '\n' ' ')" = "600 400 " ]
}

test_begin 4
farswap_up 0
if [ -e "$ABI" ]; then
	check "the directory is as documented" documented_is_there
else
	skip_one "no $(basename "$ABI") beside the tests"
fi
check "each file is one line" each_reads_as_one_line
check "only root can read the addresses of donors" only_root_knows_donors
check "debugfs files and module parameters are readable" the_others_can_be_read
test_end
