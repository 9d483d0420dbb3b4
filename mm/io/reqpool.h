/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests: the memory that a load or a store uses from its beginning to its end.
 */
#ifndef _FARSWAP_REQUEST_H
#define _FARSWAP_REQUEST_H

#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/mempool.h>
#include <linux/percpu.h>
#include <linux/types.h>

/* Requests end in bursts as large as those they begin in: SWAP_CLUSTER_MAX in reclaim. */
#define FARSWAP_REQUESTS_READY	32

/**
 * struct farswap_requests_ready - requests that have ended on a CPU
 * @nr:		number of requests
 * @request:	the requests
 */
struct farswap_requests_ready {
	unsigned int nr;
	void *request[FARSWAP_REQUESTS_READY];
};

/**
 * struct farswap_requests - pool of requests of one kind
 * @cache:	slab cache of the requests
 * @pool:	reserve of requests
 * @ready:	requests of each CPU to be reused first. This costs a fraction of an allocation,
 *		which with init_on_alloc also clears the request
 */
struct farswap_requests {
	struct kmem_cache *cache;
	mempool_t *pool;
	struct farswap_requests_ready __percpu *ready;
};

int farswap_requests_init(struct farswap_requests *requests, const char *name,
			  size_t size, unsigned int min, mempool_alloc_t *alloc,
			  mempool_free_t *free);
void farswap_requests_exit(struct farswap_requests *requests);

/**
 * farswap_request_alloc() - allocate a request
 * @requests:	pool of its kind
 * @gfp:	how to allocate memory
 *
 * Context: as @gfp, up to softirq.
 * Return: the request, with undefined contents; NULL if there is none and @gfp does not allow to
 * wait.
 */
static inline void *farswap_request_alloc(struct farswap_requests *requests, gfp_t gfp)
{
	struct farswap_requests_ready *ready;
	void *request = NULL;
	unsigned long flags;

	local_irq_save(flags);
	ready = this_cpu_ptr(requests->ready);
	if (likely(ready->nr))
		request = ready->request[--ready->nr];
	local_irq_restore(flags);
	return likely(request) ? request : mempool_alloc(requests->pool, gfp);
}

/**
 * farswap_request_free() - free a request
 * @requests:	pool of its kind
 * @request:	the request
 *
 * Context: any up to interrupts.
 */
static inline void farswap_request_free(struct farswap_requests *requests, void *request)
{
	struct farswap_requests_ready *ready;
	unsigned long flags;

	/* A waiting allocation waits for the mempool, so fill up its reserve first. */
	if (likely(READ_ONCE(requests->pool->curr_nr) >= requests->pool->min_nr)) {
		local_irq_save(flags);
		ready = this_cpu_ptr(requests->ready);
		/* KASAN can detect a use after free only if the allocator gets the request. */
		if (likely(ready->nr < FARSWAP_REQUESTS_READY &&
			   !IS_ENABLED(CONFIG_KASAN))) {
			ready->request[ready->nr++] = request;
			request = NULL;
		}
		local_irq_restore(flags);
	}
	if (unlikely(request))
		mempool_free(request, requests->pool);
}

#endif /* _FARSWAP_REQUEST_H */
