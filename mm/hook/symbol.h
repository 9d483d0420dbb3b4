/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Symbols: finds functions of the kernel and checks that they are those that farswap was made for.
 */
#ifndef _FARSWAP_SYMBOL_H
#define _FARSWAP_SYMBOL_H

#include <linux/types.h>

bool farswap_symbol_calls(unsigned long caller, unsigned long callee);
int farswap_symbol_get(const char *name, const char *prototype, unsigned long *address);
int farswap_symbol_release(bool force);
int farswap_symbol_init(void);

#endif /* _FARSWAP_SYMBOL_H */
