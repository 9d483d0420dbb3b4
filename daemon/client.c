// SPDX-License-Identifier: GPL-2.0
/*
 * The clients. Clients are identified by their keys or else by their address, because everything
 * else in HELLO is unverified.
 *
 * Connections without HELLO cost the client nothing, and the donor a queue pair for seconds. So few
 * of them are kept for one address, and connect requests are limited.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client.h"
#include "loop.h"
#include "share.h"

/* Sessions without HELLO: of one client, and of all as long as few clients are allowed. */
#define CLIENT_HALF_OPEN	4
#define CLIENT_HALF_OPEN_MIN	16
/* Connect requests at once, and in the long run. */
#define CLIENT_CONNECTS		128
#define CLIENT_CONNECTS_SECOND	64
/* Addresses are hashed, so that no state remains of a client that has disconnected. */
#define CLIENT_BUCKETS		1024

struct list client_list = { &client_list, &client_list };

static struct {
	const struct client_config *config;
	unsigned int half_open;
	uint32_t seed;			/* of the hash */
	struct {
		unsigned int used;
		uint64_t at_ms;
	} connects[CLIENT_BUCKETS];
} clients;

static const struct client_rule *client_rule(const char *name, const struct sockaddr *address)
{
	unsigned int i;

	for (i = 0; i < clients.config->nr_rules; i++) {
		const struct client_rule *rule = &clients.config->rules[i];

		if (!strcmp(rule->name, name) &&
		    (*name || address_in_range(address, &rule->range)))
			return rule;
	}
	return NULL;
}

bool client_is_allowed(const struct sockaddr *address)
{
	return !clients.config->listed_only || client_rule("", address);
}

void client_name(const struct client *client, char name[ADDRESS_NAME_MAX])
{
	_Static_assert(AUTH_NAME_MAX <= ADDRESS_NAME_MAX, "a name fits");
	if (*client->name)
		snprintf(name, ADDRESS_NAME_MAX, "%s", client->name);
	else
		address_name((const struct sockaddr *)&client->address, name);
}

struct client *client_find(const char *name, const struct sockaddr *address)
{
	struct list *pos;

	list_for_each(pos, &client_list) {
		struct client *client = container_of(pos, struct client, link);

		if (!strcmp(client->name, name) &&
		    (*name || address_equal((const struct sockaddr *)&client->address, address)))
			return client;
	}
	return NULL;
}

static unsigned int client_regions(uint64_t bytes)
{
	return bytes / region_bytes() < region_total() ? bytes / region_bytes() : region_total();
}

static void client_limit(struct client *client)
{
	const struct client_rule *rule =
		client_rule(client->name, (const struct sockaddr *)&client->address);

	if (!rule)
		rule = &clients.config->usual;
	client->weight = rule->weight;
	client->min = client_regions(rule->min);
	client->max = client_regions(rule->max);
}

void client_apply(void)
{
	struct list *pos;

	list_for_each(pos, &client_list)
		client_limit(container_of(pos, struct client, link));
}

struct client *client_get(const char *name, const struct sockaddr *address)
{
	struct client *client = client_find(name, address);

	if (client) {
		client->sessions++;
		return client;
	}
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	snprintf(client->name, sizeof(client->name), "%s", name);
	memcpy(&client->address, address, address_size(address));
	client_limit(client);
	client->sessions = 1;
	list_init(&client->line);
	list_init(&client->maps);
	list_add_tail(&client->link, &client_list);
	return client;
}

void client_put(struct client *client)
{
	if (--client->sessions)
		return;
	list_del(&client->link);
	list_del(&client->line);
	free(client);
}

bool client_count_connect(const struct sockaddr *address)
{
	unsigned int i = address_hash(address, clients.seed) % CLIENT_BUCKETS;
	uint64_t now = loop_now_ms(), drained;

	drained = (now - clients.connects[i].at_ms) * CLIENT_CONNECTS_SECOND / 1000;
	if (drained) {
		clients.connects[i].used -= drained < clients.connects[i].used ?
			drained : clients.connects[i].used;
		clients.connects[i].at_ms = now;
	}
	if (clients.connects[i].used == CLIENT_CONNECTS)
		return false;
	clients.connects[i].used++;
	return true;
}

bool client_may_connect(const char *name, const struct sockaddr *address, bool resumes)
{
	const struct client *client = client_find(name, address);
	unsigned int max = clients.config->sessions;

	return !client || (client->half_open < CLIENT_HALF_OPEN &&
			   client->sessions < (resumes ? 2 * max : max));
}

void client_half_open(struct client *client, int change)
{
	client->half_open += change;
	clients.half_open += change;
}

unsigned int client_nr_half_open(void)
{
	return clients.half_open;
}

unsigned int client_half_open_max(void)
{
	/* When the donor restarts all its clients connect at once. */
	return clients.config->clients > CLIENT_HALF_OPEN_MIN ? clients.config->clients :
		CLIENT_HALF_OPEN_MIN;
}

static bool client_is_connected(const struct client *client)
{
	return client->sessions > client->half_open;
}

unsigned int client_reserve(const struct client *client)
{
	return client->min < region_limit() ? client->min : region_limit();
}

/* The unused reserves of the other connected clients. */
static unsigned int client_owed(const struct client *except)
{
	unsigned int owed = 0;
	struct list *pos;

	list_for_each(pos, &client_list) {
		const struct client *client = container_of(pos, struct client, link);

		if (client != except && client_is_connected(client) &&
		    client->account.lent < client_reserve(client))
			owed += client_reserve(client) - client->account.lent;
	}
	return owed;
}

unsigned int client_left(const struct client *client)
{
	return share_left(client->account.lent, client_reserve(client), client->max,
			  region_free_bytes() / region_bytes(), client_owed(client));
}

unsigned int client_fair(const struct client *of)
{
	unsigned int weights = 0;
	struct list *pos;

	list_for_each(pos, &client_list) {
		const struct client *client = container_of(pos, struct client, link);

		weights += client_is_connected(client) ? client->weight : 0;
	}
	return share_fair(region_limit(), of->weight, weights);
}

int client_init(const struct client_config *config)
{
	clients.config = config;
	if (getrandom(&clients.seed, sizeof(clients.seed), 0) != sizeof(clients.seed))
		return -EIO;
	return 0;
}
