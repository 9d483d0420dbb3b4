#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BPF programs on every function that farswap redirects, and on the one it watches, exist before it
# attaches, are added and removed while it is attached, and stay when it detaches, while pages
# move: all programs run, and no byte is wrong. One thread emulates the four processors: with a
# thread each, QEMU cannot patch code that others run.
# cluster: donors=2 mem=192 disks=2 cpus=4 one_thread=1 rare=1
# shellcheck source=_lib.sh
. "$(dirname "$0")/_lib.sh"
# shellcheck source=_hook.sh
. "$(dirname "$0")/_hook.sh"

# Only faults on shared memory call one of them.
FUNCTIONS="${REDIRECTED%swap_cluster_readahead} clear_shadow_from_swap_cache"
# The kernel is slow to attach and detach a program.
SOME="swap_writepage __swap_writepage swap_read_folio"
ROUNDS=${ROUNDS:-4}

# runs NAME: some functions are called by swapon and swapoff only
runs() {
	bpf_mark "$1" && { [ "$1" = fentry ] || swap_more; } && wait_for 30 bpf_runs "$1"
}

swap_more() {
	swap_on "$SWAP_DISK2" && swapoff "$SWAP_DISK2"
}

# shellcheck disable=SC2086 # words are wanted
attach_beside() {
	bpf_start fexit fexit $FUNCTIONS && bpf_start fentry fentry $SOME &&
		attach && pages_go_out && runs fexit && runs fentry
}

detach_beside() {
	detach && bpf_mark fexit && wait_for 30 some_run fexit && attach && pages_go_out
}

# This runs no swapon.
some_run() {
	! bpf_runs "$1" | grep -E "^($(echo "$SOME" | tr ' ' '|')) "
}

end_beside() {
	bpf_stop fexit && bpf_stop fentry && pages_go_out
}

# shellcheck disable=SC2086 # words are wanted
come_while_attached() {
	bpf_start fexit fexit $FUNCTIONS && bpf_start fentry fentry $SOME &&
		pages_go_out && runs fexit && runs fentry && detach &&
		bpf_stop fexit && bpf_stop fentry && attach && pages_go_out
}

# shellcheck disable=SC2086 # words are wanted
probe_beside() {
	bpf_start kprobe kprobe $FUNCTIONS && bpf_start kretprobe kretprobe $FUNCTIONS &&
		pages_go_out && runs kprobe && runs kretprobe && detach &&
		attach && pages_go_out && runs kretprobe &&
		bpf_stop kprobe && bpf_stop kretprobe && pages_go_out
}

# Attaching and detaching a program delays others only briefly, even if some program is being
# attached or detached most of the time.
churn_beside() {
	bpf_start churn1 churn swap_read_folio && bpf_start churn2 churn __swap_writepage ||
		return 1
	churn_round=0
	while [ "$churn_round" -lt "$ROUNDS" ]; do
		churn_round=$((churn_round + 1))
		detach && attach || return 1
	done
	cat "$TMP"/churn[12].bpf
	bpf_stop churn1 && bpf_stop churn2 && pages_go_out
}

test_begin 8
! is_direct || skip_rest "a kernel that calls farswap redirects nothing"
[ -e /sys/kernel/btf/vmlinux ] || skip_rest "no /sys/kernel/btf/vmlinux in this kernel"
[ "$(cat /proc/sys/net/core/bpf_jit_enable)" = 1 ] || skip_rest "this kernel does not compile BPF"
[ -b "$SWAP_DISK2" ] || skip_rest "no second disk $SWAP_DISK2"
farswap_up 2
swap_on
make_cgroup bpf 16M
start_load bpf bpf -m 28 -p 2 -d 280 -r 50 -u 10 -i 20
check "farswap is detached first" detach
check "farswap attaches beside fentry and fexit programs" attach_beside
check "farswap detaches beside them, and attaches again" detach_beside
check "programs can be removed while farswap is attached" end_beside
check "programs can be added while attached, and removed after detaching" come_while_attached
if grep -qw register_fprobe_syms /proc/kallsyms; then
	check "kprobe.multi and kretprobe.multi" probe_beside
else
	skip_one "no kprobe.multi in this kernel"
fi
check "attach and detach while programs are added and removed" churn_beside
check --data "memory contents are right, no remote bit is left" eval \
	'stop_load bpf && stat_is load_lost 0 && no_orphaned_pages'
stats_show
test_end
