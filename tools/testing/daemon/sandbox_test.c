// SPDX-License-Identifier: GPL-2.0
/*
 * What is left to the daemon once it runs: another user, one capability, and no system calls that
 * start programs or reach other processes. Each test runs in a process of its own.
 */
#include "meminfo.c"
#include "sandbox.c"
#include "seal.c"

#include <pthread.h>
#include <sys/wait.h>

#include "quiet.h"
#include "tap.h"

#define NOBODY	"65534"

/* The exit status of @fn in another process. */
static int in_child(int (*fn)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint64_t capabilities(const char *which)
{
	return meminfo_read("/proc/self/status", which, ':', 16);
}

static int drop(const char *user)
{
	uid_t real, effective, saved;
	gid_t groups[2];

	if (sandbox_drop(user))
		return 10;
	if (getresuid(&real, &effective, &saved))
		return 11;
	if (capabilities("CapPrm") != 1U << CAP_IPC_LOCK ||
	    capabilities("CapEff") != 1U << CAP_IPC_LOCK || capabilities("CapInh"))
		return 12;
	if (strcmp(user, "root") && getgroups(0, NULL) > 0 && getgroups(2, groups) > 0 && !groups[0])
		return 13;
	/* There is no way back. */
	if (strcmp(user, "root") && (!setuid(0) || !seteuid(0)))
		return 14;
	return real == effective && real == saved ? (int)(real % 100) : 15;
}

static int drop_to_nobody(void)
{
	return drop(NOBODY);
}

static int drop_to_root(void)
{
	return drop("root");
}

static int drop_to_stranger(void)
{
	return drop("no-such-user");
}

static void *thread(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static int sealed(void)
{
	char *const argv[] = { "false", NULL };
	pthread_t other;
	int ran = 0, fd;

	sandbox_seal();
	if (execve("/bin/false", argv, argv + 1) != -1 || errno != EPERM)
		return 1;
	if (socket(AF_UNIX, SOCK_STREAM, 0) != -1 || errno != EPERM)
		return 2;
	if (fork() != -1 || errno != EPERM)
		return 3;
	if (syscall(__NR_ptrace, 0, 0, 0, 0) != -1 || errno != EPERM)
		return 4;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || close(fd))
		return 5;
	fd = open("/dev/null", O_RDWR);
	if (fd < 0 || close(fd))
		return 6;
	if (pthread_create(&other, NULL, thread, &ran) || pthread_join(other, NULL) || !ran)
		return 7;
	return 0;
}

int main(void)
{
	int status = in_child(sealed);

	ok(!status, "no programs, no processes, no Unix sockets, but the rest: %d", status);
	if (geteuid() || !(capabilities("CapEff") & 1U << CAP_SETUID)) {
		puts("# the rest needs root");
		return tap_done();
	}
	status = in_child(drop_to_nobody);
	ok(status == 34, "another user, with one capability: %d", status);
	status = in_child(drop_to_root);
	ok(!status, "root, with one capability: %d", status);
	status = in_child(drop_to_stranger);
	ok(status == 10, "a user that does not exist is an error: %d", status);
	return tap_done();
}
