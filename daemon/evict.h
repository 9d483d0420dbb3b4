/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Evicts lent regions: selects them, and reports when all are back.
 */
#ifndef EVICT_H
#define EVICT_H

#include <stdbool.h>
#include <stdint.h>

#define EVICT_ALL	UINT64_MAX

struct evict_result {
	unsigned int requested;
	unsigned int returned;		/* by the client, or with its session */
	unsigned int revoked;		/* revoked after the deadline */
	unsigned int broken;		/* the rkey can't be revoked */
};

/* How the eviction of a region ended. */
enum evict_end {
	EVICT_RETURNED,
	EVICT_REVOKED,
	EVICT_BROKEN,
};

struct client;
struct evict_job;

void evict_init(unsigned int evict_ms);
/* The time that a client has to return a region. */
unsigned int evict_deadline_ms(void);
/*
 * Evict @count regions: of the clients that have most for their weight, the least active of a
 * random choice; @ordinary: none on reserved huge pages. @done is called when all are back, from
 * the event loop and never from within this function. Return NULL without memory.
 */
struct evict_job *evict_start(uint64_t count, bool ordinary,
			      void (*done)(void *arg, const struct evict_result *result),
			      void *arg);
/*
 * Take memory back for a client that asks for more than is free: from disconnected clients, and
 * from others while it has less than its reserve. Return false if no region can be taken.
 */
bool evict_for(const struct client *client);
/* Number of the job for evict_is_querying(); stays valid after its end. */
uint64_t evict_number(const struct evict_job *job);
/* Drop @done; the job continues. */
void evict_forget(struct evict_job *job);

/* peer-request.c reports the result of a job's requests. */
void evict_region_gone(uint64_t job, enum evict_end end);
void evict_set_activity(uint64_t job, uint64_t region, uint32_t pages);
void evict_answered(uint64_t job);
/* Is the job still waiting for answers to its queries? */
bool evict_is_querying(uint64_t job);

#endif
