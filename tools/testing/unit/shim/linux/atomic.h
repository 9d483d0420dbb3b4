/* SPDX-License-Identifier: GPL-2.0 */
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
