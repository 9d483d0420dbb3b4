/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Taking lent regions back: which, and when all of it is over.
 */
#ifndef EVICT_H
#define EVICT_H

#include <stdbool.h>
#include <stdint.h>

#define EVICT_ALL	UINT64_MAX

struct evict_result {
	unsigned int wanted;
	unsigned int returned;		/* by the client, or with its session */
	unsigned int killed;		/* its time was over */
	unsigned int broken;		/* its key can't be killed */
};

/* What became of a region. */
enum evict_end {
	EVICT_RETURNED,
	EVICT_KILLED,
	EVICT_BROKEN,
};

struct evict_job;

void evict_init(unsigned int evict_ms);
/* What a client has to give a region back in. */
unsigned int evict_deadline_ms(void);
/*
 * Takes back @count regions, the least busy of some picked at random; @ordinary: none on
 * reserved huge pages. @done is called when it is over, from the loop and never from here.
 * NULL: no memory.
 */
struct evict_job *evict_start(uint64_t count, bool ordinary,
			      void (*done)(void *arg, const struct evict_result *result),
			      void *arg);
/* Its name for evict_asks(), which it keeps after it is over. */
uint64_t evict_number(const struct evict_job *job);
/* @done won't be called; the job goes on. */
void evict_forget(struct evict_job *job);

/* request.c says what became of a job's requests. */
void evict_region_gone(uint64_t job, enum evict_end end);
void evict_busy(uint64_t job, uint64_t region, uint32_t pages);
void evict_answered(uint64_t job);
/* Is the answer still waited for? */
bool evict_asks(uint64_t job);

#endif
