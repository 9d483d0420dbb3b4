// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the list of donors what the files in /etc/farswap/donors.d say: addresses, names, SRV
 * records, and what Avahi knows. An error never removes a donor.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "config-file.h"
#include "donors.h"
#include "resolve.h"

#define SYNC_CONF	"/etc/farswap/donors"
#define SYNC_CLIENT	"/etc/farswap/farswap.conf"
#define SYNC_STATE	"/run/farswap/donors"
/* A donor that so many answers in a row lack is removed. */
#define SYNC_ABSENT	3
#define SYNC_SOURCES	64
#define SYNC_TARGETS	4096

enum sync_kind { SYNC_DONOR, SYNC_SRV, SYNC_AVAHI };

static const char *const sync_names[] = {
	[SYNC_DONOR] = "donor",
	[SYNC_SRV] = "srv",
	[SYNC_AVAHI] = "avahi",
};

struct sync_source {
	enum sync_kind kind;
	char name[NI_MAXHOST];		/* with ":PORT" if it was given */
	bool failed;
	char error[RESOLVE_ERROR];
};

/* An earlier answer of a source: one line of the state file. */
struct sync_memory {
	char source[NI_MAXHOST + 8];
	struct target target;
	unsigned int absent;		/* answers without it since */
};

static struct sync {
	struct sync_source source[SYNC_SOURCES];
	unsigned int sources;
	struct targets fixed;		/* of addresses */
	struct targets exclude;
	struct targets wanted;
	unsigned int most;
	struct sync_memory *memory;
	unsigned int memories;
	struct sync_memory *next;	/* the state to write */
	unsigned int nexts;
	bool unknown;			/* a source failed, and no answer of it is known */
} sync_now;

void targets_add(struct targets *targets, const struct target *target)
{
	struct target *bigger;

	if (targets_find(targets, target->address))
		return;
	if (targets->nr == SYNC_TARGETS)
		ctl_fail(CTL_PROBLEM, "more than %d donors are named", SYNC_TARGETS);
	if (!(targets->nr & (targets->nr - 1))) {
		bigger = reallocarray(targets->of, targets->nr ? 2 * targets->nr : 1,
				      sizeof(*targets->of));
		if (!bigger)
			ctl_fail(CTL_UNKNOWN, "out of memory");
		targets->of = bigger;
	}
	targets->of[targets->nr++] = *target;
}

const struct target *targets_find(const struct targets *targets, const char *address)
{
	unsigned int i;

	for (i = 0; i < targets->nr; i++)
		if (!strcmp(targets->of[i].address, address))
			return &targets->of[i];
	return NULL;
}

void targets_free(struct targets *targets)
{
	free(targets->of);
	*targets = (struct targets){ 0 };
}

void resolve_spell(char address[RESOLVE_ADDRESS], const char *host, unsigned int port)
{
	unsigned char buf[sizeof(struct in6_addr)];
	char number[INET6_ADDRSTRLEN], spelled[RESOLVE_HOST];
	size_t scope = strcspn(host, "%");

	snprintf(number, sizeof(number), "%.*s", (int)scope, host);
	snprintf(spelled, sizeof(spelled), "%s", host);
	if (inet_pton(AF_INET6, number, buf) == 1 && inet_ntop(AF_INET6, buf, number, sizeof(number)))
		snprintf(spelled, sizeof(spelled), "%s%s", number, host + scope);
	if (!port || port == RESOLVE_PORT)
		snprintf(address, RESOLVE_ADDRESS, "%s", spelled);
	else
		snprintf(address, RESOLVE_ADDRESS, strchr(spelled, ':') ? "[%s]:%u" : "%s:%u", spelled,
			 port);
}

/* Split and check "HOST[:PORT]". Return false if the port is none. */
static bool sync_split(const char *spec, char host[NI_MAXHOST], unsigned int *port)
{
	char copy[NI_MAXHOST + 8], *name, *digits, *end = NULL;
	unsigned long n = RESOLVE_PORT;

	snprintf(copy, sizeof(copy), "%.*s", donors_length(spec), spec);
	digits = donors_split(copy, &name);
	if (digits)
		n = strtoul(digits, &end, 10);
	snprintf(host, NI_MAXHOST, "%s", name);
	*port = (unsigned int)n;
	return !digits || (*digits >= '0' && *digits <= '9' && !*end && n && n <= 65535);
}

/* Spell an address as others are; return false if it is a name. */
static bool sync_address(const char *spec, char address[RESOLVE_ADDRESS])
{
	char host[NI_MAXHOST];
	unsigned int port;

	if (!sync_split(spec, host, &port) || donors_is_name(host))
		return false;
	resolve_spell(address, host, port);
	return true;
}

static int sync_set_most(const struct config_at *at, const char *value)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || !n || n > DONORS_MAX)
		return config_wrong(at, "most: invalid value '%s' (range 1-%d)", value, DONORS_MAX);
	sync_now.most = n;
	return 0;
}

static int sync_set(void *data, const struct config_at *at, const char *key, const char *value)
{
	struct sync_source *source = &sync_now.source[sync_now.sources];
	struct target target = { .weight = 1 };
	char host[NI_MAXHOST];
	unsigned int port, i;

	(void)data;
	if (!strcmp(key, "most"))
		return sync_set_most(at, value);
	if (strlen(value) >= sizeof(source->name) || strpbrk(value, " \t,"))
		return config_wrong(at, "%s: invalid value '%.100s' (one name or address a line)", key,
				    value);
	if (!strcmp(key, "exclude")) {
		if (!sync_address(value, target.address))
			return config_wrong(at, "exclude: invalid value '%s' (an address, such as 10.0.0.2)",
					    value);
		targets_add(&sync_now.exclude, &target);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(sync_names); i++)
		if (!strcmp(key, sync_names[i]))
			break;
	if (i == ARRAY_SIZE(sync_names))
		return config_wrong(at, "unknown key '%s' (donor, srv, avahi, exclude or most)", key);
	if (i == SYNC_DONOR && !sync_split(value, host, &port))
		return config_wrong(at, "donor: invalid value '%s' (an address or a name, and perhaps a port, such as donor1:9400)",
				    value);
	if (i != SYNC_DONOR && value[0] != '_')
		return config_wrong(at, "%s: invalid value '%s' (a service, such as %s)", key, value,
				    i == SYNC_SRV ? "_farswap._tcp.example.org" : "_farswap._tcp");
	if (i == SYNC_DONOR && sync_address(value, target.address)) {
		snprintf(target.key, sizeof(target.key), "%s", value + donors_length(value));
		targets_add(&sync_now.fixed, &target);
		return 0;
	}
	if (strchr(value, '#'))
		return config_wrong(at, "%s: invalid value '%s' (only an address can have a key)", key,
				    value);
	if (sync_now.sources == SYNC_SOURCES)
		return config_wrong(at, "more than %d names", SYNC_SOURCES);
	source->kind = i;
	snprintf(source->name, sizeof(source->name), "%s", value);
	sync_now.sources++;
	return 0;
}

/* Two lists would undo each other's changes. */
static int sync_other_list(void *data, const struct config_at *at, const char *key,
			   const char *value)
{
	(void)data;
	(void)value;
	if (strcmp(key, "donors") != 0)
		return 0;
	return config_wrong(at, "donors: is set here and in " SYNC_CONF ".d: move the addresses there, as lines of donor = ADDRESS");
}

/* Return 0 or -errno. */
static int sync_read(char error[CONFIG_ERROR_MAX])
{
	char path[512];

	snprintf(error, CONFIG_ERROR_MAX, "out of memory");
	sync_now.most = DONORS_MAX;
	file_path(path, sizeof(path), SYNC_CONF);
	return config_file_read_drop_ins(path, sync_set, NULL, error);
}

static void sync_configure(void)
{
	char path[512], error[CONFIG_ERROR_MAX];
	int err = sync_read(error);

	if (!err && !sync_now.sources && !sync_now.fixed.nr)
		ctl_fail(CTL_UNKNOWN, "no donor is named in " SYNC_CONF ".d; add a file such as "
			 SYNC_CONF ".d/rack.conf with a line such as donor = 10.0.0.2");
	file_path(path, sizeof(path), SYNC_CLIENT);
	if (!err && !access(path, F_OK))
		err = config_file_read(path, sync_other_list, NULL, error);
	if (!err)
		err = config_file_read_drop_ins(path, sync_other_list, NULL, error);
	if (err)
		ctl_fail(CTL_UNKNOWN, "%s", error);
}

static void sync_key(const struct sync_source *source, char key[NI_MAXHOST + 8])
{
	snprintf(key, NI_MAXHOST + 8, "%s=%s", sync_names[source->kind], source->name);
}

static void sync_remember(const char *key, const struct target *target, unsigned int absent)
{
	struct sync_memory *bigger;

	bigger = reallocarray(sync_now.next, sync_now.nexts + 1, sizeof(*bigger));
	if (!bigger)
		ctl_fail(CTL_UNKNOWN, "out of memory");
	sync_now.next = bigger;
	bigger += sync_now.nexts++;
	snprintf(bigger->source, sizeof(bigger->source), "%s", key);
	bigger->target = *target;
	bigger->absent = absent;
}

/* Take the last answers from the state. A line that is none is left out. */
static void sync_recall(void)
{
	char *text = file_read(SYNC_STATE), *cursor = text, *line, *source, *address, *end, *save;
	struct target target = { 0 };

	while (text && (line = file_next(&cursor))) {
		source = strtok_r(line, " ", &save);
		address = source ? strtok_r(NULL, " ", &save) : NULL;
		if (!address)
			continue;
		snprintf(target.address, sizeof(target.address), "%s", address);
		target.tier = strtoul(save, &end, 10);
		target.weight = strtoul(end, &end, 10);
		sync_remember(source, &target, strtoul(end, NULL, 10));
	}
	free(text);
	sync_now.memory = sync_now.next;
	sync_now.memories = sync_now.nexts;
	sync_now.next = NULL;
	sync_now.nexts = 0;
}

static void sync_save(void)
{
	char path[512], new[520];
	unsigned int i;
	FILE *file;

	file_path(path, sizeof(path), "/run/farswap");
	(void)mkdir(path, 0755);
	file_path(path, sizeof(path), SYNC_STATE);
	snprintf(new, sizeof(new), "%s.new", path);
	file = fopen(new, "we");
	if (!file)
		ctl_fail(CTL_UNKNOWN, "%s: %s; are you root?", new, strerror(errno));
	for (i = 0; i < sync_now.nexts; i++)
		fprintf(file, "%s %s %u %u %u\n", sync_now.next[i].source,
			sync_now.next[i].target.address, sync_now.next[i].target.tier,
			sync_now.next[i].target.weight, sync_now.next[i].absent);
	if (ferror(file) | fclose(file) || rename(new, path))
		ctl_fail(CTL_UNKNOWN, "%s: cannot be written: %s", path, strerror(errno));
}

static bool sync_resolve(const struct sync_source *source, struct targets *found, char *error)
{
	char host[NI_MAXHOST];
	unsigned int port;

	switch (source->kind) {
	case SYNC_SRV:
		return resolve_srv(source->name, found, error);
	case SYNC_AVAHI:
		return resolve_avahi(source->name, found, error);
	default:
		(void)sync_split(source->name, host, &port);
		return resolve_host(host, port, found, error);
	}
}

/* Add what a source names now, and what it named in one of its last answers. */
static void sync_ask(struct sync_source *source)
{
	char key[NI_MAXHOST + 8];
	struct targets found = { 0 };
	bool known = false;
	unsigned int i;

	sync_key(source, key);
	source->failed = !sync_resolve(source, &found, source->error);
	for (i = 0; !source->failed && i < found.nr; i++) {
		targets_add(&sync_now.wanted, &found.of[i]);
		sync_remember(key, &found.of[i], 0);
	}
	for (i = 0; i < sync_now.memories; i++) {
		struct sync_memory *memory = &sync_now.memory[i];

		if (strcmp(memory->source, key) != 0)
			continue;
		known = true;
		if (!source->failed) {
			if (targets_find(&found, memory->target.address) ||
			    ++memory->absent >= SYNC_ABSENT)
				continue;
		}
		targets_add(&sync_now.wanted, &memory->target);
		sync_remember(key, &memory->target, memory->absent);
	}
	sync_now.unknown |= source->failed && !known;
	targets_free(&found);
}

/* An address of this machine, with any port. */
static bool sync_is_own(const struct ifaddrs *interfaces, const char *address)
{
	char host[NI_MAXHOST], own[NI_MAXHOST];
	const struct ifaddrs *at;
	unsigned int port;
	socklen_t len;

	(void)sync_split(address, host, &port);
	for (at = interfaces; at; at = at->ifa_next) {
		if (!at->ifa_addr || (at->ifa_addr->sa_family != AF_INET &&
				      at->ifa_addr->sa_family != AF_INET6))
			continue;
		len = at->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
			sizeof(struct sockaddr_in6);
		if (!getnameinfo(at->ifa_addr, len, own, sizeof(own), NULL, 0, NI_NUMERICHOST) &&
		    !strcmp(own, host))
			return true;
	}
	return false;
}

/* Remove this machine's own addresses, and those that are excluded. */
static void sync_exclude(void)
{
	struct ifaddrs *interfaces = NULL;
	struct targets *wanted = &sync_now.wanted;
	unsigned int i, nr = 0;

	(void)getifaddrs(&interfaces);
	for (i = 0; i < wanted->nr; i++)
		if (!targets_find(&sync_now.exclude, wanted->of[i].address) &&
		    !sync_is_own(interfaces, wanted->of[i].address))
			wanted->of[nr++] = wanted->of[i];
	wanted->nr = nr;
	freeifaddrs(interfaces);
}

/* FNV-1a, and the end of splitmix64, which spreads the differences over all bits. */
static uint64_t sync_hash(const char *machine, const char *address)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *machine; machine++)
		hash = (hash ^ (unsigned char)*machine) * 0x100000001b3ULL;
	hash *= 0x100000001b3ULL;
	for (; *address; address++)
		hash = (hash ^ (unsigned char)*address) * 0x100000001b3ULL;
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ULL;
	hash = (hash ^ hash >> 27) * 0x94d049bb133111ebULL;
	return hash ^ hash >> 31;
}

static char sync_machine[64];

/* A lower score is chosen first. Twice the weight halves it, so that it is chosen twice as often. */
static double sync_score(const struct target *target)
{
	uint64_t hash = sync_hash(sync_machine, target->address);

	return -log(((double)(hash >> 11) + 0.5) / (double)(1ULL << 53)) / target->weight;
}

static int sync_by_score(const void *a, const void *b)
{
	const struct target *one = a, *other = b;
	double left, right;

	if (one->tier != other->tier)
		return one->tier < other->tier ? -1 : 1;
	left = sync_score(one);
	right = sync_score(other);
	return (left > right) - (left < right);
}

/*
 * Rendezvous hashing: each machine has an order of its own, so that machines do not choose the same
 * donors, and one that comes or goes changes the choice of one donor at most.
 */
static unsigned int sync_choose(void)
{
	struct targets *wanted = &sync_now.wanted;
	unsigned int left = 0;

	if (wanted->nr <= sync_now.most)
		return 0;
	if (!file_line("/etc/machine-id", sync_machine, sizeof(sync_machine)))
		ctl_fail(CTL_UNKNOWN, "/etc/machine-id: %s; run: systemd-machine-id-setup",
			 strerror(errno));
	qsort(wanted->of, wanted->nr, sizeof(*wanted->of), sync_by_score);
	left = wanted->nr - sync_now.most;
	wanted->nr = sync_now.most;
	return left;
}

static int sync_by_address(const void *a, const void *b)
{
	const struct target *one = a, *other = b;

	return strverscmp(one->address, other->address);
}

/* Return a donor for the list, with its key. It is freed when the program ends. */
static char *sync_with_key(const struct target *target)
{
	char *text;

	if (asprintf(&text, "%s%s", target->address, target->key) < 0)
		ctl_fail(CTL_UNKNOWN, "out of memory");
	return text;
}

/*
 * Keep the donors that stay, as they are spelled: a session with one of another spelling would end.
 * Return true if one has another key.
 */
static bool sync_merge(const struct donors *now, struct donors *next, struct targets *removed,
		       struct targets *added)
{
	struct targets seen = { 0 };
	struct target target = { .weight = 1 };
	const struct target *wanted;
	bool other_key = false;
	unsigned int i;

	for (i = 0; i < now->nr; i++) {
		if (!sync_address(now->address[i], target.address))
			snprintf(target.address, sizeof(target.address), "%s", now->address[i]);
		wanted = targets_find(&sync_now.wanted, target.address);
		if (wanted && *wanted->key &&
		    strcmp(wanted->key, now->address[i] + donors_length(now->address[i])) != 0) {
			next->address[next->nr++] = sync_with_key(wanted);
			other_key = true;
		} else if (wanted || sync_now.unknown) {
			next->address[next->nr++] = now->address[i];
		} else {
			targets_add(removed, &target);
		}
		targets_add(&seen, &target);
	}
	qsort(sync_now.wanted.of, sync_now.wanted.nr, sizeof(*sync_now.wanted.of), sync_by_address);
	for (i = 0; i < sync_now.wanted.nr && next->nr < DONORS_MAX; i++) {
		if (targets_find(&seen, sync_now.wanted.of[i].address))
			continue;
		next->address[next->nr++] = sync_with_key(&sync_now.wanted.of[i]);
		targets_add(added, &sync_now.wanted.of[i]);
	}
	targets_free(&seen);
	return other_key;
}

static void sync_show_list(struct json *json, const char *key, const char *sign,
			   const struct targets *targets)
{
	unsigned int i;

	if (ctl.json)
		json_array(json, key);
	for (i = 0; i < targets->nr; i++) {
		if (ctl.json)
			json_string(json, NULL, targets->of[i].address);
		else
			printf("%s %s\n", sign, targets->of[i].address);
	}
	if (ctl.json)
		json_end(json);
}

static void sync_show(unsigned int nr, unsigned int left_out, const struct targets *added,
		      const struct targets *removed)
{
	struct json json;
	unsigned int i;

	json_init(&json, stdout);
	if (ctl.json) {
		json_object(&json, NULL);
		json_number(&json, "donors", nr);
	}
	sync_show_list(&json, "added", "+", added);
	sync_show_list(&json, "removed", "-", removed);
	if (ctl.json) {
		json_number(&json, "left_out", left_out);
		json_array(&json, "failed");
	}
	for (i = 0; i < sync_now.sources; i++) {
		const struct sync_source *source = &sync_now.source[i];

		if (!source->failed)
			continue;
		fprintf(stderr, "farswapctl: %s = %s: %s; its donors stay as they are; check the name in " SYNC_CONF ".d, and the name server\n",
			sync_names[source->kind], source->name, source->error);
		if (!ctl.json)
			continue;
		json_object(&json, NULL);
		json_string(&json, "source", source->name);
		json_string(&json, "error", source->error);
		json_end(&json);
	}
	if (ctl.json) {
		json_end(&json);
		json_end(&json);
	} else {
		printf("%u donors, %u added, %u removed, %u left out (most = %u)\n", nr, added->nr,
		       removed->nr, left_out, sync_now.most);
	}
}

static int sync_any(void *data, const struct config_at *at, const char *key, const char *value)
{
	(void)at;
	(void)key;
	(void)value;
	*(bool *)data = true;
	return 0;
}

bool donors_has_files(void)
{
	char path[512], error[CONFIG_ERROR_MAX];
	bool any = false;

	file_path(path, sizeof(path), SYNC_CONF);
	(void)config_file_read_drop_ins(path, sync_any, &any, error);
	return any;
}

void donors_check(void (*fail)(const char *source, const char *error))
{
	char error[CONFIG_ERROR_MAX], key[NI_MAXHOST + 8];
	struct targets found = { 0 };
	unsigned int i;

	if (sync_read(error))
		fail(NULL, error);
	for (i = 0; i < sync_now.sources; i++) {
		sync_key(&sync_now.source[i], key);
		if (!sync_resolve(&sync_now.source[i], &found, sync_now.source[i].error))
			fail(key, sync_now.source[i].error);
	}
	targets_free(&found);
	targets_free(&sync_now.fixed);
	targets_free(&sync_now.exclude);
	sync_now.sources = 0;
}

int donors_sync(void)
{
	struct targets added = { 0 }, removed = { 0 };
	static struct donors now, next;
	unsigned int i, left_out;
	bool failed = false, other_key;

	sync_configure();
	donors_read(&now);
	sync_recall();
	for (i = 0; i < sync_now.fixed.nr; i++)
		targets_add(&sync_now.wanted, &sync_now.fixed.of[i]);
	for (i = 0; i < sync_now.sources; i++) {
		sync_ask(&sync_now.source[i]);
		failed |= sync_now.source[i].failed;
	}
	sync_exclude();
	left_out = sync_choose();
	other_key = sync_merge(&now, &next, &removed, &added);
	if (added.nr || removed.nr || other_key)
		donors_write(&next);
	sync_save();
	sync_show(next.nr, left_out, &added, &removed);
	targets_free(&added);
	targets_free(&removed);
	targets_free(&sync_now.fixed);
	targets_free(&sync_now.exclude);
	targets_free(&sync_now.wanted);
	free(sync_now.memory);
	free(sync_now.next);
	return failed ? CTL_PROBLEM : CTL_OK;
}
