/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _FARSWAP_SHIM_LINUX_ATOMIC_H
#define _FARSWAP_SHIM_LINUX_ATOMIC_H

#include "../kernel.h"

typedef struct {
	int counter;
} atomic_t;

static inline int atomic_read(const atomic_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline void atomic_add(int n, atomic_t *v)
{
	__atomic_fetch_add(&v->counter, n, __ATOMIC_RELAXED);
}

static inline void atomic_sub(int n, atomic_t *v)
{
	__atomic_fetch_sub(&v->counter, n, __ATOMIC_RELAXED);
}

typedef struct {
	long counter;
} atomic_long_t;

static inline void atomic_long_or(long bits, atomic_long_t *v)
{
	__atomic_fetch_or(&v->counter, bits, __ATOMIC_RELAXED);
}

static inline long atomic_long_fetch_andnot(long bits, atomic_long_t *v)
{
	return __atomic_fetch_and(&v->counter, ~bits, __ATOMIC_SEQ_CST);
}

#endif /* _FARSWAP_SHIM_LINUX_ATOMIC_H */
