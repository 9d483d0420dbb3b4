// SPDX-License-Identifier: GPL-2.0
/*
 * Reads small files of sysfs, debugfs and procfs, whose size is not known in advance.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"

void file_path(char *buf, size_t size, const char *path)
{
	snprintf(buf, size, "%s%s", ctl.root ? ctl.root : "", path);
}

bool file_exists(const char *path)
{
	char full[512];

	file_path(full, sizeof(full), path);
	return !access(full, F_OK);
}

char *file_read(const char *path)
{
	size_t size = 65536, len = 0;
	char full[512], *text, *bigger;
	ssize_t n;
	int fd;

	file_path(full, sizeof(full), path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	text = fd < 0 ? NULL : malloc(size);
	while (text) {
		n = read(fd, text + len, size - len - 1);
		if (n <= 0)
			break;
		len += n;
		if (size - len > 1)
			continue;
		size *= 2;
		bigger = realloc(text, size);
		if (!bigger)
			free(text);
		text = bigger;
	}
	if (text && n < 0) {
		free(text);
		text = NULL;
	}
	if (text)
		text[len] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

bool file_line(const char *path, char *line, size_t size)
{
	char *text = file_read(path);

	if (!text)
		return false;
	snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
	return true;
}

uint64_t file_number(const char *text, const char *word)
{
	const char *at = text ? strstr(text, word) : NULL;

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

char *file_next(char **cursor)
{
	char *line = *cursor, *end;

	if (!*line)
		return NULL;
	end = line + strcspn(line, "\n");
	*cursor = *end ? end + 1 : end;
	*end = '\0';
	return line;
}
