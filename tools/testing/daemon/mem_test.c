// SPDX-License-Identifier: GPL-2.0
/*
 * Memory errors in lent memory: the kernel raises SIGBUS, as it does beyond the end of
 * a file. And a pool with more regions than a process may have mappings.
 */
#include "mem.c"

#include <stdio.h>
#include <unistd.h>

#include "tap.h"

#define BYTES	(1UL << 20)

#define REGION	(2UL << 20)
#define REGIONS	262144UL	/* 512 GiB */

static unsigned int mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned int n = 0;
	int c;

	if (!file)
		return 0;
	while ((c = fgetc(file)) != EOF)
		n += c == '\n';
	(void)fclose(file);
	return n;
}

/* Touch a few places, as in a pool that has grown and shrunk. */
static void test_large(void)
{
	unsigned int before, between;
	bool all = true, huge, zero;
	unsigned long i;
	char *addr, *first = NULL;
	void *other;

	before = mappings();
	if (mem_reserve(REGION * REGIONS, false)) {
		/* As with strict overcommit. */
		ok(true, "512 GiB of addresses # SKIP");
		return;
	}
	for (i = 0; i < REGIONS; i++) {
		huge = false;
		addr = mem_map(i * REGION, REGION, &huge);
		all &= addr && !huge;
		if (!addr)
			break;
		first = i ? first : addr;
		all &= addr == first + i * REGION;
		if (i % 1024 < 2)
			addr[i % REGION] = 1;
	}
	ok(all, "512 GiB in regions of 2 MiB, %lu", i);
	for (i = 0; all && i < REGIONS; i += 2)
		mem_unmap(first + i * REGION, REGION);
	between = mappings();
	ok(between < before + 16, "few mappings, %u", between - before);
	other = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ok(other != MAP_FAILED, "so that others can be made");
	zero = all;
	for (i = 0; all && i < REGIONS; i += 1024)
		zero &= !first[i * REGION + i % REGION] &&
			first[(i + 1) * REGION + (i + 1) % REGION] == 1;
	ok(zero, "what was given back is zero, the rest is not");
	mem_release();
}

/* If there are reserved huge pages; none is taken from others. */
static void test_huge(void)
{
	bool huge = true, again = true;
	char *addr, *second;

	ok(!mem_reserve(2 * REGION, true), "addresses for huge pages");
	addr = mem_map(REGION, REGION, &huge);
	ok(addr && !mem_populate(addr, REGION), "memory, on %s pages", huge ? "huge" : "ordinary");
	addr[5] = 5;
	mem_unmap(addr, REGION);
	second = mem_map(REGION, REGION, &again);
	ok(second && !second[5], "it comes back zero");
	mem_unmap(second, REGION);
	mem_release();
}

int main(void)
{
	int fd = memfd_create("mem", 0), i;
	bool zero = true;
	char *addr;

	if (fd < 0 || ftruncate(fd, BYTES))
		return 1;
	addr = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		return 1;
	memset(addr, 1, BYTES);
	ok(!mem_zero(addr, BYTES), "memory is zeroed");
	for (i = 0; i < (int)BYTES; i++)
		zero &= !addr[i];
	ok(zero, "all of it");
	if (ftruncate(fd, BYTES / 2))
		return 1;
	ok(mem_zero(addr, BYTES) == -EFAULT, "what is lost is told, and ends nothing");
	ok(mem_zero(addr, BYTES) == -EFAULT, "each time");
	ok(!mem_zero(addr, BYTES / 2), "what is left is zeroed");
	munmap(addr, BYTES);
	test_large();
	test_huge();
	return tap_done();
}
