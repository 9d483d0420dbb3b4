// SPDX-License-Identifier: GPL-2.0
/*
 * A QEMU plugin that counts cache lines of kernel memory that change hands between processors.
 *
 * Every line that is accessed has a state as in MESI, in caches of unlimited size: the processors
 * that have it, and the one that has it modified. A transfer is one of
 *   TRANSFER_READ	a read of a line that another processor has modified
 *   TRANSFER_WRITE	a write to a line that another processor has modified
 *   TRANSFER_TAKE	a write to a line that other processors have read, and lose by it
 * Transfers are counted by instruction, line and way. The way is the innermost of the functions
 * of interest (struct control) that the task is in.
 *
 * coherence.py steers this through a mapped file, struct control. Nothing is instrumented before
 * it says so; "log nochain" on the monitor then makes QEMU translate all code again.
 *
 * Each processor sleeps for a moment after every few hundred instructions, so that they all
 * progress alike on a host with few processors.
 *
 * QEMU also has this in LD_PRELOAD, where clock_gettime() slows the clock of the guest's timers
 * down (not its TSC): as many instructions then lie between two ticks as on a real machine.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "qemu-plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

#define CPUS		64
#define WAYS		16
#define RANGES		256
#define DEPTH		24	/* nested ways */
#define LINES		(1u << 24)
#define EVENTS		(1u << 20)
#define TASKS		(1u << 14)
#define LINE_SHIFT	6
#define STACK_SHIFT	14
#define NOBODY		0xff
#define FROM_INTERRUPT	1	/* where an interrupt returns to, which is not known */
#define GS_PREFIX	0x65
/* Where the kernel's stacks are: vmalloc memory. */
#define VMALLOC_START	0xffffc90000000000
#define VMALLOC_END	0xffffe90000000000

enum transfer {
	TRANSFER_READ,
	TRANSFER_WRITE,
	TRANSFER_TAKE,
	TRANSFER_NONE,
};

/**
 * struct control - what coherence.py sets, and the counters that it reads
 * @size:	of this structure: both sides must agree
 * @instrument:	code that is translated from now on is instrumented
 * @count:	transfers are counted
 * @slow:	factor by which the guest's clock is slower
 * @quantum:	instructions between two sleeps of a processor
 * @pause_ns:	duration of a sleep
 * @nr_ways:	entries of @ways
 * @nr_skip:	entries of @skip
 * @nr_thunks:	entries of @thunks
 * @nr_irqs:	entries of @irqs
 * @nr_leaves:	entries of @leaves
 * @nr_paging:	the first of @ways are called once a page
 * @contents:	the way whose transfers are counted without their lines, which are many
 * @ways:	first instructions of the functions of interest
 * @irqs:	first instructions of interrupts
 * @skip:	functions that copy pages: their accesses are not looked at
 * @thunks:	functions through which others are called
 * @leaves:	locks and the like: their transfers are their callers'
 * @own:	the module whose per-CPU accesses are counted in @percpu
 * @switch_to:	the function that switches tasks
 * @lost:	transfers for which there was no room in a table
 * @shared:	calls of the first @nr_paging ways, and transfers of a line that each call writes
 * @percpu:	accesses of @own relative to a processor's own memory, and those to lines that another
 *		processor has written; a sum over all processors only reads them
 */
struct control {
	uint32_t size;
	_Atomic uint32_t instrument;
	_Atomic uint32_t count;
	_Atomic uint32_t slow;
	uint32_t quantum;
	uint32_t pause_ns;
	uint32_t nr_ways;
	uint32_t nr_skip;
	uint32_t nr_thunks;
	uint32_t nr_irqs;
	uint32_t nr_leaves;
	uint32_t nr_paging;
	uint32_t contents;
	uint32_t unused;
	uint64_t ways[WAYS];
	uint64_t irqs[RANGES];
	uint64_t skip[RANGES][2];
	uint64_t thunks[RANGES][2];
	uint64_t leaves[RANGES][2];
	uint64_t own[2];
	uint64_t switch_to;
	_Atomic uint64_t lost;
	_Atomic uint64_t shared[2];
	_Atomic uint64_t percpu[2];
};

struct line {
	_Atomic uint64_t tag;
	uint64_t has;		/* a bit for each processor */
	uint8_t writer;		/* the processor that has it modified, or NOBODY */
	_Atomic uint8_t lock;
};

/* Transfers of one instruction, line, way and kind. */
struct event {
	_Atomic uint64_t pc;	/* 0: free */
	uint64_t line;
	uint32_t way_kind;
	_Atomic uint32_t count;
	_Atomic uint32_t ready;
	uint32_t unused;
};

/* A translated block. */
struct block {
	uint64_t start, end;
	uint16_t nr_insns;
	uint8_t way;		/* 1 + index in ways, where a function of interest begins */
	bool irq, thunk, user, iret, leaf;
};

/* The function that a task is in. */
struct context {
	uint64_t stack;
	uint64_t last_end;	/* of the block before */
	uint64_t caller;	/* of a leaf */
	uint64_t returns[DEPTH], ends[DEPTH];
	uint8_t ways[DEPTH];
	unsigned int depth;
	bool in_leaf;
};

static struct cpu {
	struct context task;
	int32_t left;		/* instructions before it sleeps */
	uint32_t random;
} __attribute__((aligned(128))) cpus[CPUS];

/* Tasks that don't run, by the addresses of their stacks. */
static struct context tasks[TASKS];

static struct control *ctl;
static struct line *lines;
static struct event *events;

/* A line that is nowhere in the guest. */
static const uint64_t shared_tag = 1ull << 62;

static inline uint64_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93;
	return x ^ x >> 32;
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void event_count(uint64_t pc, uint64_t line, uint32_t way_kind)
{
	uint32_t at = mix(pc ^ mix(line + way_kind)) & (EVENTS - 1);

	for (int i = 0; i < 64; i++, at = (at + 1) & (EVENTS - 1)) {
		struct event *event = &events[at];
		uint64_t old = atomic_load_explicit(&event->pc, memory_order_acquire);

		if (!old && atomic_compare_exchange_strong(&event->pc, &old, pc)) {
			event->line = line;
			event->way_kind = way_kind;
			atomic_store(&event->ready, 1);
			old = pc;
		}
		if (old != pc)
			continue;
		while (!atomic_load(&event->ready))
			;
		if (event->line != line || event->way_kind != way_kind)
			continue;
		atomic_fetch_add_explicit(&event->count, 1, memory_order_relaxed);
		return;
	}
	count(&ctl->lost);
}

static struct line *line_find(uint64_t tag)
{
	uint32_t at = mix(tag) & (LINES - 1);

	for (int i = 0; i < 256; i++, at = (at + 1) & (LINES - 1)) {
		uint64_t old = atomic_load_explicit(&lines[at].tag, memory_order_acquire);

		if (old == tag)
			return &lines[at];
		if (!old && atomic_compare_exchange_strong(&lines[at].tag, &old, tag))
			return &lines[at];
		if (old == tag)
			return &lines[at];
	}
	count(&ctl->lost);
	return NULL;
}

static enum transfer line_access(unsigned int index, uint64_t tag, bool store)
{
	enum transfer kind = TRANSFER_NONE;
	struct line *line = line_find(tag);
	uint64_t bit = 1ull << index;

	if (!line)
		return kind;
	while (atomic_exchange_explicit(&line->lock, 1, memory_order_acquire))
		;
	if (!line->has)
		line->writer = NOBODY;
	if (store) {
		if (line->writer != NOBODY && line->writer != index)
			kind = TRANSFER_WRITE;
		else if (line->has & ~bit)
			kind = TRANSFER_TAKE;
		line->has = bit;
		line->writer = index;
	} else if (!(line->has & bit)) {
		if (line->writer != NOBODY) {
			kind = TRANSFER_READ;
			line->writer = NOBODY;
		}
		line->has |= bit;
	}
	atomic_store_explicit(&line->lock, 0, memory_order_release);
	return kind;
}

/* Returns whether another processor had written the line. */
static bool access_line(unsigned int index, uint64_t pc, uint64_t tag, bool store)
{
	const struct context *task = &cpus[index].task;
	unsigned int way = task->depth ? task->ways[task->depth - 1] : 0;
	enum transfer kind = line_access(index, tag, store);

	if (kind == TRANSFER_NONE)
		return false;
	if (way && way == ctl->contents)
		tag = 0;
	if (task->in_leaf && task->caller)
		event_count(task->caller - 1, tag << LINE_SHIFT, 1u << 31 | way << 2 | kind);
	else
		event_count(pc, tag << LINE_SHIFT, way << 2 | kind);
	return kind != TRANSFER_TAKE;
}

static bool is_counted(uint64_t vaddr)
{
	return atomic_load_explicit(&ctl->count, memory_order_relaxed) && vaddr >> 63;
}

static bool access_memory(unsigned int index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *pc)
{
	uint64_t end = vaddr + (1u << qemu_plugin_mem_size_shift(info)) - 1;
	bool store = qemu_plugin_mem_is_store(info), written;

	index &= CPUS - 1;
	written = access_line(index, (uint64_t)pc, vaddr >> LINE_SHIFT, store);
	if (vaddr >> LINE_SHIFT != end >> LINE_SHIFT)
		written |= access_line(index, (uint64_t)pc, end >> LINE_SHIFT, store);
	return written;
}

static void on_access(unsigned int index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *pc)
{
	if (is_counted(vaddr))
		access_memory(index, info, vaddr, pc);
}

static void on_percpu(unsigned int index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *pc)
{
	if (!is_counted(vaddr))
		return;
	count(&ctl->percpu[0]);
	if (access_memory(index, info, vaddr, pc))
		count(&ctl->percpu[1]);
}

/* __switch_to_asm() pushes onto the stack of one task, and pops from another's. */
static void on_switch(unsigned int index, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	struct context *task = &cpus[index & (CPUS - 1)].task;
	struct context *kept = &tasks[vaddr >> STACK_SHIFT & (TASKS - 1)];

	(void)data;
	if (vaddr < VMALLOC_START || vaddr >= VMALLOC_END)
		return;
	if (qemu_plugin_mem_is_store(info)) {
		*kept = *task;
		kept->stack = vaddr >> STACK_SHIFT;
	} else if (task->stack != vaddr >> STACK_SHIFT) {
		if (kept->stack == vaddr >> STACK_SHIFT)
			*task = *kept;
		else
			task->depth = 0;
		task->stack = vaddr >> STACK_SHIFT;
	}
}

static void enter(struct context *task, const struct block *block)
{
	if (task->depth == DEPTH)
		return;
	task->ways[task->depth] = block->way ? block->way : ctl->nr_ways + 1;
	task->ends[task->depth] = task->last_end;
	task->returns[task->depth++] = block->way ? task->last_end : FROM_INTERRUPT;
}

/* Returns the end of the block that the interrupt came after. */
static uint64_t leave_interrupt(struct context *task)
{
	for (unsigned int i = task->depth; i--;) {
		if (task->returns[i] == FROM_INTERRUPT) {
			task->depth = i;
			return task->ends[i];
		}
	}
	return 0;
}

static void follow(struct context *task, const struct block *block)
{
	uint64_t restored = 0;

	if (block->user) {
		task->depth = 0;
	} else {
		/* A function that has returned takes along those whose returns were not seen. */
		for (unsigned int i = 0; i < task->depth; i++)
			if (task->returns[i] == block->start)
				task->depth = i;
		/* None of the functions calls itself, except from an interrupt. */
		if (block->way)
			for (unsigned int i = task->depth; i-- && task->returns[i] != FROM_INTERRUPT;)
				if (task->ways[i] == block->way)
					task->depth = i;
		if (block->way || block->irq)
			enter(task, block);
		if (block->iret)
			restored = leave_interrupt(task);
	}
	if (block->leaf && !task->in_leaf)
		task->caller = task->last_end;
	task->in_leaf = block->leaf;
	if (!block->thunk)
		task->last_end = restored ? restored : block->end;
}

static void let_others_run(struct cpu *cpu, unsigned int index)
{
	struct timespec pause = { 0, ctl->pause_ns };

	if (!cpu->random) {
		cpu->random = index + 1;
		prctl(PR_SET_TIMERSLACK, 1);
	}
	cpu->random = cpu->random * 1664525 + 1013904223;
	/* Half to one and a half of it. */
	cpu->left = ctl->quantum / 2 + (cpu->random >> 8) % (ctl->quantum + 1);
	if (atomic_load_explicit(&ctl->count, memory_order_relaxed) && ctl->pause_ns)
		syscall(SYS_nanosleep, &pause, NULL);
}

static void on_block(unsigned int index, void *data)
{
	struct cpu *cpu = &cpus[index & (CPUS - 1)];
	const struct block *block = data;

	follow(&cpu->task, block);
	if (block->way && block->way <= ctl->nr_paging && is_counted(block->start)) {
		count(&ctl->shared[0]);
		if (line_access(index & (CPUS - 1), shared_tag, true) != TRANSFER_NONE)
			count(&ctl->shared[1]);
	}
	cpu->left -= block->nr_insns;
	if (cpu->left <= 0)
		let_others_run(cpu, index);
}

static bool is_among(const uint64_t (*ranges)[2], uint32_t nr, uint64_t address)
{
	for (uint32_t i = 0; i < nr; i++)
		if (address >= ranges[i][0] && address < ranges[i][1])
			return true;
	return false;
}

static struct block *block_make(const struct qemu_plugin_tb *tb, size_t n)
{
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
	struct block *block = calloc(1, sizeof(*block));

	if (!block)
		abort();
	block->start = qemu_plugin_tb_vaddr(tb);
	block->nr_insns = n;
	block->end = qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last);
	block->user = !(block->start >> 63);
	block->thunk = is_among(ctl->thunks, ctl->nr_thunks, block->start);
	block->leaf = is_among(ctl->leaves, ctl->nr_leaves, block->start);
	block->iret = qemu_plugin_insn_size(last) == 2 &&
		      !memcmp(qemu_plugin_insn_data(last), "\x48\xcf", 2);
	for (uint32_t i = 0; i < ctl->nr_ways; i++)
		if (block->start == ctl->ways[i])
			block->way = i + 1;
	for (uint32_t i = 0; i < ctl->nr_irqs; i++)
		block->irq |= block->start == ctl->irqs[i];
	return block;
}

static bool is_percpu(const struct qemu_plugin_insn *insn)
{
	uint64_t pc = qemu_plugin_insn_vaddr(insn);

	return pc >= ctl->own[0] && pc < ctl->own[1] &&
	       *(const uint8_t *)qemu_plugin_insn_data(insn) == GS_PREFIX;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct block *block;
	bool switches;

	(void)id;
	if (!ctl->instrument || !n)
		return;
	block = block_make(tb, n);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
	switches = block->start - ctl->switch_to < 64;
	if (block->user || is_among(ctl->skip, ctl->nr_skip, block->start))
		return;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		qemu_plugin_register_vcpu_mem_cb(insn, switches ? on_switch :
						 is_percpu(insn) ? on_percpu : on_access,
						 QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
						 (void *)qemu_plugin_insn_vaddr(insn));
	}
}

static void *map_file(const char *directory, const char *name, size_t bytes)
{
	void *memory = MAP_FAILED;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd >= 0 && !ftruncate(fd, bytes))
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return memory;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	const char *directory = argc == 1 ? strchr(argv[0], '=') : NULL;

	if (!directory || info->version.cur < QEMU_PLUGIN_VERSION) {
		fprintf(stderr, "cachelines: invalid arguments (should be directory=PATH)\n");
		return 1;
	}
	lines = mmap(NULL, sizeof(*lines) * LINES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (lines == MAP_FAILED) {
		perror("cachelines");
		return 1;
	}
	events = map_file(directory + 1, "events", sizeof(*events) * EVENTS);
	ctl = map_file(directory + 1, "control", sizeof(*ctl));
	ctl->size = sizeof(*ctl);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}

QEMU_PLUGIN_EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static uint64_t slowed, real;
	static uint32_t factor = 1;
	int err = syscall(SYS_clock_gettime, clock, t);
	uint64_t ns;

	if (err || clock != CLOCK_MONOTONIC || !ctl || (ctl->slow <= 1 && !slowed))
		return err;
	pthread_mutex_lock(&lock);
	ns = t->tv_sec * 1000000000ull + t->tv_nsec;
	if (!slowed)
		slowed = real = ns;
	if (ns > real) {
		slowed += (ns - real) / factor;
		real = ns;
	}
	factor = ctl->slow ? ctl->slow : 1;
	t->tv_sec = slowed / 1000000000;
	t->tv_nsec = slowed % 1000000000;
	pthread_mutex_unlock(&lock);
	return 0;
}
