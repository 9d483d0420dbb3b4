// SPDX-License-Identifier: GPL-2.0
/*
 * Memory from the kernel: huge pages if there are any, else ordinary ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "mem.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#define MEM_ALIGN	(2UL << 20)

static void *mem_map_huge(size_t bytes)
{
	void *addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

/* Aligned, so that transparent huge pages fit. */
static void *mem_map_aligned(size_t bytes)
{
	char *addr, *aligned;
	size_t head;

	addr = mmap(NULL, bytes + MEM_ALIGN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addr == MAP_FAILED)
		return NULL;
	head = -(uintptr_t)addr & (MEM_ALIGN - 1);
	aligned = addr + head;
	if (head)
		munmap(addr, head);
	munmap(aligned + bytes, MEM_ALIGN - head);
	return aligned;
}

void mem_init(void)
{
	/* Or else a page of one region would end those of all, with vm.memory_failure_early_kill. */
	(void)prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_LATE, 0, 0);
}

void *mem_map(size_t bytes, bool *huge)
{
	void *addr = *huge ? mem_map_huge(bytes) : NULL;

	if (!addr) {
		addr = mem_map_aligned(bytes);
		if (!addr)
			return NULL;
		if (*huge)
			madvise(addr, bytes, MADV_HUGEPAGE);
		*huge = false;
	}
	/* What others have put there is not for a file of ours, nor to be waited for. */
	madvise(addr, bytes, MADV_DONTDUMP);
	return addr;
}

int mem_populate(void *addr, size_t bytes)
{
	if (!madvise(addr, bytes, MADV_POPULATE_WRITE))
		return 0;
	/* To write where there is no memory might never end, at the limit of a cgroup. */
	if (errno != EINVAL)
		return -errno;
	/* A kernel before 5.14, where this does the same. */
	memset(addr, 0, bytes);
	return 0;
}

static sigjmp_buf mem_lost;

static void mem_sigbus(int signo)
{
	(void)signo;
	siglongjmp(mem_lost, 1);
}

int mem_zero(void *addr, size_t bytes)
{
	struct sigaction action = { .sa_handler = mem_sigbus }, old;
	int err = 0;

	/* What an uncorrectable error has taken away must not end everybody's regions. */
	sigaction(SIGBUS, &action, &old);
	if (!sigsetjmp(mem_lost, 1))
		memset(addr, 0, bytes);
	else
		err = -EFAULT;
	sigaction(SIGBUS, &old, NULL);
	return err;
}

void mem_unmap(void *addr, size_t bytes)
{
	munmap(addr, bytes);
}
