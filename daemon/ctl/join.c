// SPDX-License-Identifier: GPL-2.0
/*
 * Uses an invitation: introduces this machine's key to the donor, and adds the donor to the
 * configuration and to the running module.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "code.h"
#include "config-file.h"
#include "donors.h"
#include "join-donor.h"
#include "own-key.h"

#define JOIN_CONF	"/etc/farswap/farswap.conf"
#define JOIN_DROP_IN	JOIN_CONF ".d/donors.conf"
#define JOIN_SYNC	"/etc/farswap/donors.d"
#define JOIN_PATH	512

/* The last line of the client's configuration that sets donors. */
struct join_line {
	char path[JOIN_PATH];
	unsigned int line;
	char value[DONORS_LINE];
};

/* Read the code from the arguments or from standard input, which other users can't see. */
static void join_read(struct code *code, char **args, unsigned int nr)
{
	char text[CODE_MAX + 2] = "";
	bool valid;

	if (nr) {
		fputs("farswapctl: other users may have seen the code, and the shell may keep it; farswapctl join alone reads it\n",
		      stderr);
		snprintf(text, sizeof(text), "%s", args[0]);
		sodium_memzero(args[0], strlen(args[0]));
	} else {
		if (isatty(STDIN_FILENO))
			fputs("code: ", stderr);
		if (!fgets(text, sizeof(text), stdin))
			ctl_fail(CTL_UNKNOWN, "join: no code on standard input");
		text[strcspn(text, "\r\n")] = '\0';
	}
	valid = code_parse(code, text);
	sodium_memzero(text, sizeof(text));
	if (!valid)
		ctl_fail(CTL_UNKNOWN, "join: invalid code (" CODE_PREFIX "ADDRESS#KEY#SECRET, which farswapctl invite prints on the donor)");
}

static int join_find_line(void *data, const struct config_at *at, const char *key, const char *value)
{
	struct join_line *found = data;

	if (strcmp(key, "donors") != 0)
		return 0;
	snprintf(found->path, sizeof(found->path), "%s", at->where);
	snprintf(found->value, sizeof(found->value), "%s", value);
	found->line = at->line;
	return 0;
}

/* Find the line that applies: the last one. */
static void join_configured(struct join_line *found)
{
	char path[JOIN_PATH], error[CONFIG_ERROR_MAX];

	memset(found, 0, sizeof(*found));
	file_path(path, sizeof(path), JOIN_CONF);
	if ((!access(path, F_OK) && config_file_read(path, join_find_line, found, error)) ||
	    config_file_read_drop_ins(path, join_find_line, found, error))
		ctl_fail(CTL_PROBLEM, "%s", error);
}

/* Append the donor to a list, or replace the key that the list has for it. */
static void join_list(char list[DONORS_LINE], char *value, const struct code *code)
{
	size_t len = 0;
	char *rest, *word;

	for (word = strtok_r(value, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest)) {
		size_t bytes = donors_length(word);

		if (bytes != strlen(code->address) || strncmp(word, code->address, bytes) != 0)
			len += snprintf(list + len, DONORS_LINE - len, "%s,", word);
		if (len >= DONORS_LINE)
			ctl_fail(CTL_PROBLEM, "donors: longer than %d characters", DONORS_LINE);
	}
	if (snprintf(list + len, DONORS_LINE - len, "%s#%s", code->address, code->key) >=
	    (int)(DONORS_LINE - len))
		ctl_fail(CTL_PROBLEM, "donors: longer than %d characters", DONORS_LINE);
}

/* Replace a file at once by its text, with line number @line (0: none) as "@key = @value". */
static void join_write(const char *path, unsigned int line, const char *key, const char *value)
{
	char new[JOIN_PATH + 8], *text = NULL;
	struct stat st = { .st_mode = 0644 };
	unsigned int nr = 0;
	FILE *in, *file;
	size_t size = 0;
	int err;

	snprintf(new, sizeof(new), "%s.new", path);
	in = line ? fopen(path, "re") : NULL;
	file = fopen(new, "we");
	if (!file || (line && (!in || fstat(fileno(in), &st)))) {
		err = errno;
		if (in)
			(void)fclose(in);
		if (file)
			(void)fclose(file);
		ctl_fail(CTL_PROBLEM, "%s: cannot be written: %s", path, strerror(err));
	}
	if (!line)
		fprintf(file, "# Written by farswapctl join.\n%s = %s\n", key, value);
	while (in && getline(&text, &size, in) >= 0) {
		if (++nr == line)
			fprintf(file, "%s = %s\n", key, value);
		else
			fputs(text, file);
	}
	free(text);
	if (in)
		(void)fclose(in);
	if (fflush(file) || fsync(fileno(file)) || fchmod(fileno(file), st.st_mode & 0777) ||
	    fclose(file) || rename(new, path))
		ctl_fail(CTL_PROBLEM, "%s: cannot be written: %s", path, strerror(errno));
}

static void join_make_directory(const char *path)
{
	char full[JOIN_PATH];

	file_path(full, sizeof(full), path);
	if (mkdir(full, 0755) && errno != EEXIST)
		ctl_fail(CTL_PROBLEM, "%s: cannot be made: %s", full, strerror(errno));
}

/*
 * Donors are either in a donors line, or in files of their own: see farswap.conf(5). Return the
 * file that has the donor now.
 */
static void join_configure(const struct code *code, char path[JOIN_PATH])
{
	static struct join_line found;
	static char list[DONORS_LINE];
	char name[JOIN_PATH];

	join_configured(&found);
	join_list(list, found.value, code);
	if (found.line) {
		snprintf(path, JOIN_PATH, "%s", found.path);
		join_write(path, found.line, "donors", list);
		return;
	}
	if (donors_has_files()) {
		snprintf(name, sizeof(name), JOIN_SYNC "/joined-%s.conf", code->address);
		file_path(path, JOIN_PATH, name);
		join_write(path, 0, "donor", list);
		return;
	}
	join_make_directory(JOIN_CONF ".d");
	file_path(path, JOIN_PATH, JOIN_DROP_IN);
	join_write(path, 0, "donors", list);
}

/* Use the donor at once, if the module is there. */
static bool join_use(const struct code *code)
{
	static struct donors donors;
	char spec[CODE_ADDRESS + FARSWAP_NOISE_TEXT_CHARS + 2];

	if (!client_is_there())
		return false;
	snprintf(spec, sizeof(spec), "%s#%s", code->address, code->key);
	donors_read(&donors);
	donors_add(&donors, spec);
	donors_write(&donors);
	return true;
}

static int join_report(const struct code *code, const char *path, bool used)
{
	struct json json;

	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_string(&json, "address", code->address);
		json_string(&json, "donor_key", code->key);
		json_string(&json, "file", path);
		json_bool(&json, "in_use", used);
		json_end(&json);
		return CTL_OK;
	}
	printf("%s lends memory to this machine; %s has it\n", code->address, path);
	if (!used)
		puts("the module farswap is not loaded; run: systemctl start farswap");
	return CTL_OK;
}

int cmd_join(char **args, unsigned int nr)
{
	uint8_t secret[FARSWAP_NOISE_KEY_BYTES];
	char path[JOIN_PATH];
	struct code code;
	const char *wrong;

	if (sodium_init() < 0)
		ctl_fail(CTL_UNKNOWN, "libsodium does not work here");
	join_read(&code, args, nr);
	own_key(secret, true);
	wrong = join_donor((const struct sockaddr *)&code.socket, secret, code.donor, code.secret);
	sodium_memzero(secret, sizeof(secret));
	sodium_memzero(code.secret, sizeof(code.secret));
	if (wrong)
		ctl_fail(CTL_PROBLEM, "donor %s: %s", code.address, wrong);
	join_configure(&code, path);
	return join_report(&code, path, join_use(&code));
}
