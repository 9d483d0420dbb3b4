// SPDX-License-Identifier: GPL-2.0
/*
 * Limits and privileges. The namespaces, and a system call filter for the start as well, are in
 * farswapd.service.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "meminfo.h"
#include "sandbox.h"

/* Memory for message buffers, queues and the program itself. */
#define SANDBOX_SLACK	((uint64_t)64 << 20)
/* Open files in addition to one per connection. */
#define SANDBOX_FILES	64
/* While a client resumes it has its old and its new connection. */
#define SANDBOX_CONNECTIONS	2
/* Mappings of a connection: rings and doorbells of five queue pairs and a completion queue. */
#define SANDBOX_CLIENT_MAPS	16
#define SANDBOX_MAPS		256
/* The user to become if there is one, and a device that it must be able to open. */
#define SANDBOX_USER		"farswapd"
#define SANDBOX_NODE		"/dev/infiniband/rdma_cm"

static int sandbox_check_memlock(uint64_t bytes)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	if (!setrlimit(RLIMIT_MEMLOCK, &limit))
		return 0;
	if (meminfo_read("/proc/self/status", "CapEff", ':', 16) & 1ULL << CAP_IPC_LOCK)
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return -errno;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &limit);
	}
	if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes + SANDBOX_SLACK)
		return 0;
	log_err("RLIMIT_MEMLOCK is %" PRIu64 "K, but %" PRIu64 "K are needed: start farswapd as root, with LimitMEMLOCK=infinity, or after ulimit -l unlimited",
		(uint64_t)limit.rlim_cur >> 10, (bytes + SANDBOX_SLACK) >> 10);
	return -EPERM;
}

int sandbox_check_memory(uint64_t bytes, uint64_t most)
{
	if (most && bytes > most) {
		log_err("memory: invalid value %" PRIu64 "M (this machine can lend up to %" PRIu64 "M)",
			bytes >> 20, most >> 20);
		return -ENOMEM;
	}
	return sandbox_check_memlock(bytes);
}

void sandbox_check_nodes(void)
{
	struct stat node;

	if (!stat(SANDBOX_NODE, &node) && node.st_mode & 0002)
		log_warn(SANDBOX_NODE " is open to all users of this machine, who can borrow memory in its name: set its mode to 0660, by a udev rule");
}

void sandbox_raise_files(unsigned int clients)
{
	unsigned int files = SANDBOX_CONNECTIONS * clients + SANDBOX_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < files)
		log_warn("RLIMIT_NOFILE is %" PRIu64 ", too low for %u clients: set LimitNOFILE=%u, or clients lower",
			 (uint64_t)limit.rlim_max, clients, files);
}

void sandbox_check_maps(unsigned int clients, unsigned int regions)
{
	uint64_t most = meminfo_number("/proc/sys/vm/max_map_count", 10);
	uint64_t maps = (uint64_t)SANDBOX_CONNECTIONS * clients * SANDBOX_CLIENT_MAPS +
			2ULL * regions + SANDBOX_MAPS;

	if (most && most < maps)
		log_warn("vm.max_map_count is %" PRIu64 ", too low for %u clients%s: set it to %" PRIu64 "%s",
			 most, clients, regions ? " and a mapping for each region" : "", maps,
			 regions ? ", or vm.overcommit_memory to 0" : "");
}

void sandbox_lock_memory(void)
{
	static const char adj[] = "-1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, adj, strlen(adj)) < 0)
		log_warn("cannot set oom_score_adj: %s",
			 strerror(errno));
	if (fd >= 0)
		close(fd);
#if !defined(__SANITIZE_ADDRESS__) && !defined(FARSWAPD_ASAN)
	/* Future memory is locked when it is touched: regions are filled piecewise. */
	if (mlockall(MCL_CURRENT) || mlockall(MCL_FUTURE | MCL_ONFAULT))
		log_warn("cannot lock memory: %s", strerror(errno));
#endif
}

/* Return the user of this name or number; 0, or -errno. */
static int sandbox_find_user(const char *name, uid_t *uid, gid_t *gid)
{
	const struct passwd *user = getpwnam(name);
	unsigned long number;
	char *end;

	if (user) {
		*uid = user->pw_uid;
		*gid = user->pw_gid;
		return 0;
	}
	number = strtoul(name, &end, 10);
	if (!isdigit((unsigned char)*name) || *end || number >= UINT32_MAX)
		return -ENOENT;
	*uid = number;
	*gid = number;
	return 0;
}

/* Besides the user's group, keep only the group that may open the RDMA devices, if there is one. */
static int sandbox_set_groups(gid_t gid)
{
	struct stat node;

	if (!stat(SANDBOX_NODE, &node) && node.st_gid)
		return setgroups(2, (gid_t[]){ gid, node.st_gid });
	return setgroups(1, &gid);
}

/* Become another user, and keep the capabilities, which are dropped later. */
static int sandbox_become(const char *name)
{
	uid_t uid;
	gid_t gid;

	if (sandbox_find_user(name, &uid, &gid)) {
		log_err("user: there is no user '%s'; create it, as with useradd --system %s, or set user = root",
			name, name);
		return -ENOENT;
	}
	if (uid && (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || sandbox_set_groups(gid) ||
		    setresgid(gid, gid, gid) || setresuid(uid, uid, uid))) {
		log_err("user: cannot become user '%s': %s", name, strerror(errno));
		return -EPERM;
	}
	return 0;
}

static int sandbox_set_user(const char *name)
{
	uid_t uid;
	gid_t gid;

	if (geteuid())
		return 0;
	if (*name)
		return sandbox_become(name);
	if (!sandbox_find_user(SANDBOX_USER, &uid, &gid))
		return sandbox_become(SANDBOX_USER);
	log_warn("there is no user " SANDBOX_USER ": running as root; create it, as with useradd --system " SANDBOX_USER);
	return 0;
}

static int sandbox_drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[0].permitted &= 1U << CAP_IPC_LOCK;
	data[0].effective = data[0].permitted;
	data[0].inheritable = 0;
	memset(&data[1], 0, sizeof(data[1]));
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

int sandbox_drop(const char *user)
{
	int err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		err = -errno;
		log_err("cannot set no_new_privs: %s", strerror(-err));
		return err;
	}
	err = sandbox_set_user(user);
	if (err)
		return err;
	err = sandbox_drop_capabilities();
	if (err) {
		log_err("cannot drop capabilities: %s", strerror(-err));
		return err;
	}
	/* Processes with the same user id must not read lent memory. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}
