/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Finding the kernel's own functions, and making sure that they are the ones we
 * were made for.
 */
#ifndef _FARSWAP_SYMBOL_H
#define _FARSWAP_SYMBOL_H

#include <linux/types.h>

unsigned long farswap_symbol_find(const char *name);
bool farswap_symbol_calls(unsigned long caller, unsigned long callee);
int farswap_symbol_check(const char *name, const char *prototype);
int farswap_symbol_get(const char *name, const char *prototype, unsigned long *address);
const void *farswap_symbol_data(const char *name);
int farswap_symbol_release(bool force);
int farswap_symbol_init(void);

#endif /* _FARSWAP_SYMBOL_H */
