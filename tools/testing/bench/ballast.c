// SPDX-License-Identifier: GPL-2.0
/*
 * Places one page in each of the given number of clusters of a swap device: it pages out one huge
 * page at a time, in which only the first page is not zero, and frees the other pages. Ends when
 * all are there; a child keeps them until it is killed.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096
#define HUGE	(2 << 20)
/* In which the next slab is mapped, µs. */
#define PAUSE	20000

static int fail(const char *what)
{
	fputs("ballast: ", stderr);
	perror(what);
	return 1;
}

static int put_out(uint64_t number)
{
	char *whole = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	char *memory = (char *)(((uintptr_t)whole + HUGE - 1) & -HUGE);

	if (whole == MAP_FAILED)
		return fail("mmap");
	if (madvise(memory, HUGE, MADV_HUGEPAGE))
		return fail("MADV_HUGEPAGE");
	*(uint64_t *)memory = number + 1;
	if (madvise(memory, HUGE, MADV_PAGEOUT))
		return fail("MADV_PAGEOUT");
	if (memory > whole && munmap(whole, memory - whole))
		return fail("munmap");
	if (munmap(memory + PAGE, whole + 2 * HUGE - memory - PAGE))
		return fail("munmap");
	usleep(PAUSE);
	return 0;
}

int main(int argc, char **argv)
{
	size_t nr = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	int status = 0, ends[2];
	char ready = 1;

	if (!nr) {
		fputs("usage: ballast CLUSTERS\n", stderr);
		return 2;
	}
	if (pipe(ends))
		return fail("pipe");
	switch (fork()) {
	case -1:
		return fail("fork");
	case 0:
		for (size_t i = 0; i < nr && !status; i++)
			status = put_out(i);
		if (status || !freopen("/dev/null", "w", stdout) ||
		    !freopen("/dev/null", "w", stderr) || write(ends[1], &ready, 1) != 1)
			return 1;
		pause();
		return 0;
	default:
		close(ends[1]);
		return read(ends[0], &ready, 1) != 1;
	}
}
