/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Force-included by the build out of tree: the kernels that it is for. A kernel that has
 * farswap in its source differs in its patches, not here.
 */
#ifndef _FARSWAP_COMPAT_H
#define _FARSWAP_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#error "as a module of its own farswap is for Linux 6.12 (KDIR=its headers); for 7.3: make tree"
#endif

/* The hook knows where x86 calls ftrace from, and its calls' encoding. */
#ifndef CONFIG_X86_64
#error "farswap is for x86-64"
#endif

/* Under ftrace preemption may be off, and what it calls takes the swap code's own locks. */
#ifdef CONFIG_PREEMPT_RT
#error "farswap attaches itself to no kernel with PREEMPT_RT; for one: make tree"
#endif

/* What it hooks may be inlined across files. */
#ifdef CONFIG_LTO_CLANG
#error "farswap attaches itself to no kernel built with LTO; for one: make tree"
#endif

#endif /* _FARSWAP_COMPAT_H */
