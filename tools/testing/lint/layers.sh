#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Checks which layer includes which. The layers are hook, core, transport interface, rdma;
# the daemon shares only include/uapi with the kernel. Prints every include, or
# word, that crosses a layer; exit status 1 if there is one.

cd "$(dirname "$0")/../../.." || exit 1
bad=0

# includes FILE: what it includes, as "LINE<tab><path>" or 'LINE<tab>"path"'
includes() {
	awk '/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
		match($0, /[<"][^>"]*[>"]/)
		print FNR "\t" substr($0, RSTART, RLENGTH)
	}' "$1"
}

complain() {
	echo "$1:$2: $3 $4"
	bad=1
}

# may_not REASON REGEX FILE...: no include of FILE matches
may_not() {
	why=$1
	regex=$2
	shift 2
	for file; do
		[ -f "$file" ] || continue
		found=$(includes "$file" | grep -E "	$regex") || continue
		while read -r line what; do
			complain "$file" "$line" "$what:" "$why"
		done <<-FOUND
		$found
		FOUND
	done
}

# may_only REASON REGEX FILE...: every include of FILE matches
may_only() {
	why=$1
	regex=$2
	shift 2
	for file; do
		[ -f "$file" ] || continue
		found=$(includes "$file" | grep -vE "	$regex") || continue
		while read -r line what; do
			complain "$file" "$line" "$what:" "$why"
		done <<-FOUND
		$found
		FOUND
	done
}

# no_word REASON REGEX FILE...: outside of comments that are lines of their own
no_word() {
	why=$1
	regex=$2
	shift 2
	for file; do
		[ -f "$file" ] || continue
		found=$(grep -nE "$regex" "$file" | grep -vE '^[0-9]+:[ 	]*(/?\*|//)') || continue
		while IFS=: read -r line what; do
			complain "$file" "$line" "$what:" "$why"
		done <<-FOUND
		$found
		FOUND
	done
}

pure="atomic|bits|bitmap|bitops|bug|build_bug|compiler|errno|find|gfp|kernel|limits|list"
pure="$pure|log2|math|math64|minmax|overflow|random|slab|string|types|xarray"
pure="<linux/($pure)\\.h>"

core_sources=$(find mm -name "*.[ch]")
core_code=$(find mm -path mm/tests -prune -o -name "*.[ch]" -print)
rdma=$(find rdma -name "*.[ch]" ! -name "*.mod.c")

# The hook knows mm and linux/farswap.h, and main.c knows the hook.
may_not "the hook calls the core through linux/farswap.h" \
	'("(internal|settings|io|migrate|backup|slab|donor)|<linux/farswap-transport|<trace/|<rdma/|<uapi/linux/farswap)' \
	mm/hook/*.[ch]
for file in $core_code; do
	case $file in
	mm/main.c | mm/hook/*) ;;
	*) may_not "only main.c knows the hook" '"hook/' "$file" ;;
	esac
done

# The core knows neither verbs nor the wire.
# shellcheck disable=SC2086 # several
{
	may_not "the core knows no verbs" '<(rdma|infiniband)/' $core_sources
	may_not "the core knows nothing of the wire" '(<uapi/linux/farswap|"wire)' $core_code
	may_not "not of this layer" '"\.\./' $core_sources $rdma daemon/*.[ch] daemon/ctl/*.[ch]
	may_not "not of this layer" '<trace/events/farswap_rdma' $core_code
}

# Numbers in, decision out.
may_only "pure code: data structure headers and its own only" \
	"($pure|\"(slab/slabmap|donor/placement|slab/activity|slab/packmap|slab/attempts|migrate/giveway|io/trend)\.h\"|\"tests/)" \
	mm/slab/slabmap.[ch] mm/donor/placement.[ch] mm/slab/activity.[ch] mm/slab/packmap.[ch] \
	mm/slab/attempts.[ch] mm/migrate/giveway.[ch] mm/io/trend.[ch]

# The module and farswapd both build the handshake.
may_only "built by both programs: headers that both have, and its own only" \
	'(<linux/(errno|string|types)\.h>|"noise\.h"|"tests/noise-kunit\.h")' \
	rdma/noise.[ch] rdma/noise-text.c

# The transport never sees a swap entry.
# shellcheck disable=SC2086 # several
may_not "the transport sees no swap entry" '<linux/(swap|zswap|pagemap|rmap|farswap\.h)' \
	$rdma
# shellcheck disable=SC2086 # several
may_not "not of this layer" '<trace/events/farswap\.h' $rdma
# shellcheck disable=SC2086 # several
no_word "the transport sees no swap entry" 'swp_entry_t|folio_swap' $rdma \
	include/linux/farswap-transport.h
# shellcheck disable=SC2086 # several
no_word "the core sees no rkey" '\brkey\b' $core_code include/linux/*.h

# Another transport could have the protocol.
may_not "the protocol does not know what carries it" '("verbs\.h"|<rdma/|<net/)' rdma/protocol/*.[ch]
no_word "the protocol does not know what carries it" '\b(ib|rdma)_[a-z_]+\(' rdma/protocol/*.[ch]

# Headers that others read.
may_only "the wire includes linux/types.h only" '<linux/types\.h>' include/uapi/linux/farswap.h
may_only "what mm calls includes types only" '<linux/(types|mm_types)\.h>' include/linux/farswap.h
may_only "the transport interface includes types only" '<linux/(socket|types)\.h>' \
	include/linux/farswap-transport.h
may_only "tracepoints include tracepoint.h and types only" \
	'<(linux/(tracepoint|types)\.h|trace/define_trace\.h)>' include/trace/events/*.h

# The daemon.
may_not "the daemon shares include/uapi only" \
	'<(linux/farswap-transport|trace/|linux/(kernel|list)\.h)' daemon/*.[ch] daemon/ctl/*.[ch] \
	daemon/ctl/unit/*.[ch]
for file in daemon/*.[ch] daemon/ctl/*.[ch] daemon/ctl/unit/*.[ch]; do
	case $file in
	daemon/wire.*) ;;
	*) may_not "only wire.[ch] includes the wire" '<(uapi/)?linux/farswap' "$file" ;;
	esac
done
may_not "knows nothing of RDMA" '<(rdma|infiniband)/' daemon/loop.[ch] daemon/log.[ch] \
	daemon/config.[ch] daemon/list.h daemon/wire.[ch] daemon/json.[ch] daemon/metrics.[ch]
# farswapctl uses only the control protocol, the writers, the configuration and the keys of the daemon,
# and what uses an invitation.
may_only "farswapctl shares admin.h, the writers, the configuration and the keys with the daemon" \
	'(<|"(admin|config|config-file|join-donor|key|keyring|json|metrics|release|ask|check|client|code|ctl|donors|kmsg|own-key|resolve)\.h"|"counters\.inc")' daemon/ctl/*.[ch]
may_only "units share the rest of farswapctl's headers" \
	'(<|"ctl/((check|client|ctl|kmsg)|unit/[a-z]+)\.h")' daemon/ctl/unit/*.[ch]
may_not "knows nothing of RDMA" '<(rdma|infiniband)/' daemon/ctl/*.[ch] daemon/ctl/unit/*.[ch]

# Two builds of the same source.
# shellcheck disable=SC2086 # several
no_word "kernel versions are compat.h's" 'LINUX_VERSION_CODE|KERNEL_VERSION' \
	$core_code $rdma include/linux/*.h include/trace/events/*.h
# shellcheck disable=SC2086 # several
no_word "undefined out of tree" 'CONFIG_FARSWAP(_RDMA)?\b' $core_code $rdma
# shellcheck disable=SC2086 # several
no_word "recover, after WARN_ON_ONCE" '\bBUG_ON\(|\bBUG\(\)' $core_code $rdma

exit $bad
