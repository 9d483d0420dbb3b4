#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Unsafe attaching and detaching is refused, with a line in the log that says why: on a kernel that
# only calls itself 6.12; with a live patch of a redirected function, or of a caller that may have
# one inlined; and, on a processor with indirect branch tracking, with a BPF program on one of
# them. Such a live patch is refused later, too. One thread emulates the four processors: with a
# thread each, QEMU cannot patch code that others run.
# cluster: donors=2 mem=192 disks=1 cpus=4 one_thread=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_hook.sh
. "$(dirname "$0")/_hook.sh"

PATCH=/sys/kernel/livepatch/farswap_patch
# RHEL 10, UEK 8, SLES 16, Amazon Linux, a private build, another version.
OTHERS="6.12.0-55.9.1.el10_0.x86_64 6.12.0-100.28.2.el10uek.x86_64 6.12.0-160000.5-default
	6.12.40-63.114.amzn2023.x86_64 6.12.117-mine 6.13.1"
KNOWN="6.12.90 6.12.48+deb13-amd64 6.12.12+bpo-cloud-amd64"

# machine_is PARAMETER=VALUE...: until machine_is_itself; loads by path, because modprobe looks the
# release up
machine_is() {
	insmod "$MACHINE" "$@"
}

machine_is_itself() {
	rmmod farswap_machine
}

others_refused() {
	for other in $OTHERS; do
		machine_is release="$other" || return 1
		attach_refused "$other" 'force=1'
		other_status=$?
		machine_is_itself && [ "$other_status" -eq 0 ] || return 1
	done
}

# attaches_as RELEASE
attaches_as() {
	machine_is release="$1" || return 1
	attach && detach
	as_status=$?
	machine_is_itself && return "$as_status"
}

force_attaches() {
	set_value "$FARSWAP/force" 1 && attaches_as "${OTHERS%% *}"
	force_status=$?
	echo 0 >"$FARSWAP/force"
	return "$force_status"
}

known_attach() {
	for known in $KNOWN; do
		attaches_as "$known" || return 1
	done
}

patch_is_gone() {
	[ ! -d "$PATCH" ]
}

# Tasks switch to and from the patch one by one.
unpatch() {
	echo 0 >"$PATCH/enabled" && wait_for 60 patch_is_gone && wait_for 10 rmmod farswap_patch
}

patched_refused() {
	for patched in swap_writepage __swap_writepage; do
		modprobe farswap-patch function="$patched" || return 1
		attach_refused 'live patch'
		patched_status=$?
		unpatch && [ "$patched_status" -eq 0 ] || return 1
	done
}

patches_refused() {
	for patched in $REDIRECTED; do
		log_mark
		! modprobe farswap-patch function="$patched" && patch_is_gone &&
			log_has 'livepatch: failed' "'$patched'" || return 1
	done
}

# A live patch of another function is accepted.
patched_elsewhere() {
	modprobe farswap-patch function=swap_free_nr && pages_go_out && unpatch && pages_go_out
}

bpf_refuses_attach() {
	bpf_start fexit fexit swap_read_folio || return 1
	attach_refused 'BPF program'
	bpf_status=$?
	bpf_stop fexit
	return "$bpf_status"
}

# The program is attached while farswap is attached, which works.
bpf_refuses_detach() {
	bpf_start fexit fexit swap_read_folio && bpf_mark fexit || return 1
	log_mark
	! detach && log_has 'BPF program' 'still attached' &&
		[ "$(cat "$FARSWAP/attached")" = 1 ] && pages_go_out &&
		wait_for 30 bpf_runs fexit
	detach_status=$?
	log_show
	bpf_stop fexit
	return "$detach_status"
}

nothing_is_left() {
	! grep farswap /sys/kernel/tracing/enabled_functions
}

test_begin 12
! is_direct || skip_rest "a kernel that calls farswap redirects nothing"
MACHINE=$(find "/lib/modules/$(uname -r)" -name 'farswap-machine.ko*')
if [ -z "$MACHINE" ] || ! has_module farswap-patch; then
	skip_rest "no module farswap-machine or farswap-patch"
fi
[ -e /sys/kernel/btf/vmlinux ] || skip_rest "no /sys/kernel/btf/vmlinux in this kernel"
[ "$(cat /proc/sys/net/core/bpf_jit_enable)" = 1 ] || skip_rest "this kernel does not compile BPF"
farswap_up 2
set_value "$FARSWAP/force" 0
swap_on
make_cgroup refused 16M
start_load refused refused -m 28 -p 2 -d 280 -r 50 -u 10 -i 20
check "farswap is detached first" detach
check "other vendors' 6.12 and another version are refused" others_refused
check "force=1 overrides the refusal" force_attaches
check "kernel.org and Debian releases are accepted" known_attach
check "an existing live patch refuses attaching" patched_refused
check "farswap attaches without the live patch" \
	eval 'set_value "$FARSWAP/force" 1 && attach && pages_go_out'
check "a live patch is refused while attached" patches_refused
check "a live patch of another function is accepted" patched_elsewhere
check "farswap detaches" detach
machine_is ibt=1
check "with indirect branch tracking, a BPF program refuses attaching" bpf_refuses_attach
check "a BPF program attached later refuses detaching" eval \
	'attach && pages_go_out && bpf_refuses_detach && detach && nothing_is_left'
machine_is_itself
check --data "memory contents are right, no remote bit is left" eval \
	'stop_load refused && stat_is load_lost 0 && no_orphaned_pages'
stats_show
test_end
