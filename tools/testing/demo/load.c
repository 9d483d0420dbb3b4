// SPDX-License-Identifier: GPL-2.0
/*
 * Fills a Redis server with incompressible values, reads each key back once in
 * a random order, then random keys for a time, and checks every byte against
 * what the key says it must be. Prints a line each second:
 *
 *   tick PHASE SECONDS OPS WRONG        ops: in that second; wrong: in all
 *
 * and at the end of each phase: "end PHASE SECONDS OPS WRONG".
 */
#define _GNU_SOURCE
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VALUE_BYTES	4000	/* with its header this fills a page of jemalloc's */
#define VALUE_WORDS	(VALUE_BYTES / 8)
#define DEPTH		16	/* commands on their way at once */

struct phase {
	const char *name;
	double limit;		/* seconds, 0: to the last key */
	double start;
	double tick;
	uint64_t ops;
	uint64_t tick_ops;
	uint64_t wrong;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* The value of key number @key: a stream that starts from the key. */
static void value_make(uint64_t *value, uint64_t key)
{
	uint64_t x = mix(key + 1) | 1;

	for (int i = 0; i < VALUE_WORDS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		value[i] = x;
	}
}

static bool value_is(const redisReply *reply, uint64_t key)
{
	static uint64_t value[VALUE_WORDS];

	value_make(value, key);
	return reply && reply->type == REDIS_REPLY_STRING && reply->len == VALUE_BYTES &&
	       !memcmp(reply->str, value, VALUE_BYTES);
}

static void phase_start(struct phase *phase)
{
	phase->start = now();
	phase->tick = phase->start;
}

/* Counts one operation; true when the phase's time is up. */
static bool phase_count(struct phase *phase, bool good)
{
	double t = now();

	phase->ops++;
	phase->tick_ops++;
	phase->wrong += !good;
	if (t - phase->tick >= 1) {
		printf("tick %s %.1f %.0f %" PRIu64 "\n", phase->name, t - phase->start,
		       phase->tick_ops / (t - phase->tick), phase->wrong);
		fflush(stdout);
		phase->tick = t;
		phase->tick_ops = 0;
	}
	return phase->limit && t - phase->start > phase->limit;
}

static void phase_end(const struct phase *phase)
{
	printf("end %s %.3f %" PRIu64 " %" PRIu64 "\n", phase->name, now() - phase->start,
	       phase->ops, phase->wrong);
	fflush(stdout);
}

static redisReply *reply_get(redisContext *redis)
{
	void *reply;

	if (redisGetReply(redis, &reply) != REDIS_OK) {
		fprintf(stderr, "load: redis: %s\n", redis->errstr);
		exit(2);
	}
	return reply;
}

/* Position @i of a random order of @n keys: a bijection by cycle walking. */
static uint64_t shuffle(uint64_t i, uint64_t n, uint64_t seed)
{
	int bits = 2;

	while (1ull << bits < n)
		bits += 2;
	do {
		uint64_t half = bits / 2, mask = (1ull << half) - 1;
		uint64_t left = i >> half, right = i & mask;

		for (int round = 0; round < 4; round++) {
			uint64_t next = left ^ (mix(right + seed + round * 7919) & mask);

			left = right;
			right = next;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}

static void fill(redisContext *redis, uint64_t keys)
{
	struct phase phase = { .name = "fill" };
	uint64_t value[VALUE_WORDS], sent = 0;
	redisReply *reply;

	phase_start(&phase);
	for (uint64_t done = 0; done < keys; done++) {
		for (; sent < keys && sent < done + DEPTH; sent++) {
			value_make(value, sent);
			redisAppendCommand(redis, "SET k%08" PRIu64 " %b", sent, value,
					   (size_t)VALUE_BYTES);
		}
		reply = reply_get(redis);
		phase_count(&phase, reply->type == REDIS_REPLY_STATUS);
		freeReplyObject(reply);
	}
	phase_end(&phase);
}

/* Each key once, in an order that @seed gives; or keys at random. */
static uint64_t read_key(uint64_t i, uint64_t keys, uint64_t seed, bool once)
{
	return once ? shuffle(i, keys, seed) : mix(i ^ seed) % keys;
}

static void read_back(redisContext *redis, uint64_t keys, bool once, struct phase *phase)
{
	uint64_t sent = 0, end = once ? keys : UINT64_MAX, seed = mix(time(NULL) + once);
	redisReply *reply;

	phase_start(phase);
	for (uint64_t done = 0; done < end; done++) {
		for (; sent < end && sent < done + DEPTH; sent++)
			redisAppendCommand(redis, "GET k%08" PRIu64,
					   read_key(sent, keys, seed, once));
		reply = reply_get(redis);
		if (phase_count(phase, value_is(reply, read_key(done, keys, seed, once))))
			end = sent;
		freeReplyObject(reply);
	}
	phase_end(phase);
}

int main(int argc, char **argv)
{
	struct phase warm = { .name = "warm" }, read = { .name = "read" };
	redisContext *redis;
	uint64_t keys;

	if (argc != 5) {
		fprintf(stderr, "usage: load SOCKET MEGABYTES WARM-SECONDS READ-SECONDS\n");
		return 2;
	}
	redis = redisConnectUnix(argv[1]);
	if (!redis || redis->err) {
		fprintf(stderr, "load: %s: %s\n", argv[1], redis ? redis->errstr : "no memory");
		return 2;
	}
	keys = strtoull(argv[2], NULL, 0) * 1024 * 1024 / VALUE_BYTES;
	warm.limit = strtod(argv[3], NULL);
	read.limit = strtod(argv[4], NULL);

	fill(redis, keys);
	read_back(redis, keys, true, &warm);
	read_back(redis, keys, false, &read);
	return warm.wrong || read.wrong;
}
