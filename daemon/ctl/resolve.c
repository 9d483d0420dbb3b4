// SPDX-License-Identifier: GPL-2.0
/*
 * Resolves names of donors by glibc and by Avahi's command.
 */
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resolve.h"

#define RESOLVE_ANSWER	65535
/* Most lines of avahi-browse that are used. */
#define RESOLVE_AVAHI	2048

/* Return getaddrinfo()'s error, or 0 with an address at least. */
static int resolve_family(const char *host, int family, unsigned int port,
			  const struct target *like, struct targets *targets)
{
	const struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	struct target target = *like;
	struct addrinfo *found, *at;
	char number[RESOLVE_HOST];
	int err;

	err = getaddrinfo(host, NULL, &hints, &found);
	if (err)
		return err;
	for (at = found; at && !err; at = at->ai_next) {
		err = getnameinfo(at->ai_addr, at->ai_addrlen, number, sizeof(number), NULL, 0,
				  NI_NUMERICHOST);
		if (err)
			break;
		resolve_spell(target.address, number, port);
		targets_add(targets, &target);
	}
	freeaddrinfo(found);
	return err;
}

/* A machine has one address of a family at least; both families would name it twice. */
static int resolve_like(const char *host, unsigned int port, const struct target *like,
			struct targets *targets)
{
	int err = resolve_family(host, AF_INET, port, like, targets);

	if (err == EAI_NONAME || err == EAI_NODATA || err == EAI_ADDRFAMILY)
		err = resolve_family(host, AF_INET6, port, like, targets);
	return err;
}

bool resolve_host(const char *host, unsigned int port, struct targets *targets,
		  char error[RESOLVE_ERROR])
{
	const struct target like = { .weight = 1 };
	int err = resolve_like(host, port, &like, targets);

	if (err)
		snprintf(error, RESOLVE_ERROR, "%s", gai_strerror(err));
	return !err;
}

/* A target without an address is as good as absent, but an error of the server is not an answer. */
static bool resolve_record(ns_msg *message, int nr, struct targets *targets,
			   char error[RESOLVE_ERROR])
{
	struct target like = { .tier = 1 };
	char host[NS_MAXDNAME];
	const unsigned char *data;
	ns_rr record;
	int err;

	if (ns_parserr(message, ns_s_an, nr, &record))
		return true;
	data = ns_rr_rdata(record);
	if (ns_rr_type(record) != ns_t_srv || ns_rr_rdlen(record) < 7 ||
	    ns_name_uncompress(ns_msg_base(*message), ns_msg_end(*message), data + 6, host,
			       sizeof(host)) < 0)
		return true;
	like.tier += ns_get16(data);
	like.weight = ns_get16(data + 2) ? : 1;
	err = resolve_like(host, ns_get16(data + 4), &like, targets);
	if (!err || err == EAI_NONAME || err == EAI_NODATA || err == EAI_ADDRFAMILY)
		return true;
	snprintf(error, RESOLVE_ERROR, "%.128s: %s", host, gai_strerror(err));
	return false;
}

bool resolve_srv(const char *name, struct targets *targets, char error[RESOLVE_ERROR])
{
	struct __res_state state = { 0 };
	unsigned char *answer = malloc(RESOLVE_ANSWER);
	unsigned int before = targets->nr;
	bool good = false;
	ns_msg message;
	int len = -1, i;

	if (answer && !res_ninit(&state)) {
		len = res_nsearch(&state, name, ns_c_in, ns_t_srv, answer, RESOLVE_ANSWER);
		snprintf(error, RESOLVE_ERROR, "%s", hstrerror(state.res_h_errno));
		res_nclose(&state);
	}
	if (len > 0 && !ns_initparse(answer, len, &message)) {
		good = true;
		snprintf(error, RESOLVE_ERROR, "no target has an address");
		for (i = 0; good && i < ns_msg_count(message, ns_s_an); i++)
			good = resolve_record(&message, i, targets, error);
		good &= targets->nr > before;
	}
	free(answer);
	return good;
}

/* A machine that has an address of IPv4 is not named again by those of IPv6. */
struct resolve_avahi {
	char host[RESOLVE_HOST];
	bool is_v4;
	struct target target;
};

/*
 * A service that was resolved: "=;eth0;IPv4;donor1;_farswap._tcp;local;donor1.local;10.0.0.2;9400;".
 * avahi-browse replaces a semicolon in a name.
 */
static bool resolve_avahi_line(char *line, struct resolve_avahi *found)
{
	char *field[9] = { NULL }, *save = NULL, host[RESOLVE_HOST];
	bool is_link_local;
	unsigned int i;

	for (i = 0; i < 9; i++) {
		field[i] = strtok_r(i ? NULL : line, ";", &save);
		if (!field[i])
			return false;
	}
	if (strcmp(field[0], "=") != 0 || strchr(field[7], '%'))
		return false;
	is_link_local = !strncasecmp(field[7], "fe80:", 5);
	snprintf(host, sizeof(host), "%.64s%s%.16s", field[7], is_link_local ? "%" : "",
		 is_link_local ? field[1] : "");
	found->target = (struct target){ .tier = 1, .weight = 1 };
	resolve_spell(found->target.address, host, strtoul(field[8], NULL, 10));
	found->is_v4 = !strchr(host, ':');
	snprintf(found->host, sizeof(found->host), "%.64s:%.8s", field[6], field[8]);
	return true;
}

/* Return whether another line has an address of IPv4 for the same machine and port. */
static bool resolve_avahi_again(const struct resolve_avahi *found, unsigned int nr,
				const struct resolve_avahi *one)
{
	unsigned int i;

	for (i = 0; i < nr && !one->is_v4; i++)
		if (found[i].is_v4 && !strcmp(found[i].host, one->host))
			return true;
	return false;
}

bool resolve_avahi(const char *type, struct targets *targets, char error[RESOLVE_ERROR])
{
	const char *const browse[] = { "avahi-browse", "--resolve", "--parsable", "--terminate", type,
		NULL };
	static char text[1 << 18];
	static struct resolve_avahi found[RESOLVE_AVAHI];
	char *cursor = text, *line;
	unsigned int before = targets->nr, nr = 0, i;
	int status = check_run(browse, text, sizeof(text));

	if (status) {
		snprintf(error, RESOLVE_ERROR, status < 0 ? "no avahi-browse (apt install avahi-utils)" :
			 "avahi-browse: %.*s", (int)strcspn(text, "\n"), text);
		return false;
	}
	while (nr < RESOLVE_AVAHI && (line = file_next(&cursor)))
		nr += resolve_avahi_line(line, &found[nr]);
	for (i = 0; i < nr; i++)
		if (!resolve_avahi_again(found, nr, &found[i]))
			targets_add(targets, &found[i].target);
	snprintf(error, RESOLVE_ERROR, "no such service is announced");
	return targets->nr > before;
}
