/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions with which main.c attaches and detaches the hook.
 */
#ifndef _FARSWAP_HOOK_H
#define _FARSWAP_HOOK_H

#include <linux/types.h>

int farswap_hook_attach(bool force);
int farswap_hook_detach_begin(void);
void farswap_hook_detach_cancel(void);
int farswap_hook_detach(void);
void farswap_hook_free_slots(void);
void farswap_hook_exit(void);
/* Only ftrace calls this function, as hook/ftrace.c tells it to; C code must not. */
void hook_claim_call(void);

#endif /* _FARSWAP_HOOK_H */
