# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# The kernel's log during a test. A part of _lib.sh.

test_name=$(basename "$0")
log_marks=0

# log_mark: log_has and log_show look at later lines only
log_mark() {
	log_marks=$((log_marks + 1))
	echo "farswap-selftest: mark $$ $log_marks" >/dev/kmsg
}

log_show() {
	dmesg | sed "1,/farswap-selftest: mark $$ $log_marks\$/d"
}

# log_has REGEX...: one line since the last mark matches all of them
log_has() {
	log_show >"$TMP/log"
	for log_regex in "$@"; do
		grep -E "$log_regex" "$TMP/log" >"$TMP/log.next"
		mv "$TMP/log.next" "$TMP/log"
	done
	[ -s "$TMP/log" ]
}

kernel_is_quiet() {
	dmesg | grep -q "farswap-selftest: begin $test_name $$\$" || {
		echo "the kernel log has wrapped; looking at all of it"
		dmesg >"$TMP/quiet"
	}
	dmesg | sed -n "/farswap-selftest: begin $test_name $$\$/,\$p" >>"$TMP/quiet"
	without_rxe_warning <"$TMP/quiet" >"$TMP/quiet.own"
	! grep -E -A 30 "$COMPLAINTS" "$TMP/quiet.own"
}

# rxe warns when it completes a request as good although it has no status for it. The warning is
# harmless if farswap does not believe that completion, which the data checks show.
without_rxe_warning() {
	awk '/\[ cut here \]/ { held = 1; rxe = 0; text = "" }
		held { text = text $0 "\n"; if (/rxe_comp\.c/) rxe = 1 }
		!held
		/end trace/ { if (!rxe) printf "%s", text; held = 0 }
		END { if (held) printf "%s", text }'
}

COMPLAINTS='WARNING:|BUG[: ]|Oops|Call Trace:|general protection|[Kk]ernel panic'
COMPLAINTS="$COMPLAINTS|blocked for more than|soft lockup|hard LOCKUP"
COMPLAINTS="$COMPLAINTS|rcu.*(stall|self-detected)|refcount_t:|UBSAN:|KASAN:"
COMPLAINTS="$COMPLAINTS|page allocation failure|Bad page|(add|del) corruption"
COMPLAINTS="$COMPLAINTS|possible (circular|recursive) locking|suspicious RCU|non-static key"
COMPLAINTS="$COMPLAINTS|[Oo]ut of memory:|oom-kill:|kmemleak:|(Bad|Unused) swap"
COMPLAINTS="$COMPLAINTS|pagealloc: (memory corruption|single bit error)"
COMPLAINTS="$COMPLAINTS|[Rr]ead-error on swap|[Ww]rite-error on swap"
