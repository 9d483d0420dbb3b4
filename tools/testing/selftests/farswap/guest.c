// SPDX-License-Identifier: GPL-2.0
/*
 * guest - a stand-in for a virtual machine.
 *
 * It has the memory of a guest, filled with known contents, and answers a byte on a socket as a
 * guest's kernel answers an echo: it reads a small set of pages first, whose contents it verifies.
 * Started by a link with the name of QEMU it is found as a virtual machine. It knows nothing of
 * farswap.
 *
 *	guest [-name NAME] -m MIB [-s] [-l] SOCKET	shared memory with -s, locked with -l
 *	guest ask SOCKET e|v				echo, or verify all memory; prints the time
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "page.h"

/* The pages of its kernel that an echo needs. */
#define KERNEL_PAGES	64
#define KERNEL_STRIDE	97

static unsigned char *memory;
static size_t pages;

static void die(const char *what)
{
	printf("guest: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_socket(const char *path, int (*use)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || use(fd, (struct sockaddr *)&address, sizeof(address)))
		die(path);
	return fd;
}

static bool page_has(size_t page)
{
	return page_is((uint64_t *)(memory + page * PAGE_BYTES), page_tag(1, page, 1));
}

static size_t wrong_pages(size_t first, size_t nr, size_t stride)
{
	size_t i, wrong = 0;

	for (i = 0; i < nr; i++)
		wrong += !page_has((first + i * stride) % pages);
	return wrong;
}

static void serve(const char *path)
{
	int fd = open_socket(path, bind), client;
	size_t wrong;
	char what;

	if (listen(fd, 1))
		die(path);
	puts("ready");
	fflush(stdout);
	while ((client = accept(fd, NULL, NULL)) >= 0) {
		if (read(client, &what, 1) == 1) {
			wrong = what == 'v' ? wrong_pages(0, pages, 1) :
				wrong_pages(0, KERNEL_PAGES, KERNEL_STRIDE);
			if (write(client, &wrong, sizeof(wrong)) < 0)
				die("write");
		}
		close(client);
	}
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static int ask(const char *path, const char *what)
{
	int fd = open_socket(path, connect);
	uint64_t began = now_us();
	size_t wrong = 0;

	if (write(fd, what, 1) != 1 || read(fd, &wrong, sizeof(wrong)) != sizeof(wrong))
		die("no answer");
	printf("answered in %llu us, %zu pages are wrong\n",
	       (unsigned long long)(now_us() - began), wrong);
	return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
	bool shared = false, locked = false;
	int i, fd = -1;
	size_t page;

	if (argc == 4 && !strcmp(argv[1], "ask"))
		return ask(argv[2], argv[3]);
	for (i = 1; i < argc - 1; i++) {
		if (!strcmp(argv[i], "-m") && i + 1 < argc - 1)
			pages = strtoul(argv[++i], NULL, 10) << 8;
		else if (!strcmp(argv[i], "-s"))
			shared = true;
		else if (!strcmp(argv[i], "-l"))
			locked = true;
	}
	if (!pages)
		return 2;
	if (shared) {
		fd = memfd_create("guest", 0);
		if (fd < 0 || ftruncate(fd, (off_t)(pages * PAGE_BYTES)))
			die("memfd");
	}
	memory = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
		      shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (memory == MAP_FAILED || (locked && mlock(memory, pages * PAGE_BYTES)))
		die("memory");
	for (page = 0; page < pages; page++)
		page_fill((uint64_t *)(memory + page * PAGE_BYTES), page_tag(1, page, 1));
	serve(argv[argc - 1]);
	return 1;
}
