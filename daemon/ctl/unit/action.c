// SPDX-License-Identifier: GPL-2.0
/*
 * Everything by which the commands for units change this machine, and the clock. A unit test has
 * its own in place of these.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "ctl/unit/unit.h"

int action_write(const char *path, const char *text)
{
	char full[1024];
	ssize_t n;
	int fd;

	file_path(full, sizeof(full), path);
	fd = open(full, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

int action_pidfd(unsigned int pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

ssize_t action_willneed(int pidfd, const struct iovec *ranges, unsigned int nr)
{
	return syscall(SYS_process_madvise, pidfd, ranges, nr, MADV_WILLNEED, 0);
}

uint64_t action_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

void action_sleep_ms(unsigned int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	(void)nanosleep(&time, NULL);
}

int action_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || !connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}
