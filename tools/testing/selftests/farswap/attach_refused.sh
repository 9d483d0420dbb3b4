#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Where attaching, or detaching, would be wrong it is refused, with a line in the log that says
# why: a kernel that only calls itself 6.12; a live patch of a function that farswap redirects, or
# of the caller that may have one inlined; and, on a processor with indirect branch tracking,
# a BPF program on one of them. Nor can such a live patch come later.
# Four processors, by one thread: QEMU's threads can't patch code that others run.
# cluster: donors=2 mem=192 disks=1 cpus=4 one_thread=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_hook.sh
. "$(dirname "$0")/_hook.sh"

PATCH=/sys/kernel/livepatch/farswap_patch
# RHEL 10, UEK 8, SLES 16, Amazon Linux, somebody's own, another version.
OTHERS="6.12.0-55.9.1.el10_0.x86_64 6.12.0-100.28.2.el10uek.x86_64 6.12.0-160000.5-default
	6.12.40-63.114.amzn2023.x86_64 6.12.117-mine 6.13.1"
KNOWN="6.12.90 6.12.48+deb13-amd64 6.12.12+bpo-cloud-amd64"

# machine_is PARAMETER=VALUE...: until machine_is_itself; by path, for modprobe asks for the name
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

# Tasks move to and from the patch one after the other.
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

# Another function may be patched.
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

# It comes while farswap is attached, which is fine.
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
check "detached for a start" detach
check "other kernels that call themselves 6.12, and another version" others_refused
check "force=1 attaches all the same" force_attaches
check "releases of kernel.org and Debian" known_attach
check "a live patch that is there before" patched_refused
check "attached without it" eval 'set_value "$FARSWAP/force" 1 && attach && pages_go_out'
check "no live patch while attached" patches_refused
check "a live patch of another function" patched_elsewhere
check "detached" detach
machine_is ibt=1
check "with indirect branch tracking, a BPF program before" bpf_refuses_attach
check "and one that came later keeps it from detaching" eval \
	'attach && pages_go_out && bpf_refuses_detach && detach && nothing_is_left'
machine_is_itself
check --data "memory was right all the time, no remote bit is left" eval \
	'stop_load refused && stat_is load_lost 0 && no_orphaned_pages'
stats_show
test_end
