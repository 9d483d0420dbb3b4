// SPDX-License-Identifier: GPL-2.0
/*
 * Shows the donors of this machine, adds and removes them. A change lasts until the module
 * is loaded again: its parameter has the list.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"
#include "donors.h"
#include "kmsg.h"

void donors_read(struct donors *donors)
{
	char *save = NULL, *word;

	donors->nr = 0;
	if (!file_line(CLIENT_SYSFS "donors", donors->line, sizeof(donors->line)))
		ctl_fail(CTL_UNKNOWN, CLIENT_SYSFS "donors: %s", strerror(errno));
	for (word = strtok_r(donors->line, ",", &save); word && donors->nr < DONORS_MAX;
	     word = strtok_r(NULL, ",", &save))
		donors->address[donors->nr++] = word;
}

void donors_write(const struct donors *donors)
{
	char line[DONORS_LINE] = "", path[512], why[KMSG_TEXT];
	size_t len = 0;
	unsigned int i;
	int fd, err = 0;

	for (i = 0; i < donors->nr; i++)
		len += snprintf(line + len, sizeof(line) - len, "%s%s", i ? "," : "",
				donors->address[i]);
	len += snprintf(line + len, sizeof(line) - len, "\n");
	file_path(path, sizeof(path), CLIENT_SYSFS "donors");
	fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	if (fd < 0 || write(fd, line, len) != (ssize_t)len)
		err = errno;
	if (fd >= 0)
		close(fd);
	if (err == EINVAL && kmsg_text("farswap: donors: ", why))
		ctl_fail(CTL_PROBLEM, "refused: %s", why);
	if (err == EINVAL)
		ctl_fail(CTL_PROBLEM, "refused; the kernel's log shows why: journalctl -k -g 'farswap: donors'");
	if (err)
		ctl_fail(CTL_PROBLEM, CLIENT_SYSFS "donors: %s; are you root?", strerror(err));
}

int donors_length(const char *spec)
{
	return (int)strcspn(spec, "#");
}

char *donors_split(char *spec, char **host)
{
	char *end;

	*host = spec;
	if (*spec == '[') {
		end = strchr(spec, ']');
		if (!end)
			return NULL;
		*end = '\0';
		*host = spec + 1;
		return end[1] == ':' ? end + 2 : NULL;
	}
	end = strchr(spec, ':');
	if (!end || strchr(end + 1, ':'))
		return NULL;
	*end = '\0';
	return end + 1;
}

bool donors_is_name(const char *host)
{
	unsigned char buf[sizeof(struct in6_addr)];
	char address[INET6_ADDRSTRLEN];

	/* The interface of a link-local address follows a percent sign. */
	snprintf(address, sizeof(address), "%.*s", (int)strcspn(host, "%"), host);
	return inet_pton(AF_INET, address, buf) != 1 && inet_pton(AF_INET6, address, buf) != 1;
}

/* Return @spec, an address or a name without a key, with a numeric address. */
static char *donors_numeric_address(const char *spec)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char copy[300], number[INET6_ADDRSTRLEN + 16], *host, *port, *text = NULL;
	struct addrinfo *found;
	int err, n;

	snprintf(copy, sizeof(copy), "%s", spec);
	port = donors_split(copy, &host);
	if (!donors_is_name(host))
		return strdup(spec);
	err = getaddrinfo(host, NULL, &hints, &found);
	if (err)
		ctl_fail(CTL_UNKNOWN, "the host name '%s' does not resolve: %s; correct it, or give an address such as 10.0.0.2",
			 host, gai_strerror(err));
	err = getnameinfo(found->ai_addr, found->ai_addrlen, number, sizeof(number), NULL, 0,
			  NI_NUMERICHOST);
	if (err)
		ctl_fail(CTL_UNKNOWN, "%s: %s", host, gai_strerror(err));
	if (!port)
		n = asprintf(&text, "%s", number);
	else if (found->ai_family == AF_INET6)
		n = asprintf(&text, "[%s]:%s", number, port);
	else
		n = asprintf(&text, "%s:%s", number, port);
	freeaddrinfo(found);
	return n < 0 ? NULL : text;
}

/* Return ADDRESS[#KEY] with a numeric address, or NULL. */
static char *donors_numeric(const char *spec)
{
	size_t len = strcspn(spec, "#");
	char copy[300], *address, *text;

	if (!spec[len])
		return donors_numeric_address(spec);
	snprintf(copy, sizeof(copy), "%.*s", (int)len, spec);
	address = donors_numeric_address(copy);
	if (!address || asprintf(&text, "%s%s", address, spec + len) < 0)
		text = NULL;
	free(address);
	return text;
}

/* Find a donor by its address, whatever its key. */
static unsigned int donors_find(const struct donors *donors, const char *address)
{
	size_t len = strcspn(address, "#");
	unsigned int i;

	for (i = 0; i < donors->nr; i++)
		if (strcspn(donors->address[i], "#") == len &&
		    !strncmp(donors->address[i], address, len))
			break;
	return i;
}

void donors_add(struct donors *donors, const char *spec)
{
	char *address = donors_numeric(spec);
	unsigned int at;

	if (!address)
		ctl_fail(CTL_UNKNOWN, "out of memory");
	at = donors_find(donors, address);
	if (at < donors->nr) {
		/* It may have another key now. */
		if (strchr(address, '#'))
			donors->address[at] = address;
		else
			free(address);
		return;
	}
	if (donors->nr == DONORS_MAX)
		ctl_fail(CTL_PROBLEM, "there are %d donors already, the most that farswap supports",
			 DONORS_MAX);
	/* Freed when the program ends. */
	donors->address[donors->nr++] = address;
}

static void donors_remove(struct donors *donors, const char *spec)
{
	char *address = donors_numeric(spec);
	unsigned int at = address ? donors_find(donors, address) : donors->nr;

	if (at == donors->nr)
		ctl_fail(CTL_PROBLEM, "'%s' is not a donor of this machine; farswapctl donors shows them",
			 spec);
	memmove(&donors->address[at], &donors->address[at + 1],
		(donors->nr - at) * sizeof(*donors->address));
	donors->nr--;
	free(address);
}

static int donors_show(void)
{
	struct table table;
	struct json json;
	unsigned int i;

	client_require();
	if (!table_open(&table, CLIENT_DEBUGFS "donors"))
		ctl_fail(CTL_UNKNOWN, CLIENT_DEBUGFS "donors: %s", strerror(errno));
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_array(&json, "donors");
		while (table_next(&table))
			table_json(&table, &json);
		json_end(&json);
		json_end(&json);
	} else {
		for (i = 0; i < table.nr; i++)
			printf("%s%s", table.name[i], i + 1 < table.nr ? " " : "\n");
		while (table_next(&table))
			for (i = 0; i < table.nr; i++)
				printf("%s%s", table.field[i], i + 1 < table.nr ? " " : "\n");
	}
	table_close(&table);
	return CTL_OK;
}

int cmd_donors(char **args, unsigned int nr)
{
	static struct donors donors;
	bool add, sync;
	unsigned int i;

	if (!nr)
		return donors_show();
	add = !strcmp(args[0], "add");
	sync = !strcmp(args[0], "sync");
	if (!add && !sync && strcmp(args[0], "remove") != 0)
		ctl_fail(CTL_UNKNOWN, "donors: unknown word '%s' (add, remove or sync)", args[0]);
	if (sync && nr > 1)
		ctl_fail(CTL_UNKNOWN, "unexpected argument '%s'", args[1]);
	if (!sync && nr == 1)
		ctl_fail(CTL_UNKNOWN, "donors %s: missing address", args[0]);
	if (!client_is_there())
		ctl_fail(CTL_UNKNOWN, "the module farswap is not loaded; run: modprobe farswap");
	if (sync)
		return donors_sync();
	donors_read(&donors);
	for (i = 1; i < nr; i++) {
		if (add)
			donors_add(&donors, args[i]);
		else
			donors_remove(&donors, args[i]);
	}
	donors_write(&donors);
	return ctl.json ? donors_show() : CTL_OK;
}
