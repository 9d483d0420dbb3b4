// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the configuration. An error message names the place, what is wrong and what
 * would be right. Checks the values only, not whether the machine has the resources.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config-file.h"
#include "config.h"
#include "key.h"
#include "meminfo.h"
#include "share.h"
#include "wire.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define CONFIG_EVICT_MS_MAX	600000
#define CONFIG_GRACE_MS_MAX	600000
#define CONFIG_CLIENTS_MAX	4096
#define CONFIG_AHEAD_MAX	64
#define CONFIG_RULES_MAX	4096
#define CONFIG_UNSET		UINT64_MAX

/* Parse a size such as "256M". Return false if it is invalid or overflows. */
static bool config_bytes(const char *value, uint64_t *bytes)
{
	unsigned int shift = 0;
	uint64_t n;
	char *end;

	if (!isdigit((unsigned char)*value))
		return false;
	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno)
		return false;
	switch (toupper((unsigned char)*end)) {
	case 'G':
		shift = 30;
		break;
	case 'M':
		shift = 20;
		break;
	case 'K':
		shift = 10;
		break;
	}
	if (shift)
		end++;
	if (*end || n > UINT64_MAX >> shift)
		return false;
	*bytes = n << shift;
	return true;
}

static int config_number(unsigned int *out, const struct config_at *at, const char *key,
			 const char *value, unsigned int min, unsigned int max)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || errno || n < min || n > max)
		return config_wrong(at, "%s: invalid value '%s' (range %u-%u)",
				    key, value, min, max);
	*out = n;
	return 0;
}

/* address, address:port, [IPv6], [IPv6]:port */
static bool config_address(const char *value, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
	struct sockaddr_in *in = (struct sockaddr_in *)out;
	unsigned long port = FARSWAP_PORT;
	const char *colon, *end;
	char host[64], *rest;

	memset(out, 0, sizeof(*out));
	end = *value == '[' ? strchr(value, ']') : strchrnul(value, ':');
	if (!end)
		return false;
	colon = *value == '[' ? end + 1 : end;
	value += *value == '[';
	if ((size_t)(end - value) >= sizeof(host))
		return false;
	memcpy(host, value, end - value);
	host[end - value] = '\0';

	if (*colon) {
		if (*colon != ':' || !isdigit((unsigned char)colon[1]))
			return false;
		port = strtoul(colon + 1, &rest, 10);
		/* The daemon has dropped the privilege for lower ports when it listens. */
		if (*rest || port < 1024 || port > 65535)
			return false;
	}
	if (*end == ']') {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	return inet_pton(AF_INET, host, &in->sin_addr) == 1;
}

static int config_listen(struct config *config, const struct config_at *at, const char *value)
{
	struct sockaddr_storage listen;

	if (!config_address(value, &listen))
		return config_wrong(at, "listen: invalid value '%s' (numeric address and port 1024-65535, as in 0.0.0.0:%u or [::]:%u)",
				    value, FARSWAP_PORT, FARSWAP_PORT);
	config->listen = listen;
	config->listen_is_set = true;
	return 0;
}

static int config_memory(struct config *config, const struct config_at *at, const char *value)
{
	if (!config_bytes(value, &config->memory))
		return config_wrong(at, "memory: invalid value '%s' (a size, as in 512M or 16G)", value);
	return 0;
}

static int config_headroom(struct config *config, const struct config_at *at, const char *value)
{
	if (!config_bytes(value, &config->headroom))
		return config_wrong(at, "headroom: invalid value '%s' (a size, as in 512M or 4G, or 0)",
				    value);
	return 0;
}

static int config_slab(struct config *config, const struct config_at *at, const char *value)
{
	uint64_t slab;

	if (!config_bytes(value, &slab) || slab & (slab - 1) ||
	    slab < FARSWAP_SLAB_BYTES_MIN || slab > FARSWAP_SLAB_BYTES_MAX)
		return config_wrong(at, "slab: invalid value '%s' (a power of two, 2M-1G, the same as slab_mb of the clients)",
				    value);
	config->slab = slab;
	return 0;
}

static int config_control(struct config *config, const struct config_at *at, const char *value)
{
	if (*value != '/' || strlen(value) >= sizeof(config->control))
		return config_wrong(at, "control: invalid value '%s' (an absolute path of at most %zu characters)",
				    value, sizeof(config->control) - 1);
	snprintf(config->control, sizeof(config->control), "%s", value);
	return 0;
}

static int config_evict_ms(struct config *config, const struct config_at *at, const char *value)
{
	return config_number(&config->evict_ms, at, "evict_ms", value, 1, CONFIG_EVICT_MS_MAX);
}

static int config_grace_ms(struct config *config, const struct config_at *at, const char *value)
{
	return config_number(&config->grace_ms, at, "grace_ms", value, 0, CONFIG_GRACE_MS_MAX);
}

static int config_clients(struct config *config, const struct config_at *at, const char *value)
{
	return config_number(&config->client.clients, at, "clients", value, 1, CONFIG_CLIENTS_MAX);
}

static int config_ahead(struct config *config, const struct config_at *at, const char *value)
{
	return config_number(&config->ahead, at, "ahead", value, 0, CONFIG_AHEAD_MAX);
}

static int config_hugepages(struct config *config, const struct config_at *at, const char *value)
{
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return config_wrong(at, "hugepages: invalid value '%s' (yes or no)", value);
	config->hugepages = *value == 'y';
	return 0;
}

static int config_user(struct config *config, const struct config_at *at, const char *value)
{
	if (strlen(value) >= sizeof(config->user))
		return config_wrong(at, "user: invalid value '%s' (a name of at most %zu characters, or a number)",
				    value, sizeof(config->user) - 1);
	snprintf(config->user, sizeof(config->user), "%s", value);
	return 0;
}

static int config_queues(struct config *config, const struct config_at *at, const char *value)
{
	return config_number(&config->queues, at, "queues", value, 1, FARSWAP_QUEUES_MAX);
}

static int config_client_sessions(struct config *config, const struct config_at *at,
				  const char *value)
{
	return config_number(&config->client.sessions, at, "client_sessions", value, 1,
			     CONFIG_CLIENTS_MAX);
}

static int config_client_min(struct config *config, const struct config_at *at, const char *value)
{
	if (!config_bytes(value, &config->client.usual.min))
		return config_wrong(at, "client_min: invalid value '%s' (a size, as in 512M, or 0)",
				    value);
	return 0;
}

static int config_client_max(struct config *config, const struct config_at *at, const char *value)
{
	if (!config_bytes(value, &config->client.usual.max))
		return config_wrong(at, "client_max: invalid value '%s' (a size, as in 4G)", value);
	return 0;
}

static int config_admit(struct config *config, const struct config_at *at, const char *value)
{
	if (strcmp(value, "any") && strcmp(value, "listed"))
		return config_wrong(at, "admit: invalid value '%s' (any or listed)", value);
	config->client.listed_only = *value == 'l';
	return 0;
}

/* A line "client = ..." while it is read. */
struct config_client_line {
	struct client_rule rule;
	const char *who;
	struct auth_client *keys;
	bool has_from;
};

static int config_client_key(struct config_client_line *line, const struct config_at *at,
			     const char *value)
{
	char error[CONFIG_ERROR_MAX / 2];
	struct auth_client *key;

	if (!auth_name_is_valid(line->who))
		return config_wrong(at, "client: invalid name '%s' (with key= at most %d letters, digits, and . _ -; addresses are given by from=)",
				    line->who, AUTH_NAME_MAX - 1);
	if (line->keys && line->keys->next)
		return config_wrong(at, "client: '%s' has more than two keys", line->who);
	key = auth_parse(line->who, value, error, sizeof(error));
	if (!key)
		return config_wrong(at, "client: %s", error);
	key->next = line->keys;
	line->keys = key;
	return 0;
}

/* Parse one of the words after a client's name or address. */
static int config_client_word(struct config_client_line *line, const struct config_at *at,
			      char *word)
{
	struct client_rule *rule = &line->rule;
	char *value = strchr(word, '=');

	if (value)
		*value++ = '\0';
	if (value && !strcmp(word, "weight"))
		return config_number(&rule->weight, at, "client: weight", value, 1,
				     SHARE_WEIGHT_MAX);
	if (value && !strcmp(word, "key"))
		return config_client_key(line, at, value);
	if (value && !strcmp(word, "from")) {
		line->has_from = true;
		if (address_parse_range(value, &rule->range))
			return 0;
		return config_wrong(at, "client: from: invalid address '%s' (numeric, or a range, as in 10.0.0.0/24)",
				    value);
	}
	if (!value || (strcmp(word, "min") && strcmp(word, "max")))
		return config_wrong(at, "client: unknown word '%s' (words: key=KEY, from=ADDRESS, weight=N, min=SIZE, max=SIZE)",
				    word);
	if (!config_bytes(value, strcmp(word, "min") ? &rule->max : &rule->min))
		return config_wrong(at, "client: %s: invalid value '%s' (a size, as in 512M)", word,
				    value);
	return 0;
}

static void config_free_keys(struct auth_client *keys)
{
	struct auth_client *key;

	while (keys) {
		key = keys;
		keys = key->next;
		free(key);
	}
}

/* Is this line the only one with its name, or with one of its keys? */
static int config_client_is_new(const struct config *config, const struct config_at *at,
				const struct config_client_line *line)
{
	const struct auth_client *key, *other;

	for (key = line->keys; key; key = key->next)
		for (other = config->allow; other; other = other->next)
			if (!strcmp(key->name, other->name) ||
			    !memcmp(key->public, other->public, sizeof(key->public)))
				return config_wrong(at, "client: '%s' has the name or the key of another line, '%s'",
						    key->name, other->name);
	return 0;
}

/* Read the first word, and check it against the others. */
static int config_client_who(struct config_client_line *line, const struct config_at *at)
{
	struct auth_client *key;

	if (line->keys) {
		snprintf(line->rule.name, sizeof(line->rule.name), "%s", line->who);
		for (key = line->keys; key; key = key->next) {
			key->has_from = line->has_from;
			key->from = line->rule.range;
		}
		return 0;
	}
	if (line->has_from)
		return config_wrong(at, "client: from= without key=; give the address in place of the name '%s'",
				    line->who);
	if (!address_parse_range(line->who, &line->rule.range))
		return config_wrong(at, "client: invalid address '%s' (numeric, or a range, as in 10.0.0.0/24; or a name with key=KEY)",
				    line->who);
	return 0;
}

static int config_client_add(struct config *config, const struct config_client_line *line)
{
	struct auth_client **end = &config->allow;
	struct client_rule *rules;

	rules = realloc(config->client.rules, (config->client.nr_rules + 1) * sizeof(*rules));
	if (!rules)
		return -ENOMEM;
	rules[config->client.nr_rules++] = line->rule;
	config->client.rules = rules;
	while (*end)
		end = &(*end)->next;
	*end = line->keys;
	return 0;
}

/* NAME key=KEY [from=ADDRESS[/BITS]] or ADDRESS[/BITS], then [weight=N] [min=SIZE] [max=SIZE] */
static int config_client(struct config *config, const struct config_at *at, const char *value)
{
	struct config_client_line line = {
		.rule = { .weight = 1, .min = CONFIG_UNSET, .max = CONFIG_UNSET },
	};
	char *words, *word, *rest;
	int err = 0;

	if (config->client.nr_rules == CONFIG_RULES_MAX)
		return config_wrong(at, "client: more than %u lines; use ranges, as in 10.0.0.0/24",
				    CONFIG_RULES_MAX);
	words = strdup(value);
	if (!words)
		return -ENOMEM;
	/* A value is not empty. */
	line.who = strtok_r(words, " \t", &rest);
	while (!err && (word = strtok_r(NULL, " \t", &rest)))
		err = config_client_word(&line, at, word);
	if (!err)
		err = config_client_who(&line, at);
	if (!err)
		err = config_client_is_new(config, at, &line);
	if (!err)
		err = config_client_add(config, &line);
	free(words);
	if (err)
		config_free_keys(line.keys);
	return err;
}

static int config_resume_from(struct config *config, const struct config_at *at,
			      const char *value)
{
	if (strcmp(value, "same") && strcmp(value, "any"))
		return config_wrong(at, "resume_from: invalid value '%s' (same or any)", value);
	config->resume_anywhere = *value == 'a';
	return 0;
}

static int config_auth(struct config *config, const struct config_at *at, const char *value)
{
	if (strcmp(value, "none") && strcmp(value, "required"))
		return config_wrong(at, "auth: invalid value '%s' (none or required)", value);
	config->auth = *value == 'r' ? CONFIG_AUTH_REQUIRED : CONFIG_AUTH_NONE;
	return 0;
}

static int config_key_file(struct config *config, const struct config_at *at, const char *value)
{
	if (*value != '/' || strlen(value) >= sizeof(config->key_file))
		return config_wrong(at, "key_file: invalid value '%s' (an absolute path of at most %zu characters)",
				    value, sizeof(config->key_file) - 1);
	snprintf(config->key_file, sizeof(config->key_file), "%s", value);
	return 0;
}

static const struct {
	const char *key;
	int (*set)(struct config *config, const struct config_at *at, const char *value);
} config_keys[] = {
	{ "listen", config_listen },
	{ "memory", config_memory },
	{ "headroom", config_headroom },
	{ "slab", config_slab },
	{ "control", config_control },
	{ "evict_ms", config_evict_ms },
	{ "grace_ms", config_grace_ms },
	{ "clients", config_clients },
	{ "ahead", config_ahead },
	{ "hugepages", config_hugepages },
	{ "resume_from", config_resume_from },
	{ "queues", config_queues },
	{ "user", config_user },
	{ "client_sessions", config_client_sessions },
	{ "client_min", config_client_min },
	{ "client_max", config_client_max },
	{ "client", config_client },
	{ "admit", config_admit },
	{ "auth", config_auth },
	{ "key_file", config_key_file },
};

static int config_set(void *data, const struct config_at *at, const char *key, const char *value)
{
	struct config *config = data;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(config_keys); i++)
		if (!strcmp(config_keys[i].key, key))
			return config_keys[i].set(config, at, value);
	return config_wrong(at, "unknown key '%s' (keys: listen, memory, headroom, slab, control, evict_ms, grace_ms, clients, ahead, hugepages, resume_from, queues, user, client_sessions, client_min, client_max, client, admit, auth, key_file)",
			    key);
}

void config_init(struct config *config)
{
	memset(config, 0, sizeof(*config));
	config_address("0.0.0.0", &config->listen);
	config->memory = 1ULL << 30;
	config->headroom = meminfo_now().total / 8;
	config->slab = 64ULL << 20;
	strcpy(config->control, ADMIN_PATH);
	strcpy(config->key_file, KEY_FILE);
	config->evict_ms = 5000;
	config->grace_ms = 60000;
	config->client.clients = 64;
	config->client.sessions = 8;
	config->client.usual.weight = 1;
	config->client.usual.max = UINT64_MAX;
	config->queues = FARSWAP_QUEUES_MAX;
	config->ahead = 2;
	config->hugepages = true;
}

int config_read(struct config *config, const char *path, char error[CONFIG_ERROR_MAX])
{
	return config_file_read(path, config_set, config, error);
}

int config_read_drop_ins(struct config *config, const char *path, char error[CONFIG_ERROR_MAX])
{
	return config_file_read_drop_ins(path, config_set, config, error);
}

int config_option(struct config *config, const char *option, char error[CONFIG_ERROR_MAX])
{
	struct config_at at = { .where = "-o", .error = error };
	char *line = strdup(option);
	int err;

	if (!line)
		return -ENOMEM;
	if (strpbrk(line, "#\n") || !line[strspn(line, " \t\r")])
		err = config_wrong(&at, "'%s' is not KEY=VALUE", option);
	else
		err = config_file_line(&at, line, config_set, config);
	free(line);
	return err;
}

static int config_check_client(const struct config *config, const struct config_at *at,
			       const struct client_rule *rule)
{
	if (rule->max < config->slab)
		return config_wrong(at, "client_max: invalid value %" PRIu64 " (at least one slab, %" PRIu64 " bytes)",
				    rule->max, config->slab);
	if (rule->min > rule->max || rule->min > config->memory)
		return config_wrong(at, "client_min: invalid value %" PRIu64 " (at most client_max and memory, %" PRIu64 " bytes)",
				    rule->min,
				    rule->max < config->memory ? rule->max : config->memory);
	return 0;
}

/* Fill in the defaults of the clients' rules, and check them. */
static int config_check_clients(struct config *config, const struct config_at *at)
{
	int err = config_check_client(config, at, &config->client.usual);
	unsigned int i;

	for (i = 0; i < config->client.nr_rules && !err; i++) {
		struct client_rule *rule = &config->client.rules[i];

		if (rule->min == CONFIG_UNSET)
			rule->min = config->client.usual.min < rule->max ?
				config->client.usual.min : rule->max;
		if (rule->max == CONFIG_UNSET)
			rule->max = config->client.usual.max > rule->min ?
				config->client.usual.max : rule->min;
		err = config_check_client(config, at, rule);
	}
	if (!err && config->client.listed_only && !config->client.nr_rules)
		err = config_wrong(at, "admit: with listed there must be a client line, as in client = 10.0.0.0/24");
	return err;
}

int config_check(struct config *config, char error[CONFIG_ERROR_MAX])
{
	struct config_at at = { .where = "configuration", .error = error };

	if (config->memory < config->slab)
		return config_wrong(&at, "memory: invalid value %" PRIu64 " (at least one slab, %" PRIu64 " bytes; a smaller slab must match slab_mb of the clients)",
				    config->memory, config->slab);
	if (config->auth == CONFIG_AUTH_NONE && config->allow)
		return config_wrong(&at, "auth is none, but client '%s' has a key: set auth = required, or remove key=",
				    config->allow->name);
	if (config->allow)
		config->auth = CONFIG_AUTH_REQUIRED;
	config->memory -= config->memory % config->slab;
	return config_check_clients(config, &at);
}
