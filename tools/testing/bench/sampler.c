// SPDX-License-Identifier: GPL-2.0
/*
 * sampler HZ: what a machine's processors execute, so many times a second of each one's time,
 * until it is told to end by SIGTERM. Then it prints a line for each sample: the addresses in
 * the kernel of the instruction and of what called it, "user" where it was none of the
 * kernel's; and then "lost N" of those that it had no room for.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE		4096
#define RING_PAGES	128
#define SAMPLES_MAX	32768
#define DEPTH		48
#define CPUS_MAX	64

struct sample {
	uint32_t nr;
	uint64_t calls[DEPTH];
};

static struct sample *samples;
static unsigned int nr_samples;
static unsigned long lost;
static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct perf_event_mmap_page *open_cpu(int cpu, unsigned int hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_user = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	void *ring;

	if (fd < 0)
		die("perf_event_open");
	ring = mmap(NULL, (RING_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		die("mmap");
	return ring;
}

/* Out of the ring, in whose end it may begin. */
static void copy_out(const char *data, uint64_t at, void *to, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		((char *)to)[i] = data[(at + i) % (RING_PAGES * PAGE)];
}

static void take_sample(const char *data, uint64_t at)
{
	struct sample *sample = &samples[nr_samples];
	uint64_t head[2], call, i;

	if (nr_samples == SAMPLES_MAX) {
		lost++;
		return;
	}
	copy_out(data, at, head, sizeof(head));
	for (i = 0; i < head[1]; i++) {
		copy_out(data, at + sizeof(head) + i * sizeof(call), &call, sizeof(call));
		/* PERF_CONTEXT_KERNEL, and others that are no addresses. */
		if (call < PERF_CONTEXT_MAX && sample->nr < DEPTH)
			sample->calls[sample->nr++] = call;
	}
	nr_samples++;
}

static void take_all(struct perf_event_mmap_page *ring)
{
	const char *data = (const char *)ring + PAGE;
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header event;
	uint64_t at;

	for (at = ring->data_tail; at < head; at += event.size) {
		copy_out(data, at, &event, sizeof(event));
		if (event.type == PERF_RECORD_SAMPLE)
			take_sample(data, at + sizeof(event));
		else if (event.type == PERF_RECORD_LOST)
			lost++;
	}
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
}

static void print_all(void)
{
	unsigned int i, j;

	for (i = 0; i < nr_samples; i++) {
		for (j = 0; j < samples[i].nr; j++)
			printf("%llx%c", (unsigned long long)samples[i].calls[j],
			       j + 1 < samples[i].nr ? ' ' : '\n');
		if (!samples[i].nr)
			puts("user");
	}
	printf("lost %lu\n", lost);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = end };
	struct perf_event_mmap_page *rings[CPUS_MAX];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int hz = argc == 2 ? atoi(argv[1]) : 0;
	long cpu;

	if (hz < 1 || cpus > CPUS_MAX) {
		fprintf(stderr, "usage: sampler HZ, on %d processors at most\n", CPUS_MAX);
		return 2;
	}
	samples = calloc(SAMPLES_MAX, sizeof(*samples));
	if (!samples)
		die("no memory");
	sigaction(SIGTERM, &action, NULL);
	for (cpu = 0; cpu < cpus; cpu++)
		rings[cpu] = open_cpu(cpu, hz);
	/* Nothing of this may be swapped while others are looked at. */
	if (mlockall(MCL_CURRENT | MCL_ONFAULT))
		die("mlockall");
	puts("ready");
	fflush(stdout);
	while (!ended) {
		usleep(100000);
		for (cpu = 0; cpu < cpus; cpu++)
			take_all(rings[cpu]);
	}
	print_all();
	return 0;
}
