/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Force-included by the out-of-tree build: checks that the kernel is supported. A kernel
 * with farswap in its source tree is patched instead.
 */
#ifndef _FARSWAP_COMPAT_H
#define _FARSWAP_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#error "as a module of its own farswap is for Linux 6.12 (KDIR=its headers); for 7.3: make tree"
#endif

/* The hook depends on where x86 calls ftrace, and on the encoding of those calls. */
#ifndef CONFIG_X86_64
#error "farswap is for x86-64"
#endif

/* With PREEMPT_RT ftrace callbacks can't take the swap code's locks, which sleep. */
#ifdef CONFIG_PREEMPT_RT
#error "farswap attaches itself to no kernel with PREEMPT_RT; for one: make tree"
#endif

/* LTO may inline the hooked functions across files. */
#ifdef CONFIG_LTO_CLANG
#error "farswap attaches itself to no kernel built with LTO; for one: make tree"
#endif

#endif /* _FARSWAP_COMPAT_H */
