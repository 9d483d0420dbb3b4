// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is lost while it is lent: what the kernel answers with SIGBUS, as it does
 * beyond the end of a file.
 */
#include "mem.c"

#include <unistd.h>

#include "tap.h"

#define BYTES	(1UL << 20)

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
	return tap_done();
}
