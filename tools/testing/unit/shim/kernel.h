/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of the kernel as the pure code of mm/ needs in user space. Every
 * header in shim/linux/ includes this one.
 */
#ifndef _FARSWAP_SHIM_KERNEL_H
#define _FARSWAP_SHIM_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef unsigned int gfp_t;

#define S16_MIN		INT16_MIN
#define S16_MAX		INT16_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX

#define GFP_KERNEL	0
#define GFP_NOWAIT	0
#define __GFP_NOWARN	0
#define __GFP_NOMEMALLOC	0
#define __GFP_NORETRY	0

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define BITS_PER_LONG		64
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define clamp(n, a, b)		min(max(n, a), b)
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#endif
#define struct_size(p, m, n)	(sizeof(*(p)) + sizeof((p)->m[0]) * (n))

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define xchg(p, new)		__atomic_exchange_n(p, new, __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)

#define hweight64(n)		((unsigned int)__builtin_popcountll(n))
#define hweight_long(n)		hweight64(n)
#define __ffs(n)		((unsigned int)__builtin_ctzl(n))
#define __fls(n)		((unsigned int)(63 - __builtin_clzl(n)))
#define fls64(n)		((n) ? 64 - __builtin_clzll(n) : 0)
#define roundup_pow_of_two(n)	(1UL << fls64((n) - 1))

static inline unsigned long shim_mask(unsigned int bit)
{
	return 1UL << (bit % BITS_PER_LONG);
}

static inline bool test_bit(unsigned int bit, const unsigned long *map)
{
	return READ_ONCE(map[bit / BITS_PER_LONG]) & shim_mask(bit);
}

static inline void set_bit(unsigned int bit, unsigned long *map)
{
	__atomic_fetch_or(&map[bit / BITS_PER_LONG], shim_mask(bit),
			  __ATOMIC_RELAXED);
}

static inline bool test_and_clear_bit(unsigned int bit, unsigned long *map)
{
	return __atomic_fetch_and(&map[bit / BITS_PER_LONG], ~shim_mask(bit),
				  __ATOMIC_SEQ_CST) & shim_mask(bit);
}

static inline void clear_bit(unsigned int bit, unsigned long *map)
{
	test_and_clear_bit(bit, map);
}

static inline void bitmap_zero(unsigned long *map, unsigned int bits)
{
	memset(map, 0, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_fill(unsigned long *map, unsigned int bits)
{
	unsigned int bit;

	for (bit = 0; bit < bits; bit++)
		set_bit(bit, map);
}

static inline unsigned int find_next_bit(const unsigned long *map, unsigned int bits,
					 unsigned int bit)
{
	while (bit < bits && !test_bit(bit, map))
		bit++;
	return bit;
}

/* Set by a test to make allocations fail. */
static bool shim_no_memory;

static inline void *kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	(void)gfp;
	return shim_no_memory ? NULL : calloc(n, size);
}

static inline void *kvzalloc(size_t size, gfp_t gfp)
{
	return kvcalloc(1, size, gfp);
}

static inline void *kcalloc(size_t n, size_t size, gfp_t gfp)
{
	return kvcalloc(n, size, gfp);
}

static inline void *kmalloc(size_t size, gfp_t gfp)
{
	return kvcalloc(1, size, gfp);
}

static inline void *kzalloc(size_t size, gfp_t gfp)
{
	return kvcalloc(1, size, gfp);
}

static inline void kfree(void *p)
{
	free(p);
}

static inline void kvfree(void *p)
{
	free(p);
}

#endif /* _FARSWAP_SHIM_KERNEL_H */
