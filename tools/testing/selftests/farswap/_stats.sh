# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Counters. A part of _lib.sh.

# stat_of NAME: a counter; nothing a comparison accepts where there is none
stat_of() {
	awk -v name="$1" '$1 == name { print $2; found = 1 }
		END { if (!found) print "no-such-counter" }' "$FARSWAP_DEBUG/stats"
}

stats_save() {
	cp "$FARSWAP_DEBUG/stats" "$TMP/stats"
}

# stat_delta NAME: its growth since stats_save
stat_delta() {
	stat_before=$(awk -v name="$1" '$1 == name { print $2 }' "$TMP/stats")
	stat_after=$(stat_of "$1")
	case $stat_before/$stat_after in
	/* | *no-such-counter) echo "no-such-counter" ;;
	*) echo $((stat_after - stat_before)) ;;
	esac
}

# growth_is TEST N NAME...: the test is true of what each has grown by since stats_save
growth_is() {
	growth_test=$1
	growth_n=$2
	growth_status=0
	shift 2
	for growth_name in "$@"; do
		growth_by=$(stat_delta "$growth_name")
		echo "$growth_name grew by $growth_by"
		test "$growth_by" "$growth_test" "$growth_n" || growth_status=1
	done
	return $growth_status
}

# grew NAME...: all of these have since stats_save
grew() {
	growth_is -gt 0 "$@"
}

# grown NAME N: by more than that since stats_save
grown() {
	growth_is -gt "$2" "$1"
}

# same NAME...: none of these has grown since stats_save
same() {
	growth_is -eq 0 "$@"
}

# regions_lost: some have since stats_save, of slabs that went with them or not: those in
# use have another when a donor has been suspect for a while
regions_lost() {
	lost_slabs=$(stat_delta slab_lost)
	lost_others=$(stat_delta replica_lost)
	echo "$lost_slabs slabs lost, and $lost_others regions of others"
	[ $((lost_slabs + lost_others)) -gt 0 ]
}

# regions_left: some have since stats_save, that their donor wants back, with their slabs or
# not: those in use have another when a donor has been suspect for a while
regions_left() {
	left_slabs=$(stat_delta slab_evicted)
	left_others=$(stat_delta replica_left)
	echo "$left_slabs slabs evicted, and $left_others regions of others"
	[ $((left_slabs + left_others)) -gt 0 ]
}

stat_is() {
	[ "$(stat_of "$1")" -eq "$2" ]
}

stat_above() {
	[ "$(stat_of "$1")" -gt "$2" ]
}

stats_show() {
	awk '$2 != 0 { printf "# %s %s\n", $1, $2 }' "$FARSWAP_DEBUG/stats"
}

# reads_are_remote N [READS]: more than N pages are remote, and as many reads, or READS,
# are made without the device: those of a load that reads in order are then of all its
# pages. One takes up to 0.1 s when the processors have much else to do.
reads_are_remote() {
	remote_before=$(stat_of load_device)
	remote_until=$(($(stat_of load_remote) + ${2:-$1}))
	for remote_look in $(seq 300); do
		remote_after=$(stat_of load_device)
		[ "$remote_after" -eq "$remote_before" ] || break
		[ "$(stat_of load_remote)" -lt "$remote_until" ] || break
		sleep 0.2
	done
	echo "look $remote_look, load_device: $remote_before, then $remote_after"
	[ "$remote_after" -eq "$remote_before" ] && [ "$remote_look" -lt 300 ] &&
		stat_above remote_pages "$1"
}

# pages_go_and_return N: more than N pages are remote, and some have been read
pages_go_and_return() {
	wait_for 60 stat_above remote_pages "$1" && wait_for 30 grew store_remote load_remote
}
