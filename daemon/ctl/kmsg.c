// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the kernel's log once, and keeps the lines that have to do with farswap or with the
 * loading of modules.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "kmsg.h"

#define KMSG_RECORD	8192

static struct kmsg_line *kmsg_lines;
static unsigned int kmsg_nr, kmsg_room;
static bool kmsg_known, kmsg_failed;

static bool kmsg_wanted(const char *text)
{
	static const char *const words[] = { "farswap", "Lockdown: modprobe", "module verification",
		"unsigned module", "Loading of module" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* "6,1234,5678901,-;text": priority, number, time. Lines of more fields follow. */
static void kmsg_add(char *record)
{
	char *text = strchr(record, ';');
	char *number = strchr(record, ',');
	char *time = number ? strchr(number + 1, ',') : NULL;
	struct kmsg_line *bigger;

	if (!text || !time || time > text)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (!kmsg_wanted(text))
		return;
	if (kmsg_nr == kmsg_room) {
		kmsg_room = kmsg_room ? kmsg_room * 2 : 64;
		bigger = realloc(kmsg_lines, kmsg_room * sizeof(*kmsg_lines));
		if (!bigger)
			ctl_fail(CTL_UNKNOWN, "out of memory");
		kmsg_lines = bigger;
	}
	kmsg_lines[kmsg_nr].level = (int)(strtoul(record, NULL, 10) & 7);
	kmsg_lines[kmsg_nr].us = strtoull(time + 1, NULL, 10);
	snprintf(kmsg_lines[kmsg_nr++].text, KMSG_TEXT, "%s", text + 1);
}

/* The device returns one record a read. EPIPE means that older records were overwritten. */
static void kmsg_read_device(int fd)
{
	char record[KMSG_RECORD];
	ssize_t n;

	for (;;) {
		n = read(fd, record, sizeof(record) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			break;
		record[n] = '\0';
		kmsg_add(record);
	}
}

static void kmsg_read(void)
{
	char path[512], *text, *cursor, *line;
	struct stat stat;
	int fd;

	if (kmsg_known)
		return;
	kmsg_known = true;
	file_path(path, sizeof(path), "/dev/kmsg");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	kmsg_failed = fd < 0 || fstat(fd, &stat) < 0;
	if (kmsg_failed)
		return;
	if (S_ISCHR(stat.st_mode)) {
		kmsg_read_device(fd);
	} else {
		text = file_read("/dev/kmsg");
		for (cursor = text; cursor && (line = file_next(&cursor));)
			kmsg_add(line);
		free(text);
	}
	close(fd);
}

bool kmsg_can_read(void)
{
	kmsg_read();
	return !kmsg_failed;
}

const struct kmsg_line *kmsg_last(const char *word, const char *other)
{
	unsigned int i;

	kmsg_read();
	for (i = kmsg_nr; i-- > 0;)
		if (strstr(kmsg_lines[i].text, word) && strstr(kmsg_lines[i].text, other))
			return &kmsg_lines[i];
	return NULL;
}

bool kmsg_text(const char *start, char text[KMSG_TEXT])
{
	const struct kmsg_line *line = kmsg_last(start, "");
	const struct kmsg_line *detached = kmsg_last("farswap: detached", "");

	if (!line || line <= detached)
		return false;
	snprintf(text, KMSG_TEXT, "%s", strstr(line->text, start) + strlen(start));
	return true;
}

uint64_t kmsg_age_s(const struct kmsg_line *line)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec > line->us / 1000000 ? now.tv_sec - line->us / 1000000 : 0;
}
