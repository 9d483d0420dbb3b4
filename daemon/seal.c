// SPDX-License-Identifier: GPL-2.0
/*
 * The filter of system calls once the daemon runs. farswapd parses untrusted messages and runs
 * vendors' libraries. An attacker who takes it over must not be able to start programs, to connect
 * to Unix sockets, or to access other processes.
 *
 * It lists what is refused, because nobody knows all that the libraries of all adapters call.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "sandbox.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#if defined(__x86_64__)
#define SEAL_ARCH	AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SEAL_ARCH	AUDIT_ARCH_AARCH64
#endif

static const int seal_calls[] = {
#ifdef __NR_fork
	__NR_fork, __NR_vfork,
#endif
#ifdef __NR_mknod
	__NR_mknod, __NR_chmod, __NR_chown, __NR_link, __NR_symlink, __NR_rename,
#endif
	__NR_execve, __NR_execveat, __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev,
	__NR_kcmp, __NR_pidfd_getfd, __NR_pidfd_open, __NR_unshare, __NR_setns, __NR_chroot,
	__NR_pivot_root, __NR_mount, __NR_umount2, __NR_move_mount, __NR_open_tree, __NR_fsopen,
	__NR_mknodat, __NR_fchmod, __NR_fchmodat, __NR_fchown, __NR_fchownat, __NR_linkat,
	__NR_symlinkat, __NR_renameat2, __NR_setuid, __NR_setgid, __NR_setreuid, __NR_setregid,
	__NR_setresuid, __NR_setresgid, __NR_setgroups, __NR_capset, __NR_personality,
	__NR_init_module, __NR_finit_module, __NR_delete_module, __NR_kexec_load, __NR_reboot,
	__NR_swapon, __NR_swapoff, __NR_bpf, __NR_perf_event_open, __NR_userfaultfd,
	__NR_io_uring_setup, __NR_add_key, __NR_request_key, __NR_keyctl, __NR_open_by_handle_at,
	__NR_memfd_create, __NR_acct, __NR_quotactl, __NR_settimeofday, __NR_clock_settime,
	__NR_sethostname, __NR_setdomainname, __NR_syslog,
};

/* The families of sockets that the RDMA libraries and link.c use. */
static const int seal_families[] = { AF_INET, AF_INET6, AF_NETLINK };

struct seal {
	struct sock_filter code[2 * ARRAY_SIZE(seal_calls) + ARRAY_SIZE(seal_families) + 32];
	unsigned short len;
};

static void seal_add(struct seal *seal, struct sock_filter what)
{
	seal->code[seal->len++] = what;
}

static void seal_load(struct seal *seal, unsigned int offset)
{
	seal_add(seal, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void seal_return(struct seal *seal, unsigned int what)
{
	seal_add(seal, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* Skip @skip instructions if the loaded word is not @value. */
static void seal_unless(struct seal *seal, unsigned int value, unsigned char skip)
{
	seal_add(seal, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
}

static void seal_if(struct seal *seal, unsigned int value, unsigned char skip)
{
	seal_add(seal, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, skip, 0));
}

/* The lower half of an argument; both architectures are little endian. */
#define SEAL_ARG(n)	(offsetof(struct seccomp_data, args) + (n) * sizeof(__u64))

#define SEAL_REFUSE	(SECCOMP_RET_ERRNO | EPERM)

#ifdef SEAL_ARCH
static void seal_build(struct seal *seal)
{
	size_t i;

	seal_load(seal, offsetof(struct seccomp_data, arch));
	seal_if(seal, SEAL_ARCH, 1);
	seal_return(seal, SEAL_REFUSE);
	seal_load(seal, offsetof(struct seccomp_data, nr));
	/* Refuse x32 calls, which have other numbers. */
	seal_add(seal, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1U << 30, 0, 1));
	seal_return(seal, SEAL_REFUSE);
	for (i = 0; i < ARRAY_SIZE(seal_calls); i++) {
		seal_unless(seal, seal_calls[i], 1);
		seal_return(seal, SEAL_REFUSE);
	}
	/* Its flags are in memory, so the library has to use clone(). */
	seal_unless(seal, __NR_clone3, 1);
	seal_return(seal, SECCOMP_RET_ERRNO | ENOSYS);
	/* Threads, but not processes. */
	seal_unless(seal, __NR_clone, 4);
	seal_load(seal, SEAL_ARG(0));
	seal_add(seal, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD,
						    1, 0));
	seal_return(seal, SEAL_REFUSE);
	seal_return(seal, SECCOMP_RET_ALLOW);
	seal_unless(seal, __NR_socket, ARRAY_SIZE(seal_families) + 2);
	seal_load(seal, SEAL_ARG(0));
	for (i = 0; i < ARRAY_SIZE(seal_families); i++)
		seal_if(seal, seal_families[i], ARRAY_SIZE(seal_families) - i);
	seal_return(seal, SEAL_REFUSE);
	seal_return(seal, SECCOMP_RET_ALLOW);
}

void sandbox_seal(void)
{
	struct seal seal = { .len = 0 };
	struct sock_fprog program = { .filter = seal.code };

	seal_build(&seal);
	program.len = seal.len;
	/* Apply the filter to all threads, including those of libraries. */
	if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		log_warn("cannot filter system calls: %s", strerror(errno));
}
#else
void sandbox_seal(void)
{
}
#endif
