// SPDX-License-Identifier: GPL-2.0
/*
 * Clients by address: which rule is a client's, how often and how far it may connect, and how much
 * is left for it.
 */
#include "address.c"
#include "client.c"
#include "share.c"

#include "tap.h"

#define SLAB	(2ULL << 20)

static unsigned int free_regions = 10, limit = 60;
static uint64_t now;

uint64_t region_bytes(void)
{
	return SLAB;
}

uint64_t region_free_bytes(void)
{
	return free_regions * SLAB;
}

unsigned int region_total(void)
{
	return 100;
}

unsigned int region_limit(void)
{
	return limit;
}

uint64_t loop_now_ms(void)
{
	return now;
}

static struct client_rule rules[3];
static struct client_config config = {
	.usual = { .weight = 1, .max = UINT64_MAX },
	.rules = rules,
	.sessions = 3,
	.clients = 64,
};

static const struct sockaddr *at(const char *text)
{
	static struct address_range ranges[4];
	static int next;
	struct address_range *range = &ranges[next++ % 4];

	if (!address_parse_range(text, range))
		ok(false, "%s", text);
	return (const struct sockaddr *)&range->address;
}

static void test_rules(void)
{
	struct client *a, *b, *c;

	config.nr_rules = 2;
	address_parse_range("10.0.1.5", &rules[0].range);
	rules[0].weight = 5;
	rules[0].min = 3 * SLAB;
	rules[0].max = 7 * SLAB + 1;
	address_parse_range("10.0.1.0/24", &rules[1].range);
	rules[1].weight = 2;
	rules[1].max = UINT64_MAX;
	a = client_get("", at("10.0.1.5"));
	b = client_get("", at("10.0.1.6"));
	c = client_get("", at("10.0.2.5"));
	ok(a->weight == 5 && a->min == 3 && a->max == 7, "a rule for one address, in regions");
	ok(b->weight == 2 && !b->min && b->max == 100, "the first rule that matches");
	ok(c->weight == 1 && c->max == 100, "none");
	ok(client_get("", at("10.0.1.5")) == a && a->sessions == 2, "another session of it");
	ok(client_is_allowed(at("10.9.9.9")), "strangers may connect");
	config.listed_only = true;
	ok(!client_is_allowed(at("10.9.9.9")) && client_is_allowed(at("10.0.1.77")),
	   "unless only those of a rule may");
	config.listed_only = false;

	ok(client_fair(a) == 60 * 5 / 8 && client_fair(c) == 60 / 8, "their parts");
	b->half_open = 1;
	ok(client_fair(a) == 50, "who has not sent HELLO has none");
	b->half_open = 0;

	ok(client_left(a) == 7, "what is left for a client is limited");
	ok(client_left(b) == 7 && client_left(c) == 7, "the others leave its reserve");
	a->account.lent = 2;
	free_regions = 0;
	ok(client_left(a) == 1 && !client_left(b), "which it may ask for if nothing is free");
	free_regions = 1;
	ok(!client_left(b), "and which nobody else gets");
	a->account.lent = 3;
	ok(client_left(b) == 1, "when it has it, others get the rest");
	free_regions = 10;
	a->account.lent = 0;
	free_regions = 0;
	limit = 2;
	ok(client_left(a) == 2, "a smaller pool has less to reserve");
	limit = 0;
	ok(!client_left(a), "a drained one nothing");
	limit = 60;
	free_regions = 10;

	client_put(a);
	ok(client_find("", at("10.0.1.5")) == a, "it stays as long as it has a session");
	client_put(a);
	client_put(b);
	client_put(c);
	ok(!client_find("", at("10.0.1.5")) && list_empty(&client_list), "and no longer");
	config.nr_rules = 0;
}

static void test_names(void)
{
	struct client *web, *other, *web_too;
	char name[ADDRESS_NAME_MAX];

	config.nr_rules = 3;
	strcpy(rules[0].name, "web1");
	rules[0].weight = 5;
	rules[2] = rules[1];
	address_parse_range("10.0.3.0/24", &rules[2].range);
	rules[2].weight = 9;
	web = client_get("web1", at("10.0.3.7"));
	other = client_get("", at("10.0.3.7"));
	ok(web != other && web->weight == 5 && other->weight == 9,
	   "a client with a key is another than the one at its address");
	web_too = client_get("web1", at("10.0.3.8"));
	ok(web_too == web && web->sessions == 2, "it is the same from every address");
	client_name(web, name);
	ok(!strcmp(name, "web1"), "its name");
	client_name(other, name);
	ok(!strcmp(name, "10.0.3.7"), "an address in place of a name");
	ok(client_get("db1", at("10.0.3.9"))->weight == 1, "rules of addresses are not for names");
	client_put(client_find("db1", at("10.0.3.9")));
	client_put(web);
	client_put(web);
	client_put(other);
	ok(list_empty(&client_list), "all gone");
	memset(rules, 0, sizeof(rules));
	config.nr_rules = 0;
}

static void test_connect(void)
{
	const struct sockaddr *from = at("10.0.0.1"), *other = at("10.0.0.2");
	struct client *client;
	unsigned int i;

	client = client_get("", from);
	for (i = 0; i < CLIENT_HALF_OPEN; i++) {
		ok(client_may_connect("", from, false), "a connection");
		client_half_open(client, 1);
	}
	ok(!client_may_connect("", from, false) && !client_may_connect("", from, true),
	   "too many without HELLO");
	ok(client_may_connect("", other, false), "another may connect");
	client_half_open(client, -1);
	ok(client_may_connect("", from, false), "one fewer");
	client_half_open(client, 1 - CLIENT_HALF_OPEN);
	ok(!client_nr_half_open(), "none is without HELLO");

	client_get("", from);
	client_get("", from);
	ok(!client_may_connect("", from, false), "as many sessions as it may have");
	ok(client_may_connect("", from, true), "but it may resume one");
	for (i = 0; i < 3; i++)
		client_get("", from);
	ok(!client_may_connect("", from, true), "not for ever");
	for (i = 0; i < 6; i++)
		client_put(client);

	now = 1000000;
	for (i = 0; i < 10000 && client_count_connect(from); i++)
		;
	ok(i == CLIENT_CONNECTS, "so many requests at once");
	ok(client_count_connect(other), "those of another are counted apart");
	now += 500;
	for (i = 0; i < 10000 && client_count_connect(from); i++)
		;
	ok(i == CLIENT_CONNECTS_SECOND / 2, "and so many in half a second");
	config.clients = 64;
	ok(client_half_open_max() == 64, "as many may be without HELLO as there may be sessions");
	config.clients = 2;
	ok(client_half_open_max() == CLIENT_HALF_OPEN_MIN, "but a few always");
}

int main(void)
{
	if (client_init(&config))
		return 1;
	/* Two addresses that share a bucket would fail the test by chance. */
	clients.seed = 1;
	test_rules();
	test_names();
	test_connect();
	return tap_done();
}
