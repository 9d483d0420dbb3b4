// SPDX-License-Identifier: GPL-2.0
/*
 * Attaches BPF programs that count calls to functions of the kernel, until it is killed:
 *
 *	bpf KIND FUNCTION...
 *
 * KIND is fentry or fexit, a program for each function, by a trampoline; kprobe or kretprobe, one
 * program for all, by kprobe.multi; or churn, fexit programs that are attached and detached
 * again and again, with the rounds counted for each function. To standard output, which
 * has to be a file, "attached", and a line "FUNCTION CALLS" each, kept up to date.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BTF_FILE	"/sys/kernel/btf/vmlinux"
#define FUNCTIONS_MAX	16
#define SHOW_US		100000
#define CHURN_US	10000
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Newer than some headers. */
#ifndef BPF_F_KPROBE_MULTI_RETURN
#define BPF_F_KPROBE_MULTI_RETURN	1
#endif

static const char *const *functions;
static unsigned int nr_functions;
static int counts_fd;
static int programs[FUNCTIONS_MAX];
static int links[FUNCTIONS_MAX];
static uint64_t rounds[FUNCTIONS_MAX];
static sigset_t end_signals;

static void die(const char *what, const char *name)
{
	fprintf(stderr, "bpf: %s %s: %s\n", what, name, strerror(errno));
	exit(1);
}

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static void *read_types(size_t *size)
{
	int fd = open(BTF_FILE, O_RDONLY);
	struct stat status;
	size_t done = 0;
	void *types;

	if (fd < 0 || fstat(fd, &status))
		die("can't read", BTF_FILE);
	types = malloc(status.st_size);
	if (!types)
		die("no memory for", BTF_FILE);
	while (done < (size_t)status.st_size) {
		ssize_t more = read(fd, types + done, status.st_size - done);

		if (more <= 0)
			die("can't read", BTF_FILE);
		done += more;
	}
	close(fd);
	*size = done;
	return types;
}

/* Bytes that follow a type. */
static size_t type_tail(const struct btf_type *type)
{
	unsigned int members = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return members * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return members * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return members * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return members * sizeof(struct btf_var_secinfo);
	case BTF_KIND_ENUM64:
		return members * 3 * sizeof(uint32_t);
	default:
		return 0;
	}
}

static uint32_t function_id(const void *types, const char *name)
{
	const struct btf_header *header = types;
	const char *strings = types + header->hdr_len + header->str_off;
	const void *at = types + header->hdr_len + header->type_off;
	const void *end = at + header->type_len;
	uint32_t id;

	for (id = 1; at < end; id++) {
		const struct btf_type *type = at;

		if (BTF_INFO_KIND(type->info) == BTF_KIND_FUNC &&
		    !strcmp(strings + type->name_off, name))
			return id;
		at += sizeof(*type) + type_tail(type);
	}
	errno = ENOENT;
	die("no types of", name);
	return 0;
}

static void make_counts(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = FUNCTIONS_MAX * sizeof(uint64_t),
		.max_entries = 1,
	};

	counts_fd = bpf(BPF_MAP_CREATE, &attr);
	if (counts_fd < 0)
		die("can't make", "a map");
}

/* counts[number]++; return 0; */
static int load_program(unsigned int type, unsigned int attach_type, unsigned int number,
			uint32_t id, const char *name)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = counts_fd },
		{ .imm = number * sizeof(uint64_t) },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_2, .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = type,
		.expected_attach_type = attach_type,
		.insns = (uintptr_t)code,
		.insn_cnt = ARRAY_SIZE(code),
		.license = (uintptr_t)"GPL",
		.attach_btf_id = id,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		die("can't load a program for", name);
	return fd;
}

static bool attach_trampolines(void)
{
	unsigned int i;

	for (i = 0; i < nr_functions; i++) {
		union bpf_attr attr = { .raw_tracepoint = { .prog_fd = programs[i] } };

		links[i] = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
		if (links[i] < 0)
			return false;
		rounds[i]++;
	}
	return true;
}

static void load_trampolines(unsigned int attach_type)
{
	size_t size;
	void *types = read_types(&size);
	unsigned int i;

	for (i = 0; i < nr_functions; i++)
		programs[i] = load_program(BPF_PROG_TYPE_TRACING, attach_type, i,
					   function_id(types, functions[i]), functions[i]);
	free(types);
}

static void attach_probes(unsigned int flags)
{
	union bpf_attr attr = {
		.link_create = {
			.prog_fd = load_program(BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, 0, 0,
						"all"),
			.attach_type = BPF_TRACE_KPROBE_MULTI,
			.kprobe_multi = {
				.flags = flags,
				.cnt = nr_functions,
				.syms = (uintptr_t)functions,
			},
		},
	};

	if (bpf(BPF_LINK_CREATE, &attr) < 0)
		die("can't attach to", "all");
}

static void show(const uint64_t *counts, unsigned int nr, const char *all)
{
	char text[FUNCTIONS_MAX * 80];
	size_t length = 0;
	unsigned int i;

	length += snprintf(text, sizeof(text), "attached\n");
	/* The text never becomes shorter. */
	for (i = 0; i < nr; i++)
		length += snprintf(text + length, sizeof(text) - length, "%s %20llu\n",
				   all ? all : functions[i], (unsigned long long)counts[i]);
	if (pwrite(STDOUT_FILENO, text, length, 0) != (ssize_t)length)
		die("can't write", "to standard output");
}

static void show_counts(unsigned int nr, const char *all)
{
	uint64_t counts[FUNCTIONS_MAX];
	uint32_t first = 0;
	union bpf_attr attr = {
		.map_fd = counts_fd,
		.key = (uintptr_t)&first,
		.value = (uintptr_t)counts,
	};

	if (bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		die("can't read", "the counts");
	show(counts, nr, all);
}

/* Sleep; returns true, perhaps early, if the program must end. */
static bool ended_after(unsigned int us)
{
	struct timespec time = { .tv_nsec = us * 1000 };

	return sigtimedwait(&end_signals, NULL, &time) > 0;
}

/* farswap may hold a function exclusively while it attaches or detaches. */
static void churn(void)
{
	unsigned int i;

	do {
		if (!attach_trampolines() && errno != EBUSY)
			die("can't attach to", "a function");
		usleep(CHURN_US);
		for (i = 0; i < nr_functions; i++) {
			if (links[i] > 0)
				close(links[i]);
			links[i] = 0;
		}
		show(rounds, nr_functions, NULL);
	} while (!ended_after(CHURN_US));
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	bool probe = !strcmp(kind, "kprobe") || !strcmp(kind, "kretprobe");

	if (argc < 3 || argc - 2 > FUNCTIONS_MAX ||
	    !(probe || !strcmp(kind, "fentry") || !strcmp(kind, "fexit") ||
	      !strcmp(kind, "churn"))) {
		fprintf(stderr, "usage: bpf fentry|fexit|kprobe|kretprobe|churn FUNCTION...\n");
		return 2;
	}
	functions = (const char *const *)argv + 2;
	nr_functions = argc - 2;
	sigemptyset(&end_signals);
	sigaddset(&end_signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &end_signals, NULL);
	make_counts();
	if (probe) {
		attach_probes(!strcmp(kind, "kretprobe") ? BPF_F_KPROBE_MULTI_RETURN : 0);
	} else {
		load_trampolines(strcmp(kind, "fentry") ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY);
		if (!strcmp(kind, "churn")) {
			churn();
			return 0;
		}
		if (!attach_trampolines())
			die("can't attach to", "a function");
	}
	do {
		show_counts(probe ? 1 : nr_functions, probe ? "all" : NULL);
	} while (!ended_after(SHOW_US));
	return 0;
}
