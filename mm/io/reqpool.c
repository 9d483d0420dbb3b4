// SPDX-License-Identifier: GPL-2.0
/*
 * Pools of requests: creation and destruction.
 */
#include <linux/cpumask.h>
#include <linux/slab.h>

#include "io/reqpool.h"

/**
 * farswap_requests_init() - create a pool of requests of one kind
 * @requests:	the pool
 * @name:	name of its slab cache
 * @size:	size of a request, bytes
 * @min:	number of requests in reserve, which exist without free memory
 * @alloc:	allocates a request from the slab cache: mempool_alloc_slab(), or a function that
 *		does so
 * @free:	undoes @alloc
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int farswap_requests_init(struct farswap_requests *requests, const char *name,
			  size_t size, unsigned int min, mempool_alloc_t *alloc,
			  mempool_free_t *free)
{
	requests->cache = kmem_cache_create(name, size, 0, 0, NULL);
	if (!requests->cache)
		return -ENOMEM;
	requests->pool = mempool_create(min, alloc, free, requests->cache);
	if (!requests->pool)
		goto out_destroy_cache;
	requests->ready = alloc_percpu(struct farswap_requests_ready);
	if (!requests->ready)
		goto out_destroy_pool;
	return 0;

out_destroy_pool:
	mempool_destroy(requests->pool);
out_destroy_cache:
	kmem_cache_destroy(requests->cache);
	return -ENOMEM;
}

/**
 * farswap_requests_exit() - destroy a pool of requests
 * @requests:	the pool; no request of it is in use
 *
 * Context: may sleep.
 */
void farswap_requests_exit(struct farswap_requests *requests)
{
	struct farswap_requests_ready *ready;
	int cpu;

	for_each_possible_cpu(cpu) {
		ready = per_cpu_ptr(requests->ready, cpu);
		while (ready->nr)
			mempool_free(ready->request[--ready->nr], requests->pool);
	}
	free_percpu(requests->ready);
	mempool_destroy(requests->pool);
	kmem_cache_destroy(requests->cache);
}
