/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of farswapctl: its sources but for unit/action.c, resolve.c and join-donor.c, a copy of a
 * machine, on which it runs in a process of its own, and a reader of its JSON.
 */
#ifndef CTL_RUN_H
#define CTL_RUN_H

#define main ctl_main
#include "ctl/main.c"
#undef main
#include "ctl/allow.c"
#include "ctl/ask.c"
#include "ctl/bench.c"
#include "ctl/check.c"
#include "ctl/check-donor.c"
#include "ctl/check-kernel.c"
#include "ctl/check-network.c"
#include "ctl/check-report.c"
#include "ctl/client.c"
#include "ctl/client-metrics.c"
#include "ctl/client-show.c"
#include "ctl/code.c"
#include "ctl/commands.c"
#include "ctl/donor.c"
#include "ctl/donors.c"
#include "ctl/explain.c"
#include "ctl/fail.c"
#include "ctl/file.c"
#include "ctl/join.c"
#include "ctl/key.c"
#include "ctl/kmsg.c"
#include "ctl/sync.c"
#include "ctl/top.c"
#include "ctl/unit/advise.c"
#include "ctl/unit/cgroup.c"
#include "ctl/unit/hotplug.c"
#include "ctl/unit/keep.c"
#include "ctl/unit/machine.c"
#include "ctl/unit/pull.c"
#include "ctl/unit/size.c"
#include "ctl/unit/unit.c"
#include "ctl/unit/vm.c"
#include "ctl/unit/wss.c"
#include "address.c"
#include "auth.c"
#include "config.c"
#include "config-file.c"
#include "json.c"
#include "key.c"
#include "keyring.c"
#include "meminfo.c"
#include "metrics.c"
#include "wire.c"

#include <sys/stat.h>
#include <sys/wait.h>

#include "tap.h"

#define MAN	"../../../daemon/ctl/farswapctl.8"

/* The answer of the donor to the next join. */
static const char *join_wrong;

const char *join_donor(const struct sockaddr *address, const uint8_t *secret,
		       const uint8_t *donor, const uint8_t *invitation)
{
	(void)address;
	(void)secret;
	(void)donor;
	(void)invitation;
	return join_wrong;
}

static char root[] = "/tmp/farswap-ctl-test-XXXXXX";
static char output[8 << 20];
static int status;

/* Write a file of the copied machine, and the directories above it. */
__attribute__((format(printf, 2, 3)))
static void put(const char *path, const char *fmt, ...)
{
	char full[512], *slash;
	va_list ap;
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = fopen(full, "w");
	if (!file) {
		perror(full);
		exit(1);
	}
	va_start(ap, fmt);
	vfprintf(file, fmt, ap);
	va_end(ap);
	fclose(file);
}

static void gone(const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", root, path);
	unlink(full);
}

/* Run farswapctl with the arguments, up to NULL; set output, with the errors, and status. */
static void run(const char *first, ...)
{
	char *argv[16] = { "farswapctl", "--root", root, (char *)first };
	char path[64];
	int argc = 4, fd;
	va_list ap;
	ssize_t n;
	pid_t pid;

	va_start(ap, first);
	while (argc < 15 && (argv[argc] = va_arg(ap, char *)))
		argc++;
	va_end(ap);
	snprintf(path, sizeof(path), "%s/output", root);
	fflush(stdout);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	pid = fork();
	if (!pid) {
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		/* Arguments can be written to, unlike literals. */
		for (argc = 0; argv[argc]; argc++)
			argv[argc] = strdup(argv[argc]);
		exit(ctl_main(argc, argv));
	}
	waitpid(pid, &status, 0);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	n = pread(fd, output, sizeof(output) - 1, 0);
	output[n < 0 ? 0 : n] = '\0';
	close(fd);
}

static bool has(const char *text)
{
	if (strstr(output, text))
		return true;
	printf("# no \"%s\" in: %.600s\n", text, output);
	return false;
}

/* A reader of JSON, which calls json_seen() for each key. */
static void (*json_seen)(const char *key, const char *parent);

static bool read_string(const char **at, char text[128])
{
	unsigned int len = 0;

	if (*(*at)++ != '"')
		return false;
	for (; **at != '"'; (*at)++) {
		if ((unsigned char)**at < ' ' || (unsigned char)**at > '~')
			return false;
		if (**at == '\\')
			(*at)++;
		if (len < 127)
			text[len++] = **at;
	}
	text[len] = '\0';
	(*at)++;
	return true;
}

static bool read_value(const char **at, const char *parent)
{
	static const char *const words[] = { "true", "false", "null" };
	char close = **at == '{' ? '}' : ']', key[128] = "", text[128];
	unsigned int i;

	if (**at == '"')
		return read_string(at, text);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strncmp(*at, words[i], strlen(words[i]))) {
			*at += strlen(words[i]);
			return true;
		}
	if (**at != '{' && **at != '[') {
		i = strspn(*at, "-0123456789");
		*at += i;
		return i;
	}
	(*at)++;
	if (**at == close) {
		(*at)++;
		return true;
	}
	for (;;) {
		if (close == '}') {
			if (!read_string(at, key) || *(*at)++ != ':')
				return false;
			json_seen(key, parent);
		}
		if (!read_value(at, close == '}' ? key : parent))
			return false;
		if (**at == close)
			break;
		if (*(*at)++ != ',')
			return false;
	}
	(*at)++;
	return true;
}

static char *man;
static char undocumented[256];

/* Counters, settings and kinds of latency have their own documents. */
static void seen_key(const char *key, const char *parent)
{
	char line[160];

	if (!strcmp(parent, "counters") || !strcmp(parent, "gauges") || !strcmp(parent, "growth")) {
		if (!explain_find(key) && strcmp(key, "new_one") != 0)
			snprintf(undocumented, sizeof(undocumented), "%s", key);
		return;
	}
	if (!strcmp(parent, "settings") || !strcmp(parent, "latency"))
		return;
	snprintf(line, sizeof(line), "\n.B %s\n", key);
	if (!strstr(man, line))
		snprintf(undocumented, sizeof(undocumented), "%s", key);
}

static bool is_json(void)
{
	const char *at = output;

	json_seen = seen_key;
	undocumented[0] = '\0';
	if (!read_value(&at, "") || strcmp(at, "\n") != 0) {
		printf("# at %.80s of: %.300s\n", at, output);
		return false;
	}
	if (*undocumented)
		printf("# \"%s\" is not in the man page\n", undocumented);
	return !*undocumented;
}

#endif
