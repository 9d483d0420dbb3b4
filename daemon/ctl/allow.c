// SPDX-License-Identifier: GPL-2.0
/*
 * The clients of this donor: a drop-in file for each, with its line. farswapd is told to read them
 * again. A client that is invited brings its key itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin.h"
#include "ask.h"
#include "code.h"
#include "config.h"
#include "ctl.h"
#include "own-key.h"

#define ALLOW_DIRECTORY	CONFIG_FILE ".d"
/* Written with the first client and kept, so that removing the last one admits nobody. */
#define ALLOW_AUTH	ALLOW_DIRECTORY "/auth.conf"
#define ALLOW_LINE_MAX	512
#define ALLOW_PATH_MAX	256
/* How long an invitation is valid by default. */
#define INVITE_S	600

/* A client's line, in parts. */
struct allow {
	const char *name;
	char path[ALLOW_PATH_MAX];
	char keys[2][FARSWAP_NOISE_TEXT_CHARS + 1];	/* the older one first */
	unsigned int nr_keys;
	char words[ALLOW_LINE_MAX];			/* the others, each after a space */
};

static void allow_add_word(struct allow *allow, const char *word)
{
	size_t len = strlen(allow->words);

	if (snprintf(allow->words + len, sizeof(allow->words) - len, " %s", word) >=
	    (int)(sizeof(allow->words) - len))
		ctl_fail(CTL_UNKNOWN, "allow: more than %d characters", ALLOW_LINE_MAX);
}

static void allow_add_key(struct allow *allow, const char *key)
{
	unsigned int i;

	for (i = 0; i < allow->nr_keys; i++)
		if (!strcmp(allow->keys[i], key))
			return;
	if (allow->nr_keys == ARRAY_SIZE(allow->keys))
		memcpy(allow->keys[0], allow->keys[--allow->nr_keys], sizeof(allow->keys[0]));
	snprintf(allow->keys[allow->nr_keys++], sizeof(allow->keys[0]), "%s", key);
}

/* Read the drop-in of the client. Return false if there is none. */
static bool allow_read(struct allow *allow, const char *name)
{
	char *text, *word, *rest, *line, *cursor;

	memset(allow, 0, sizeof(*allow));
	if (!auth_name_is_valid(name))
		ctl_fail(CTL_UNKNOWN, "invalid name '%s' (at most %d letters, digits, and . _ -)",
			 name, AUTH_NAME_MAX - 1);
	allow->name = name;
	snprintf(allow->path, sizeof(allow->path), ALLOW_DIRECTORY "/client-%s.conf", name);
	text = file_read(allow->path);
	if (!text)
		return false;
	for (cursor = text; (line = file_next(&cursor)) && strncmp(line, "client", 6) != 0;)
		;
	/* The first three words are "client", "=" and the name. */
	word = line ? strtok_r(line, " ", &rest) : NULL;
	word = word ? strtok_r(NULL, " ", &rest) : NULL;
	word = word ? strtok_r(NULL, " ", &rest) : NULL;
	while (word && (word = strtok_r(NULL, " ", &rest)))
		if (!strncmp(word, "key=", 4))
			allow_add_key(allow, word + 4);
		else
			allow_add_word(allow, word);
	free(text);
	return true;
}

static void allow_line(const struct allow *allow, char *line, size_t size)
{
	snprintf(line, size, "client = %s%s%s%s%s%s", allow->name,
		 allow->nr_keys ? " key=" : "", allow->nr_keys ? allow->keys[0] : "",
		 allow->nr_keys > 1 ? " key=" : "", allow->nr_keys > 1 ? allow->keys[1] : "",
		 allow->words);
}

/* Check the line as farswapd will. */
static void allow_check(const struct allow *allow)
{
	char line[2 * ALLOW_LINE_MAX], error[CONFIG_ERROR_MAX];
	struct config config;

	allow_line(allow, line, sizeof(line));
	config_init(&config);
	if (config_option(&config, line, error))
		ctl_fail(CTL_UNKNOWN, "%s", strncmp(error, "-o: ", 4) ? error : error + 4);
	auth_free_clients(config.allow);
	free(config.client.rules);
}

/* Replace the file at once, so that farswapd never reads a part of it. */
static void allow_write(const char *path, const char *line)
{
	char full[ALLOW_PATH_MAX + 256], new[sizeof(full) + 8], directory[sizeof(full)];
	FILE *file;

	file_path(directory, sizeof(directory), ALLOW_DIRECTORY);
	file_path(full, sizeof(full), path);
	snprintf(new, sizeof(new), "%s.new", full);
	if (mkdir(directory, 0755) && errno != EEXIST)
		ctl_fail(CTL_PROBLEM, "%s: cannot be made: %s", directory, strerror(errno));
	file = fopen(new, "we");
	if (!file)
		ctl_fail(CTL_PROBLEM, "%s: cannot be written: %s", new, strerror(errno));
	fprintf(file, "# Written by farswapctl.\n%s\n", line);
	if (fflush(file) || fsync(fileno(file)) || fchmod(fileno(file), 0644) || fclose(file) ||
	    rename(new, full))
		ctl_fail(CTL_PROBLEM, "%s: cannot be written: %s", full, strerror(errno));
}

static void allow_remove(const char *path)
{
	char full[ALLOW_PATH_MAX + 256];

	file_path(full, sizeof(full), path);
	if (unlink(full))
		ctl_fail(CTL_PROBLEM, "%s: cannot be removed: %s", full, strerror(errno));
}

/* Tell farswapd, if it runs. */
static void allow_apply(void)
{
	if (ask_is_there())
		free(ask(ADMIN_RELOAD, ADMIN_TEXT, 0));
	else if (!ctl.json)
		puts("farswapd does not run here: this applies when it starts");
}

static int allow_report(const struct allow *allow, const char *own)
{
	struct json json;
	unsigned int i;

	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_string(&json, "name", allow->name);
		json_array(&json, "keys");
		for (i = 0; i < allow->nr_keys; i++)
			json_string(&json, NULL, allow->keys[i]);
		json_end(&json);
		json_string(&json, "public_key", own);
		json_end(&json);
		return CTL_OK;
	}
	if (allow->nr_keys > 1)
		printf("%s may borrow memory with either key; when it uses the new one: farswapctl deny %s %s\n",
		       allow->name, allow->name, allow->keys[0]);
	else
		printf("%s may borrow memory; the donors line there needs ADDRESS#%s\n",
		       allow->name, own);
	return CTL_OK;
}

int cmd_allow(char **args, unsigned int nr)
{
	char own[FARSWAP_NOISE_TEXT_CHARS + 1], line[2 * ALLOW_LINE_MAX];
	struct allow allow;
	unsigned int i;

	allow_read(&allow, args[0]);
	if (strlen(args[1]) != FARSWAP_NOISE_TEXT_CHARS)
		ctl_fail(CTL_UNKNOWN, "allow: invalid key '%s' (%d characters, which farswapctl key prints on the client)",
			 args[1], FARSWAP_NOISE_TEXT_CHARS);
	allow_add_key(&allow, args[1]);
	if (nr > 2)
		allow.words[0] = '\0';
	for (i = 2; i < nr; i++)
		allow_add_word(&allow, args[i]);
	allow_check(&allow);
	own_key_public(own);
	allow_line(&allow, line, sizeof(line));
	if (!file_exists(ALLOW_AUTH))
		allow_write(ALLOW_AUTH, "auth = required");
	allow_write(allow.path, line);
	allow_apply();
	return allow_report(&allow, own);
}

/* Check the words before the client joins. This machine's key stands for the client's. */
static void invite_check(const struct allow *allow, const char *own)
{
	struct allow copy = *allow;

	if (!copy.nr_keys)
		allow_add_key(&copy, own);
	allow_check(&copy);
}

/* Write the address at which clients reach this machine. */
static void invite_address(char address[CODE_ADDRESS])
{
	char path[KEY_PATH_MAX], error[CONFIG_ERROR_MAX];
	struct config config;

	if (ctl.at) {
		if (snprintf(address, CODE_ADDRESS, "%s", ctl.at) >= CODE_ADDRESS)
			ctl_fail(CTL_UNKNOWN, "--at: longer than %d characters", CODE_ADDRESS - 1);
		return;
	}
	config_init(&config);
	file_path(path, sizeof(path), CONFIG_FILE);
	if ((!access(path, F_OK) && config_read(&config, path, error)) ||
	    config_read_drop_ins(&config, path, error))
		ctl_fail(CTL_PROBLEM, "%s", error);
	auth_free_clients(config.allow);
	free(config.client.rules);
	if (!code_own_address(address, (const struct sockaddr *)&config.listen))
		ctl_fail(CTL_PROBLEM, "no RDMA device of this machine has an address: give it with --at ADDRESS");
}

/* Print the code, in which @answer of farswapd has the keys. */
static void invite_show(const char *name, const char *address, const char *answer, unsigned int s)
{
	char code[CODE_MAX], key[FARSWAP_NOISE_TEXT_CHARS + 1];
	char secret[FARSWAP_NOISE_TEXT_CHARS + 1];
	struct code parsed;
	struct json json;

	if (sscanf(answer, "%44s %44s", key, secret) != 2)
		ctl_fail(CTL_UNKNOWN, "farswapd gives no invitation");
	snprintf(code, sizeof(code), CODE_PREFIX "%s#%s#%s", address, key, secret);
	if (!code_parse(&parsed, code))
		ctl_fail(CTL_UNKNOWN, "--at: invalid address '%s' (such as 10.0.0.2, or [fd00::2]:9400)",
			 address);
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_string(&json, "code", code);
		json_end(&json);
	} else {
		printf("on the client run farswapctl join, and give it this code within %u s; it is valid once, for the first\nmachine that uses it, which will be %s here:\n%s\n",
		       s, name, code);
	}
	(void)fflush(stdout);
	farswap_noise_crypto_wipe(code, sizeof(code));
	farswap_noise_crypto_wipe(secret, sizeof(secret));
	farswap_noise_crypto_wipe(&parsed, sizeof(parsed));
}

int cmd_invite(char **args, unsigned int nr)
{
	unsigned int seconds = ctl.for_s ? ctl.for_s : INVITE_S, i;
	char own[FARSWAP_NOISE_TEXT_CHARS + 1], line[2 * ALLOW_LINE_MAX], address[CODE_ADDRESS];
	struct allow allow;
	char *text;

	allow_read(&allow, args[0]);
	if (nr > 1)
		allow.words[0] = '\0';
	for (i = 1; i < nr; i++)
		allow_add_word(&allow, args[i]);
	own_key_public(own);
	invite_check(&allow, own);
	invite_address(address);
	if (!ask_is_there())
		ctl_fail(CTL_PROBLEM, "farswapd does not run here: systemctl start farswapd");
	if (!file_exists(ALLOW_AUTH))
		allow_write(ALLOW_AUTH, "auth = required");
	free(ask(ADMIN_RELOAD, ADMIN_TEXT, 0));
	text = ask(ADMIN_INVITE, ADMIN_TEXT, seconds);
	invite_show(allow.name, address, text, seconds);
	farswap_noise_crypto_wipe(text, strlen(text));
	free(text);
	/* The invitation ends with this program. */
	text = ask(ADMIN_INVITED, ADMIN_TEXT, 0);
	text[strcspn(text, "\n")] = '\0';
	allow_add_key(&allow, text);
	allow_check(&allow);
	allow_line(&allow, line, sizeof(line));
	allow_write(allow.path, line);
	free(ask(ADMIN_RELOAD, ADMIN_TEXT, 0));
	if (!ctl.json)
		printf("%s has joined with the key %s\n", allow.name, text);
	free(text);
	return ctl.json ? allow_report(&allow, own) : CTL_OK;
}

int cmd_deny(char **args, unsigned int nr)
{
	char line[2 * ALLOW_LINE_MAX];
	struct allow allow;
	unsigned int i = 0;

	if (!allow_read(&allow, args[0]))
		ctl_fail(CTL_PROBLEM, "no client '%s' in " ALLOW_DIRECTORY "; if its line is in another file remove it there, then systemctl reload farswapd",
			 args[0]);
	for (; nr > 1 && i < allow.nr_keys && strcmp(allow.keys[i], args[1]) != 0; i++)
		;
	if (nr > 1 && i == allow.nr_keys)
		ctl_fail(CTL_PROBLEM, "'%s' has no key '%s'", args[0], args[1]);
	if (nr > 1 && allow.nr_keys > 1) {
		memcpy(allow.keys[0], allow.keys[!i], sizeof(allow.keys[0]));
		allow.nr_keys = 1;
		allow_line(&allow, line, sizeof(line));
		allow_write(allow.path, line);
	} else {
		allow_remove(allow.path);
		allow.nr_keys = 0;
	}
	allow_apply();
	if (ctl.json)
		return allow_report(&allow, "");
	if (allow.nr_keys)
		printf("%s may borrow memory with its other key only\n", allow.name);
	else
		printf("%s may not borrow memory\n", allow.name);
	return CTL_OK;
}
