// SPDX-License-Identifier: GPL-2.0
/*
 * Reads configuration files. An error message names the file and the line.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config-file.h"

#define CONFIG_DROP_IN		".conf"

int config_wrong(const struct config_at *at, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (at->line)
		n = snprintf(at->error, CONFIG_ERROR_MAX, "%s:%u: ", at->where, at->line);
	else
		n = snprintf(at->error, CONFIG_ERROR_MAX, "%s: ", at->where);
	if (n < 0 || n >= CONFIG_ERROR_MAX)
		return -EINVAL;
	va_start(ap, fmt);
	vsnprintf(at->error + n, CONFIG_ERROR_MAX - n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A comment begins at the line's start or after a space: a value may have a # in it. */
static size_t config_file_length(const char *line)
{
	size_t len = strcspn(line, "#\n");

	while (line[len] == '#' && len && !strchr(" \t\r", line[len - 1]))
		len += 1 + strcspn(line + len + 1, "#\n");
	return len;
}

int config_file_line(const struct config_at *at, char *line, config_set_fn set, void *data)
{
	char *key, *value, *end;

	line[config_file_length(line)] = '\0';
	key = line + strspn(line, " \t\r");
	if (!*key)
		return 0;
	value = key + strcspn(key, " \t\r=");
	end = value;
	value += strspn(value, " \t\r");
	if (*value == '=')
		value++;
	value += strspn(value, " \t\r");
	*end = '\0';
	for (end = value + strlen(value); end > value && strchr(" \t\r", end[-1]); end--)
		;
	*end = '\0';
	if (!*key)
		return config_wrong(at, "no key before '='; a line is a key and a value, as in memory = 4G");
	if (!*value)
		return config_wrong(at, "'%s' has no value; a line is a key and a value, as in memory = 4G",
				    key);
	return set(data, at, key, value);
}

int config_file_read(const char *path, config_set_fn set, void *data,
		     char error[CONFIG_ERROR_MAX])
{
	struct config_at at = { .where = path, .error = error };
	char *line = NULL;
	size_t size = 0;
	int err = 0;
	FILE *file;

	file = fopen(path, "re");
	if (!file) {
		err = -errno;
		config_wrong(&at, "cannot be read: %s", strerror(-err));
		return err;
	}
	while (!err && getline(&line, &size, file) >= 0) {
		at.line++;
		err = config_file_line(&at, line, set, data);
	}
	if (!err && ferror(file)) {
		config_wrong(&at, "cannot be read");
		err = -EIO;
	}
	free(line);
	(void)fclose(file);
	return err;
}

static int config_is_drop_in(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix = strlen(CONFIG_DROP_IN);

	return entry->d_name[0] != '.' && len > suffix &&
	       !strcmp(entry->d_name + len - suffix, CONFIG_DROP_IN);
}

static int config_by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int config_file_read_drop_ins(const char *path, config_set_fn set, void *data,
			      char error[CONFIG_ERROR_MAX])
{
	struct config_at at = { .where = path, .error = error };
	struct dirent **entries = NULL;
	int err = 0, i, nr;
	char *dir, *file;

	if (asprintf(&dir, "%s.d", path) < 0)
		return -ENOMEM;
	nr = scandir(dir, &entries, config_is_drop_in, config_by_name);
	if (nr < 0 && errno != ENOENT) {
		err = -errno;
		at.where = dir;
		config_wrong(&at, "cannot be read: %s", strerror(-err));
	}
	for (i = 0; i < nr; i++) {
		if (!err && asprintf(&file, "%s/%s", dir, entries[i]->d_name) >= 0) {
			err = config_file_read(file, set, data, error);
			free(file);
		}
		free(entries[i]);
	}
	free(entries);
	free(dir);
	return err;
}
