// SPDX-License-Identifier: GPL-2.0
/*
 * Loads a key-value server as Facebook's two that the Infiniswap paper measures
 * (Gu et al., NSDI 2017, section 6.2): ETC with 95 % GETs, and SYS with 75 %.
 * The keys are Zipf's with 0.99, each anywhere in the order in which they were filled in. One
 * command is sent at a time, except for the filling. Every byte that comes back is checked.
 * Values are random bytes, or with "json" text as of a shop's orders.
 * Commands come on standard input; each is answered by its results and "done":
 *
 *   fill                       fill keys N per_s N wrong N
 *   run GET-PERCENT SECONDS    run ops N per_s N get_p50_us N get_p99_us N
 *                                  set_p50_us N set_p99_us N wrong N
 *                              get bucket_us N count N, set bucket_us N count N
 */
#define _GNU_SOURCE
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <libmemcached/memcached.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "buckets.h"

#define VALUE_BYTES	1000
#define VALUE_WORDS	(VALUE_BYTES / 8)
#define KEY_BYTES	16
#define ZIPF		0.99
#define FILL_KEYS	64		/* whose answers are waited for at once */
#define TIMES_MAX	(1 << 19)	/* of a run; later commands are counted, not timed */

/**
 * struct server - a kind of server, reached by a Unix socket
 * @name:	of its program
 * @connect:	true if it is there
 * @set:	give a key its value; true if the server said yes
 * @get:	does a key have that value?
 * @send:	begin to give a key its value
 * @answers:	wait for the answers to so many; how many the server said yes to
 */
struct server {
	const char *name;
	bool (*connect)(const char *path);
	bool (*set)(const char *key, const uint64_t *value);
	bool (*get)(const char *key, const uint64_t *value);
	void (*send)(const char *key, const uint64_t *value);
	uint64_t (*answers)(uint64_t nr);
};

static redisContext *redis;
static memcached_st *cached;

static bool redis_connect(const char *path)
{
	redis = redisConnectUnix(path);
	return redis && !redis->err;
}

static bool redis_set(const char *key, const uint64_t *value)
{
	redisReply *reply = redisCommand(redis, "SET %s %b", key, value, (size_t)VALUE_BYTES);
	bool good = reply && reply->type == REDIS_REPLY_STATUS;

	freeReplyObject(reply);
	return good;
}

static bool redis_get(const char *key, const uint64_t *value)
{
	redisReply *reply = redisCommand(redis, "GET %s", key);
	bool good = reply && reply->type == REDIS_REPLY_STRING && reply->len == VALUE_BYTES &&
		    !memcmp(reply->str, value, VALUE_BYTES);

	freeReplyObject(reply);
	return good;
}

static void redis_send(const char *key, const uint64_t *value)
{
	redisAppendCommand(redis, "SET %s %b", key, value, (size_t)VALUE_BYTES);
}

static uint64_t redis_answers(uint64_t nr)
{
	uint64_t good = 0;

	while (nr--) {
		void *reply = NULL;

		if (redisGetReply(redis, &reply) == REDIS_OK)
			good += ((redisReply *)reply)->type == REDIS_REPLY_STATUS;
		freeReplyObject(reply);
	}
	return good;
}

static bool memcached_connect(const char *path)
{
	cached = memcached_create(NULL);
	return cached && memcached_server_add_unix_socket(cached, path) == MEMCACHED_SUCCESS;
}

static bool memcached_put(const char *key, const uint64_t *value)
{
	return memcached_set(cached, key, strlen(key), (const char *)value, VALUE_BYTES, 0,
			     0) == MEMCACHED_SUCCESS;
}

static bool memcached_fetch_is(const char *key, const uint64_t *value)
{
	memcached_return_t error;
	uint32_t flags;
	size_t length;
	char *found = memcached_get(cached, key, strlen(key), &length, &flags, &error);
	bool good = found && length == VALUE_BYTES && !memcmp(found, value, VALUE_BYTES);

	free(found);
	return good;
}

static uint64_t memcached_items(void)
{
	memcached_stat_st *stats = memcached_stat(cached, NULL, NULL);
	char *text = stats ? memcached_stat_get_value(cached, stats, "curr_items", NULL) : NULL;
	uint64_t nr_items = text ? strtoull(text, NULL, 10) : 0;

	free(text);
	memcached_stat_free(cached, stats);
	return nr_items;
}

/* There is no answer then: memcached_answers() asks how many are there. */
static void memcached_send(const char *key, const uint64_t *value)
{
	memcached_behavior_set(cached, MEMCACHED_BEHAVIOR_NOREPLY, 1);
	memcached_put(key, value);
	memcached_behavior_set(cached, MEMCACHED_BEHAVIOR_NOREPLY, 0);
}

/* For an empty server, with keys that were not sent before. */
static uint64_t memcached_answers(uint64_t nr)
{
	static uint64_t nr_before;
	uint64_t nr_items = memcached_items();
	uint64_t nr_new = nr_items > nr_before ? nr_items - nr_before : 0;

	nr_before = nr_items;
	return nr_new < nr ? nr_new : nr;
}

static const struct server servers[] = {
	{ "redis", redis_connect, redis_set, redis_get, redis_send, redis_answers },
	{ "memcached", memcached_connect, memcached_put, memcached_fetch_is, memcached_send,
	  memcached_answers },
};

static const struct server *server;
static uint64_t nr_keys;
static uint8_t *versions;	/* of each key's value */
static uint64_t *times[2];	/* of SETs and GETs, in ns */
static size_t nr_times[2];
static uint64_t state;		/* of the random numbers */
static bool json;		/* values are text */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static double random_unit(void)
{
	state += 0x9e3779b97f4a7c15;
	return (mix(state) >> 11) * 0x1p-53;
}

/* Gray et al., Quickly Generating Billion-Record Synthetic Databases, SIGMOD 1994. */
static uint64_t random_rank(void)
{
	static double zeta, eta;
	double u = random_unit(), uz;

	if (!zeta) {
		for (uint64_t i = 1; i <= nr_keys; i++)
			zeta += pow(i, -ZIPF);
		eta = (1 - pow(2.0 / nr_keys, 1 - ZIPF)) / (1 - (1 + pow(2, -ZIPF)) / zeta);
	}
	uz = u * zeta;
	if (uz < 1)
		return 0;
	if (uz < 1 + pow(0.5, ZIPF))
		return 1;
	return nr_keys * pow(eta * u - eta + 1, 1 / (1 - ZIPF));
}

/* Popular keys are not each other's neighbours. */
static uint64_t random_key(void)
{
	return mix(random_rank() + 1) % nr_keys;
}

static void key_make(char *key, uint64_t number)
{
	snprintf(key, KEY_BYTES, "k%08" PRIu64, number % 100000000);
}

static const char *word_next(uint64_t *x)
{
	static const char *const words[] = {
		"amber", "birch", "cedar", "delta", "ember", "frost", "grove", "harbour", "indigo",
		"juniper", "kestrel", "lantern", "meadow", "nimbus", "orchard", "pebble", "quartz",
		"river", "saffron", "timber", "umbra", "velvet", "willow", "yarrow", "zephyr",
	};

	*x = mix(*x + 1);
	return words[*x % (sizeof(words) / sizeof(*words))];
}

static unsigned int number_next(uint64_t *x, unsigned int below)
{
	*x = mix(*x + 1);
	return *x % below;
}

/* An order with as many items as there is room for; the last one is cut off. */
static void value_json(char *text, uint64_t x)
{
	const char *first = word_next(&x), *last = word_next(&x);
	size_t length;

	length = snprintf(text, VALUE_BYTES,
			  "{\"id\":%u,\"customer\":{\"name\":\"%s %s\",\"email\":\"%s.%s@example.com\"},"
			  "\"created\":\"2024-%02u-%02uT%02u:%02u:%02uZ\",\"paid\":%s,\"items\":[",
			  number_next(&x, 1000000), first, last, first, last,
			  number_next(&x, 12) + 1, number_next(&x, 28) + 1, number_next(&x, 24),
			  number_next(&x, 60), number_next(&x, 60),
			  number_next(&x, 2) ? "true" : "false");
	while (length < VALUE_BYTES)
		length += snprintf(text + length, VALUE_BYTES - length,
				   "{\"sku\":\"%08x\",\"name\":\"%s %s\",\"count\":%u,\"price\":%u.%02u},",
				   number_next(&x, UINT32_MAX), word_next(&x), word_next(&x),
				   number_next(&x, 20), number_next(&x, 500), number_next(&x, 100));
}

static void value_make(uint64_t *value, uint64_t key)
{
	uint64_t x = mix(key << 8 | versions[key]) | 1;

	if (json) {
		value_json((char *)value, x);
		return;
	}
	for (int i = 0; i < VALUE_WORDS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		value[i] = x;
	}
}

/* Its time is kept; false if the answer was not what it must be. */
static bool command(uint64_t number, bool get)
{
	uint64_t value[VALUE_WORDS], start, time;
	char key[KEY_BYTES];
	bool good;

	key_make(key, number);
	if (!get)
		versions[number]++;
	value_make(value, number);
	start = now_ns();
	good = (get ? server->get : server->set)(key, value);
	time = now_ns() - start;
	if (nr_times[get] < TIMES_MAX)
		times[get][nr_times[get]++] = time;
	return good;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double percentile_us(bool get, size_t percent)
{
	size_t nr = nr_times[get];

	return nr ? times[get][(nr - 1) * percent / 100] / 1e3 : 0;
}

static uint64_t fill(void)
{
	uint64_t start = now_ns(), value[VALUE_WORDS], wrong = 0;
	char key[KEY_BYTES];

	for (uint64_t first = 0, nr; first < nr_keys; first += nr) {
		nr = nr_keys - first < FILL_KEYS ? nr_keys - first : FILL_KEYS;
		for (uint64_t i = first; i < first + nr; i++) {
			key_make(key, i);
			versions[i]++;
			value_make(value, i);
			server->send(key, value);
		}
		wrong += nr - server->answers(nr);
	}
	printf("fill keys %" PRIu64 " per_s %.0f wrong %" PRIu64 "\n", nr_keys,
	       nr_keys / ((now_ns() - start) / 1e9), wrong);
	return wrong;
}

static uint64_t run(double get_percent, double seconds)
{
	uint64_t start = now_ns(), end = start + seconds * 1e9, ops = 0, wrong = 0;

	nr_times[0] = 0;
	nr_times[1] = 0;
	for (; now_ns() < end; ops++)
		wrong += !command(random_key(), random_unit() * 100 < get_percent);
	for (int get = 0; get < 2; get++)
		qsort(times[get], nr_times[get], sizeof(*times[get]), compare);
	printf("run ops %" PRIu64 " per_s %.0f get_p50_us %.1f get_p99_us %.1f set_p50_us %.1f set_p99_us %.1f wrong %"
	       PRIu64 "\n", ops, ops / ((now_ns() - start) / 1e9),
	       percentile_us(true, 50), percentile_us(true, 99),
	       percentile_us(false, 50), percentile_us(false, 99), wrong);
	print_buckets("set", times[0], nr_times[0]);
	print_buckets("get", times[1], nr_times[1]);
	return wrong;
}

static int usage(void)
{
	fputs("usage: kv redis|memcached SOCKET KEYS SEED [json]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	double percent, seconds;
	uint64_t wrong = 0;
	char line[80];

	json = argc == 6 && !strcmp(argv[5], "json");
	if (argc != 5 && !json)
		return usage();
	for (size_t i = 0; i < sizeof(servers) / sizeof(*servers); i++)
		if (!strcmp(servers[i].name, argv[1]))
			server = &servers[i];
	nr_keys = strtoull(argv[3], NULL, 0);
	state = mix(strtoull(argv[4], NULL, 0) + 1);
	if (!server || nr_keys < 3)
		return usage();
	versions = calloc(nr_keys, 1);
	times[0] = calloc(TIMES_MAX, sizeof(**times));
	times[1] = calloc(TIMES_MAX, sizeof(**times));
	if (!versions || !times[0] || !times[1] || mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("kv: memory");
		return 2;
	}
	if (!server->connect(argv[2])) {
		fprintf(stderr, "kv: no %s at %s\n", argv[1], argv[2]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "fill\n")) {
			wrong += fill();
		} else if (sscanf(line, "run %lf %lf", &percent, &seconds) == 2) {
			wrong += run(percent, seconds);
		} else {
			fprintf(stderr, "kv: don't know: %s", line);
			return 2;
		}
		puts("done");
	}
	return wrong != 0;
}
