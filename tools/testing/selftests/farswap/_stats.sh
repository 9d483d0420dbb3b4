# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Counters. A part of _lib.sh.

# stat_of NAME: a counter; prints a word that no comparison accepts if there is none
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

# growth_is TEST N NAME...: whether the growth of each since stats_save is -gt, -eq or -le N. It
# runs one process only: callers poll often, and starting a process is slow on emulated machines.
growth_is() {
	growth_test=$1
	growth_n=$2
	shift 2
	awk -v test="$growth_test" -v n="$growth_n" -v names="$*" '
		FILENAME != last { last = FILENAME; files++ }
		{ value[files, $1] = $2 }
		END {
			bad = n !~ /^[0-9]+$/ || test !~ /^-(gt|eq|le)$/ || names == ""
			nr = split(names, name, " ")
			for (i = 1; i <= nr; i++) {
				known = (1, name[i]) in value && (2, name[i]) in value
				by = value[2, name[i]] - value[1, name[i]]
				print name[i], "grew by", known ? by : "no-such-counter"
				if (!known || !(test == "-gt" ? by > n : test == "-eq" ? by == n : by <= n))
					bad = 1
			}
			exit bad
		}' "$TMP/stats" "$FARSWAP_DEBUG/stats"
}

# grew NAME...: each has grown since stats_save
grew() {
	growth_is -gt 0 "$@"
}

# grown NAME N: it has grown by more than N since stats_save
grown() {
	growth_is -gt "$2" "$1"
}

# same NAME...: none has grown since stats_save
same() {
	growth_is -eq 0 "$@"
}

# regions_lost: regions were lost since stats_save, with their slabs or without: busy slabs get
# another region once a donor has been suspect for a while
regions_lost() {
	lost_slabs=$(stat_delta slab_lost)
	lost_others=$(stat_delta replica_lost)
	echo "$lost_slabs slabs lost, and $lost_others regions of others"
	[ $((lost_slabs + lost_others)) -gt 0 ]
}

# regions_left: regions were evicted since stats_save, with their slabs or without: busy slabs get
# another region once a donor has been suspect for a while
regions_left() {
	left_slabs=$(stat_delta slab_evicted)
	left_others=$(stat_delta replica_left)
	echo "$left_slabs slabs evicted, and $left_others regions of others"
	[ $((left_slabs + left_others)) -gt 0 ]
}

# stat_is NAME N
stat_is() {
	awk -v name="$1" -v n="$2" '$1 == name { found = n ~ /^[0-9]+$/ && $2 == n }
		END { exit !found }' "$FARSWAP_DEBUG/stats"
}

# stat_above NAME N
stat_above() {
	awk -v name="$1" -v n="$2" '$1 == name { found = n ~ /^[0-9]+$/ && $2 > n }
		END { exit !found }' "$FARSWAP_DEBUG/stats"
}

stats_show() {
	awk '$2 != 0 { printf "# %s %s\n", $1, $2 }' "$FARSWAP_DEBUG/stats"
}

# reads_are_remote N [READS]: more than N pages are remote, and N page-ins (or READS) do not use
# the device. For a load that reads in order, this covers all its pages. One page-in takes up to
# 0.1 s on a busy machine.
reads_are_remote() {
	remote_before=$(stat_of load_device)
	remote_until=$(($(stat_of load_remote) + ${2:-$1}))
	for remote_look in $(seq 300); do
		awk -v before="$remote_before" -v until="$remote_until" '
			$1 == "load_device" && $2 != before { stop = 1 }
			$1 == "load_remote" && $2 >= until { stop = 1 }
			END { exit !stop }' "$FARSWAP_DEBUG/stats" && break
		sleep 0.2
	done
	remote_after=$(stat_of load_device)
	echo "look $remote_look, load_device: $remote_before, then $remote_after"
	[ "$remote_after" -eq "$remote_before" ] && [ "$remote_look" -lt 300 ] &&
		stat_above remote_pages "$1"
}

# pages_go_and_return N: more than N pages are remote, and some have come in
pages_go_and_return() {
	wait_for 60 stat_above remote_pages "$1" && wait_for 30 grew store_remote load_remote
}
