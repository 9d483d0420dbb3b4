// SPDX-License-Identifier: GPL-2.0
/*
 * Reads /proc/meminfo and the like.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meminfo.h"

uint64_t meminfo_read(const char *path, const char *name, char after, int base)
{
	FILE *file = fopen(path, "re");
	size_t len = strlen(name);
	uint64_t value = 0;
	char line[256];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, len) || line[len] != after)
			continue;
		value = strtoull(line + len + 1, NULL, base);
		break;
	}
	(void)fclose(file);
	return value;
}

uint64_t meminfo_number(const char *path, int base)
{
	FILE *file = fopen(path, "re");
	uint64_t value = 0;
	char line[32];

	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file))
		value = strtoull(line, NULL, base);
	(void)fclose(file);
	return value;
}

/* Return the number after @name, which starts with the preceding newline. */
static uint64_t meminfo_value(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

struct meminfo meminfo_now(void)
{
	static int fd = -1;	/* kept open because it is read often */
	struct meminfo now = { 0 };
	char text[8192] = "\n";
	uint64_t huge;
	ssize_t len;

	if (fd < 0)
		fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return now;
	len = pread(fd, text + 1, sizeof(text) - 2, 0);
	text[len > 0 ? len + 1 : 1] = 0;
	huge = meminfo_value(text, "\nHugepagesize:") << 10;
	now.total = (meminfo_value(text, "\nMemTotal:") << 10) -
		    meminfo_value(text, "\nHugePages_Total:") * huge;
	now.available = meminfo_value(text, "\nMemAvailable:") << 10;
	now.huge_page = huge;
	now.huge_free = (meminfo_value(text, "\nHugePages_Free:") -
			 meminfo_value(text, "\nHugePages_Rsvd:")) * huge;
	return now;
}
