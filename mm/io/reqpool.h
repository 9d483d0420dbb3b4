/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests: what a load or a store needs from its beginning to its end.
 */
#ifndef _FARSWAP_REQUEST_H
#define _FARSWAP_REQUEST_H

#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/mempool.h>
#include <linux/percpu.h>
#include <linux/types.h>

/* What ends in a burst begins in one: reclaim's are as large, SWAP_CLUSTER_MAX. */
#define FARSWAP_REQUESTS_READY	32

/**
 * struct farswap_requests_ready - requests that have ended on a CPU
 * @nr:		how many
 * @request:	the requests
 */
struct farswap_requests_ready {
	unsigned int nr;
	void *request[FARSWAP_REQUESTS_READY];
};

/**
 * struct farswap_requests - requests of one kind
 * @cache:	the allocator's
 * @pool:	never lacks some
 * @ready:	by CPU, the first to be used again: a fraction of what the allocator costs,
 *		which clears each, too, with init_on_alloc
 */
struct farswap_requests {
	struct kmem_cache *cache;
	mempool_t *pool;
	struct farswap_requests_ready __percpu *ready;
};

int farswap_requests_init(struct farswap_requests *requests, const char *name,
			  size_t size, unsigned int min);
void farswap_requests_exit(struct farswap_requests *requests);

/**
 * farswap_request_alloc() - begin a request
 * @requests:	of its kind
 * @gfp:	how
 *
 * Context: as @gfp, up to softirq.
 * Return: the request, with anything in it; or NULL, if @gfp does not let it wait.
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
 * farswap_request_free() - it has ended
 * @requests:	of its kind
 * @request:	the request
 *
 * Context: any up to interrupts.
 */
static inline void farswap_request_free(struct farswap_requests *requests, void *request)
{
	struct farswap_requests_ready *ready;
	unsigned long flags;

	/* Who waits for one waits for the pool. */
	if (likely(READ_ONCE(requests->pool->curr_nr) >= requests->pool->min_nr)) {
		local_irq_save(flags);
		ready = this_cpu_ptr(requests->ready);
		/* KASAN is to see who uses one that has ended. */
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
