// SPDX-License-Identifier: GPL-2.0
/*
 * Reads /proc/meminfo and the like.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meminfo.h"

#define MEMINFO		"/proc/meminfo"

uint64_t meminfo_read(const char *path, const char *name, int base)
{
	FILE *file = fopen(path, "re");
	size_t len = strlen(name);
	uint64_t value = 0;
	char line[256];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, len) || line[len] != ':')
			continue;
		value = strtoull(line + len + 1, NULL, base);
		break;
	}
	(void)fclose(file);
	return value;
}

uint64_t meminfo_number(const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t value = 0;
	char line[32];

	if (!file)
		return 0;
	if (fgets(line, sizeof(line), file))
		value = strtoull(line, NULL, 10);
	(void)fclose(file);
	return value;
}

static uint64_t meminfo_kilobytes(const char *name)
{
	return meminfo_read(MEMINFO, name, 10) << 10;
}

static uint64_t meminfo_huge(const char *name)
{
	return meminfo_read(MEMINFO, name, 10) * meminfo_kilobytes("Hugepagesize");
}

uint64_t meminfo_total(void)
{
	return meminfo_kilobytes("MemTotal") - meminfo_huge("HugePages_Total");
}

uint64_t meminfo_available(void)
{
	return meminfo_kilobytes("MemAvailable");
}

uint64_t meminfo_huge_free(void)
{
	return meminfo_huge("HugePages_Free");
}
