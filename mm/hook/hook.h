/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How main.c puts the hook in place and takes it away.
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
/* Not for C: hook/ftrace.c has ftrace call it. */
void hook_claim_call(void);

#endif /* _FARSWAP_HOOK_H */
