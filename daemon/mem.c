// SPDX-License-Identifier: GPL-2.0
/*
 * Memory from the kernel: reserved huge pages if there are any, otherwise ordinary pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "mem.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif

#define MEM_ALIGN	(2UL << 20)

/*
 * One mapping each for all regions. With a mapping per region the process would exceed
 * vm.max_map_count, and libibverbs could not map a queue.
 */
static struct mem_range {
	char *addr;
	size_t bytes;
} ordinary, huge_pages;

static struct {
	int fd;			/* file on reserved huge pages, or -1 */
	bool advise;		/* use transparent huge pages */
	bool commits;		/* no overcommit: each region needs a mapping of its own */
} mem = { .fd = -1 };

/* Aligned for transparent huge pages. */
static int mem_reserve_ordinary(size_t bytes)
{
	size_t head;
	char *addr;

	mem.commits = false;
	addr = mmap(NULL, bytes + MEM_ALIGN, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addr == MAP_FAILED) {
		mem.commits = true;
		addr = mmap(NULL, bytes + MEM_ALIGN, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	if (addr == MAP_FAILED)
		return -errno;
	head = -(uintptr_t)addr & (MEM_ALIGN - 1);
	if (head)
		munmap(addr, head);
	ordinary.addr = addr + head;
	ordinary.bytes = bytes;
	munmap(ordinary.addr + bytes, MEM_ALIGN - head);
	return 0;
}

/* Keep other machines' pages out of core dumps, which would also take long to write. */
static void mem_advise(void *addr, size_t bytes)
{
	madvise(addr, bytes, MADV_DONTDUMP);
	if (mem.advise)
		madvise(addr, bytes, MADV_HUGEPAGE);
}

/* A failure is ignored: all regions then use ordinary pages. */
static void mem_reserve_huge(size_t bytes)
{
	char *addr;

	mem.fd = memfd_create("farswapd", MFD_CLOEXEC | MFD_HUGETLB);
	if (mem.fd < 0)
		return;
	if (!ftruncate(mem.fd, (off_t)bytes)) {
		addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			    mem.fd, 0);
		if (addr != MAP_FAILED) {
			huge_pages.addr = addr;
			huge_pages.bytes = bytes;
			madvise(addr, bytes, MADV_DONTDUMP);
			return;
		}
	}
	close(mem.fd);
	mem.fd = -1;
}

int mem_reserve(size_t bytes, bool huge)
{
	int err = mem_reserve_ordinary(bytes);

	if (err)
		return err;
	mem.advise = huge;
	if (!mem.commits)
		mem_advise(ordinary.addr, bytes);
	if (huge)
		mem_reserve_huge(bytes);
	return 0;
}

bool mem_is_scattered(void)
{
	return mem.commits;
}

void mem_release(void)
{
	if (ordinary.addr)
		munmap(ordinary.addr, ordinary.bytes);
	if (huge_pages.addr)
		munmap(huge_pages.addr, huge_pages.bytes);
	if (mem.fd >= 0)
		close(mem.fd);
	ordinary.addr = NULL;
	huge_pages.addr = NULL;
	mem.fd = -1;
}

static void mem_punch(size_t offset, size_t bytes)
{
	fallocate(mem.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
}

static void *mem_map_huge(size_t offset, size_t bytes)
{
	if (!huge_pages.addr)
		return NULL;
	if (!fallocate(mem.fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes))
		return huge_pages.addr + offset;
	mem_punch(offset, bytes);
	return NULL;
}

static void *mem_remap(char *addr, size_t bytes, int prot)
{
	void *at = mmap(addr, bytes, prot,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void mem_init(void)
{
	/* With vm.memory_failure_early_kill one bad page would end the daemon and all regions. */
	(void)prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_LATE, 0, 0);
}

void *mem_map(size_t offset, size_t bytes, bool *huge)
{
	void *addr = *huge ? mem_map_huge(offset, bytes) : NULL;

	*huge = addr;
	if (addr)
		return addr;
	addr = ordinary.addr + offset;
	if (!mem.commits)
		return addr;
	addr = mem_remap(addr, bytes, PROT_READ | PROT_WRITE);
	if (addr)
		mem_advise(addr, bytes);
	return addr;
}

int mem_populate(void *addr, size_t bytes)
{
	if (!madvise(addr, bytes, MADV_POPULATE_WRITE))
		return 0;
	/* Don't fall back to writing: at a cgroup's limit that might never return. */
	if (errno != EINVAL)
		return -errno;
	/* Before Linux 5.14 writing has the same effect. */
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

	/* An uncorrectable memory error must not end the daemon and all regions. */
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
	char *at = addr;

	if (huge_pages.addr && at >= huge_pages.addr && at < huge_pages.addr + huge_pages.bytes) {
		mem_punch(at - huge_pages.addr, bytes);
		return;
	}
	if (mem.commits) {
		mem_remap(at, bytes, PROT_NONE);
		return;
	}
	/* Works on locked memory since Linux 5.18. */
	if (!madvise(at, bytes, MADV_DONTNEED_LOCKED) || !madvise(at, bytes, MADV_DONTNEED))
		return;
	if (mem_remap(at, bytes, PROT_READ | PROT_WRITE))
		mem_advise(at, bytes);
}
