// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of farswapctl for units, on a copy of a machine whose kernel this file plays: it
 * takes memory from a cgroup down to what the cgroup needs, and time passes only in sleeps.
 */
#include "ctl-run.h"

#include "ctl/resolve.c"

#include <sys/socket.h>

#define CG		"/sys/fs/cgroup"
#define WEB		"/system.slice/web.service"
#define MIB		(1ULL << 20)

static uint64_t clock_us = 1000000;
static unsigned int sleeps_left = 100000;
static char shown[8 << 20];

static uint64_t get(const char *path)
{
	char line[64] = "";

	(void)file_line(path, line, sizeof(line));
	return strtoull(line, NULL, 10);
}

/* Append a line to a file of the copy. */
static void note(const char *path, const char *text)
{
	char full[512];
	FILE *file;

	file_path(full, sizeof(full), path);
	file = fopen(full, "a");
	fprintf(file, "%s\n", text);
	fclose(file);
}

/* Take memory of a cgroup, and let its tasks wait, as /sim says. */
static void take(const char *dir, uint64_t bytes)
{
	char path[600];
	uint64_t now, least = get("/sim/least"), stall = get("/sim/stall_us");

	snprintf(path, sizeof(path), "%s/memory.current", dir);
	now = get(path);
	bytes = now < least ? 0 : bytes < now - least ? bytes : now - least;
	put(path, "%llu\n", (unsigned long long)(now - bytes));
	snprintf(path, sizeof(path), "%s/memory.swap.current", dir);
	put(path, "%llu\n", (unsigned long long)(get(path) + bytes));
	clock_us += 100000;
	snprintf(path, sizeof(path), "%s/memory.pressure", dir);
	put("/sim/total", "%llu\n", (unsigned long long)(get("/sim/total") + stall));
	put(path, "some avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n",
	    (unsigned long long)get("/sim/total"));
}

int action_write(const char *path, const char *text)
{
	char dir[512];
	uint64_t now;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (!strcmp(strrchr(path, '/'), "/memory.reclaim")) {
		note("/sim/reclaims", text);
		take(dir, strtoull(text, NULL, 10));
		return 0;
	}
	put(path, "%s\n", text);
	if (!strcmp(strrchr(path, '/'), "/memory.high") && strcmp(text, "max") != 0) {
		snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "/memory.current");
		now = get(dir);
		*strrchr(dir, '/') = '\0';
		if (now > strtoull(text, NULL, 10))
			take(dir, now - strtoull(text, NULL, 10));
	}
	return 0;
}

int action_pidfd(unsigned int pid)
{
	(void)pid;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

ssize_t action_willneed(int pidfd, const struct iovec *ranges, unsigned int nr)
{
	char text[64], current[64];
	unsigned int i;

	(void)pidfd;
	snprintf(current, sizeof(current), CG WEB "/memory.current");
	for (i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "%lx+%zu at %llu", (unsigned long)ranges[i].iov_base,
			 ranges[i].iov_len, (unsigned long long)clock_us);
		note("/sim/pulled", text);
		put(current, "%llu\n", (unsigned long long)(get(current) + ranges[i].iov_len));
	}
	return 1;
}

uint64_t action_now_us(void)
{
	return clock_us;
}

/* A measured working set misses when it is smaller than /sim/set. */
void action_sleep_ms(unsigned int ms)
{
	clock_us += ms * 1000ULL;
	if (get(CG WEB "/memory.current") < get("/sim/set"))
		put(CG WEB "/memory.stat", "unevictable 0\nworkingset_refault_anon %llu\n",
		    (unsigned long long)(get("/sim/refaults") + ms));
	if (!--sleeps_left)
		unit_signalled = SIGTERM;
}

/* Play QEMU's monitor: answers a line by a line, with an event before each. */
static void fake_qemu(int fd)
{
	static const char devices[] =
		"{\"return\": [{\"type\": \"dimm\", \"data\": {\"size\": 1, \"id\": \"d0\"}}, "
		"{\"type\": \"virtio-mem\", \"data\": {\"max-size\": 1073741824, "
		"\"requested-size\": 134217728, \"id\": \"vm0\"}}]}\n";
	FILE *file = fdopen(fd, "r+");
	char line[1024];

	setbuf(file, NULL);
	fputs("{\"QMP\": {\"version\": {}}}\n", file);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		note("/sim/qmp", line);
		fputs("{\"event\": \"NEWS\", \"data\": {}}\n", file);
		if (strstr(line, "query-memory-devices"))
			fputs(get("/sim/virtio") ? devices : "{\"return\": []}\n", file);
		else if (strstr(line, "device_add") && get("/sim/full"))
			fputs("{\"error\": {\"class\": \"GenericError\", \"desc\": \"no slots\"}}\n", file);
		else
			fputs("{\"return\": {}}\n", file);
	}
	_exit(0);
}

int action_connect(const char *path)
{
	int pair[2];

	if (strcmp(path, "/run/qmp.sock") != 0) {
		errno = ENOENT;
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -1;
	if (!fork()) {
		close(pair[0]);
		fake_qemu(pair[1]);
	}
	close(pair[1]);
	return pair[0];
}

static void forget(void)
{
	gone("/sim/reclaims");
	gone("/sim/pulled");
}

static bool is(const char *path, const char *text)
{
	char line[128] = "";

	(void)file_line(path, line, sizeof(line));
	if (!strcmp(line, text))
		return true;
	printf("# %s is \"%s\", not \"%s\"\n", path, line, text);
	return false;
}

static const char *contents(const char *path)
{
	char *text = file_read(path);

	snprintf(shown, sizeof(shown), "%s", text ? text : "");
	free(text);
	return shown;
}

static void make_cgroup(const char *path, unsigned int mib, unsigned int pid)
{
	char file[600];

	snprintf(file, sizeof(file), CG "%s/memory.current", path);
	put(file, "%llu\n", mib * MIB);
	snprintf(file, sizeof(file), CG "%s/memory.high", path);
	put(file, "max\n");
	snprintf(file, sizeof(file), CG "%s/memory.max", path);
	put(file, "max\n");
	snprintf(file, sizeof(file), CG "%s/memory.swap.max", path);
	put(file, "max\n");
	snprintf(file, sizeof(file), CG "%s/memory.swap.current", path);
	put(file, "0\n");
	snprintf(file, sizeof(file), CG "%s/memory.pressure", path);
	put(file, "some avg10=1.50 avg60=0.00 avg300=0.00 total=0\n");
	snprintf(file, sizeof(file), CG "%s/memory.stat", path);
	put(file, "unevictable 0\nworkingset_refault_anon 0\npgmajfault 0\n");
	snprintf(file, sizeof(file), CG "%s/cgroup.procs", path);
	put(file, "%u\n", pid);
	put("/sim/total", "0\n");
	put("/sim/least", "%llu\n", 20 * MIB);
	put("/sim/stall_us", "0\n");
	put("/sim/set", "0\n");
	put("/sim/refaults", "0\n");
	forget();
}

static void make_machine(unsigned int pid, const char *name, const char *cgroup,
			 const char *memory, const char *status_text)
{
	char path[128], full[640];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	put(path, "x");
	snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "w");
	fprintf(file, "/usr/bin/qemu-system-x86_64%c-m%c512%c-name%c%s%c", 0, 0, 0, 0, name, 0);
	fclose(file);
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	put(path, "0::%s\n", cgroup);
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	put(path, "qemu-system-x86\n");
	snprintf(path, sizeof(path), "/proc/%u/smaps", pid);
	put(path, "55d0-55d1 r-xp 00000000 08:01 1 /usr/bin/qemu-system-x86_64\nSize: 20480 kB\nRss: 9000 kB\n"
	    "7f00-7f20 %s", memory);
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	put(path, "Name:\tqemu\nPPid:\t1\nVmLck:\t0 kB\n%s", status_text);
}

static const char plain[] = "rw-p 00000000 00:00 0 \nSize: 524288 kB\nKernelPageSize: 4 kB\n"
	"Rss: 300000 kB\nSwap: 102400 kB\nLocked: 0 kB\n7f30-7f31 rw-p 00000000 00:00 0 \nSize: 8 kB\n";

static void make_machines(void)
{
	make_cgroup("/machine.slice/machine-qemu1.scope", 400, 101);
	make_machine(101, "guest=alpha,debug-threads=on", "/machine.slice/machine-qemu1.scope/libvirt",
		     plain, "");
	put(CG "/machine.slice/machine-qemu1.scope/libvirt/cgroup.procs", "101\n");
	make_cgroup("/huge.scope", 10, 102);
	make_machine(102, "beta", "/huge.scope",
		     "rw-s 00000000 00:00 0 /dev/hugepages/x\nSize: 524288 kB\nKernelPageSize: 2048 kB\n", "");
	make_cgroup("/pinned.scope", 10, 103);
	make_machine(103, "gamma", "/pinned.scope", plain, "VmPin:\t524288 kB\n");
	make_cgroup("/locked.scope", 10, 104);
	make_machine(104, "delta", "/locked.scope",
		     "rw-s 00000000 00:00 0 /memfd:memory-backend-memfd\nSize: 524288 kB\n"
		     "KernelPageSize: 4 kB\nLocked: 524288 kB\n", "");
	make_cgroup("/shell.scope", 10, 105);
	make_machine(105, "epsilon", "/shell.scope", plain, "");
	put(CG "/shell.scope/cgroup.procs", "105\n106\n107\n");
	put("/proc/106/status", "Name:\tvirtiofsd\nPPid:\t105\n");
	put("/proc/107/status", "Name:\tbash\nPPid:\t1\n");
	put("/proc/107/comm", "bash\n");
	make_machine(108, "zeta", "/", plain, "");
	put("/proc/109/cmdline", "bash");
}

static void test_machines(void)
{
	make_machines();
	run("vm", "list", NULL);
	ok(!status && has("alpha                    101        512          292         100      -      max   1.50 private\n") &&
	   has("beta                     102        512            0           0      -      max   1.50 huge\n") &&
	   has("gamma                    103        512          292         100      -      max   1.50 pinned\n") &&
	   has("delta                    104        512            0           0      -      max   1.50 locked\n") &&
	   has("private, cgroup not its own") && !strstr(output, "bash"),
	   "virtual machines are found, with the memory of their guests");
	put("/sys/kernel/debug/farswap/cgroups", "path remote max_pages pages stored loaded refused load_ns weight\n"
	    "/machine.slice/machine-qemu1.scope 1 max 12800 0 0 0 0 0\n");
	run("vm", "list", "--json", NULL);
	ok(!status && is_json() && has("\"name\":\"alpha\"") && has("\"guest_bytes\":536870912"),
	   "and as JSON");
	run("vm", "list", NULL);
	ok(!status && has("         100    50%"), "the part that donors have is known with a policy");
	run("vm", "size", "omega", "64M", NULL);
	ok(status == CTL_UNKNOWN && has("there is no virtual machine 'omega'; there are: ") &&
	   has("alpha") && has("zeta"), "an unknown name gives the names");
	run("vm", "size", "beta", "64M", NULL);
	ok(status == CTL_PROBLEM && has("beta is on huge pages of 2M"), "huge pages are refused");
	run("shrink", "gamma", "64M", NULL);
	ok(status == CTL_PROBLEM && has("512M of gamma are pinned"), "pinned memory is refused");
	run("vm", "min", "delta", NULL);
	ok(status == CTL_PROBLEM && has("512M of delta are locked"), "locked memory is refused");
	run("vm", "size", "epsilon", "64M", NULL);
	ok(status == CTL_PROBLEM && has("shares its cgroup with bash (107)") && has("/shell.scope"),
	   "another program in the cgroup is named, and a child of the machine is none");
	run("vm", "size", "zeta", "64M", NULL);
	ok(status == CTL_PROBLEM && has("has no cgroup"), "no cgroup");
	run("vm", "frob", "alpha", NULL);
	ok(status == CTL_UNKNOWN && has("vm: unknown word 'frob'"), "an unknown verb");
	run("vm", "size", "alpha", NULL);
	ok(status == CTL_UNKNOWN && has("wrong number of arguments (NAME SIZE)"), "a missing size");
	run("vm", "pull", "--step", "1M", "alpha", NULL);
	ok(status == CTL_UNKNOWN && has("--step is not valid for pull"), "another verb's option");
	run("vm", "size", "alpha", "100M", NULL);
	ok(!status && is(CG "/machine.slice/machine-qemu1.scope/memory.high", "104857600") &&
	   has("alpha: 100M in memory"), "a machine of libvirt is shrunk");
}

static void test_shrink(void)
{
	make_cgroup(WEB, 300, 200);
	run("shrink", "web", "100M", NULL);
	ok(!status && has("web: 100M in memory, 200M swapped\n") &&
	   is(CG WEB "/memory.high", "104857600") && is(CG WEB "/memory.max", "max"),
	   "a unit is shrunk, and memory.high keeps it");
	ok(!strncmp(contents("/sim/reclaims"), "67108864 swappiness=200\n", 24),
	   "in steps, anonymous memory first");
	make_cgroup(WEB, 300, 200);
	run("shrink", WEB, "100M", "--step", "1M", "--json", NULL);
	ok(!status && is_json() && has("\"resident_bytes\":104857600") && has("\"reason\":null"),
	   "and as JSON");
	make_cgroup(WEB, 300, 200);
	put("/sim/stall_us", "50000\n");
	run("shrink", "web.service", "100M", "--step", "10M", NULL);
	ok(status == CTL_PROBLEM && has("waited for memory for 50.0% of the time") &&
	   is(CG WEB "/memory.high", "max"), "pressure ends it, and nothing keeps the size");
	ok(get(CG WEB "/memory.current") > 200 * MIB, "before much is taken");
	run("shrink", "web.service", "100M", "--psi", "60", NULL);
	ok(!status, "more pressure can be allowed");
	make_cgroup(WEB, 300, 200);
	put("/sim/least", "%llu\n", 150 * MIB);
	run("shrink", "web", "100M", NULL);
	ok(status == CTL_PROBLEM && has("web: 150M in memory, 150M swapped; the rest is in use"),
	   "it says where it could not go on");
	put(CG WEB "/memory.stat", "unevictable 150000000\n");
	run("shrink", "web", "100M", NULL);
	ok(status == CTL_PROBLEM && has("143M of it are locked"), "because of locked memory");
	put(CG WEB "/memory.swap.max", "0\n");
	run("shrink", "web", "100M", NULL);
	ok(status == CTL_PROBLEM && has("its memory.swap.max is 0"), "or because it may not swap");
	make_cgroup(WEB, 300, 200);
	run("shrink", "web", "min", NULL);
	ok(!status && has("web: 20M in memory, 280M swapped") && is(CG WEB "/memory.high", "max"),
	   "min finds the least");
	run("shrink", "web", "1M", NULL);
	ok(status == CTL_UNKNOWN && has("invalid size '1M' (at least 8M"), "a size that is too small");
	run("shrink", "web", "64X", NULL);
	ok(status == CTL_UNKNOWN && has("invalid size '64X'"), "a size that is none");
	run("shrink", "web", "64M", "--psi", "101", NULL);
	ok(status == CTL_UNKNOWN && has("--psi: invalid value '101' (range 0-100"), "a bad percentage");
	run("shrink", "/nothing", "64M", NULL);
	ok(status == CTL_UNKNOWN && has("there is no cgroup /sys/fs/cgroup/nothing"), "no such path");
	run("shrink", "nothing", "64M", NULL);
	ok(status == CTL_UNKNOWN && has("'nothing' is no virtual machine and no running"), "no such unit");
	make_cgroup("/user.slice/web.service", 10, 201);
	run("shrink", "web", "64M", NULL);
	ok(status == CTL_UNKNOWN && has("there are 2 units 'web'; give the path of one"), "two such units");
	gone(CG "/user.slice/web.service/cgroup.procs");
	put("/proc/swaps", "Filename Type Size Used Priority\n");
	make_cgroup(WEB, 300, 200);
	run("shrink", WEB, "64M", NULL);
	ok(!status && has("warning: no swap is on"), "no swap is warned of");
	put("/proc/swaps", "Filename Type Size Used Priority\n/dev/vda partition 524288 102400 -2\n");
}

/* Pages 16 to 47 of 1024 are swapped, and 600 to 603; the rest are in memory or were never used. */
static void make_pagemap(void)
{
	char full[512];
	uint64_t entry;
	unsigned int i;
	FILE *file;

	put("/proc/200/maps", "00000000-00400000 rw-p 00000000 00:00 0 \n");
	put("/proc/200/pagemap", "x");
	snprintf(full, sizeof(full), "%s/proc/200/pagemap", root);
	file = fopen(full, "w");
	for (i = 0; i < 1024; i++) {
		entry = i % 2 ? PULL_PRESENT : 0;
		if ((i >= 16 && i < 48) || (i >= 600 && i < 604))
			entry = PULL_SWAPPED;
		fwrite(&entry, sizeof(entry), 1, file);
	}
	fclose(file);
	put("/proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 2097152 kB\n");
}

static void test_pull(void)
{
	make_cgroup(WEB, 100, 200);
	make_pagemap();
	run("pull", WEB, NULL);
	ok(!status && !strncmp(contents("/sim/pulled"), "10000+131072 at ", 16) &&
	   strstr(shown, "\n258000+16384 at "), "what is swapped is read back, and nothing else");
	make_cgroup(WEB, 100, 200);
	run("pull", WEB, "--json", NULL);
	ok(!status && is_json() && has("\"pulled_bytes\":147456") && has("\"reason\":null"), "as JSON");
	make_cgroup(WEB, 100, 200);
	put(CG WEB "/memory.high", "%llu\n", 106 * MIB);
	run("pull", WEB, NULL);
	ok(!status && has("memory.high or memory.max is near") && !*contents("/sim/pulled"),
	   "nothing is read near memory.high");
	make_cgroup("/system.slice", 100, 0);
	make_cgroup(WEB, 100, 200);
	put(CG "/system.slice/memory.max", "%llu\n", 106 * MIB);
	run("pull", WEB, NULL);
	ok(!status && has("memory.high or memory.max is near"), "nor near the limit of the cgroup above");
	put(CG "/system.slice/memory.max", "max\n");
	put("/proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 262144 kB\n");
	run("pull", WEB, NULL);
	ok(!status && has("the machine would be short of memory"), "nor if the machine is short of memory");
	run("pull", WEB, "--leave", "64M", NULL);
	ok(!status && has("asked for 0M, 100M in memory\n") && *contents("/sim/pulled"),
	   "less can be left");
	make_cgroup(WEB, 100, 200);
	put("/proc/200/maps", "00000000-00400000 rw-s 00000000 00:01 7 /memfd:guest (deleted)\n");
	run("pull", WEB, "--leave", "64M", NULL);
	ok(!status && strstr(contents("/sim/pulled"), "\n2000+4096 at"),
	   "of shared memory all that is not mapped is asked for");
	make_cgroup(WEB, 100, 200);
	put("/proc/200/maps", "00000000-00400000 rw-s 00000000 00:01 7 /var/file\n");
	run("pull", WEB, "--leave", "64M", NULL);
	ok(!status && !*contents("/sim/pulled"), "but not of files");
}

/* The last range of 8 MiB at 1 MiB a second is asked for after 6 seconds or more. */
static void test_rate(void)
{
	uint64_t entry = PULL_SWAPPED, first, last;
	char full[512];
	unsigned int i;
	FILE *file;

	make_cgroup(WEB, 100, 200);
	make_pagemap();
	put("/proc/200/maps", "00000000-00800000 rw-p 00000000 00:00 0 \n");
	snprintf(full, sizeof(full), "%s/proc/200/pagemap", root);
	file = fopen(full, "w");
	for (i = 0; i < 2048; i++)
		fwrite(&entry, sizeof(entry), 1, file);
	fclose(file);
	run("pull", WEB, "--rate", "1", NULL);
	contents("/sim/pulled");
	first = strtoull(strstr(shown, " at ") + 4, NULL, 10);
	last = strstr(shown, "600000+") ? strtoull(strstr(strstr(shown, "600000+"), " at ") + 4, NULL, 10) : 0;
	ok(!status && last >= first + 5900000 && last < first + 6500000, "the rate is kept");
	make_cgroup(WEB, 100, 200);
	put(CG WEB "/memory.high", "%llu\n", 90 * MIB);
	run("grow", WEB, "1G", "--pull", NULL);
	ok(!status && is(CG WEB "/memory.high", "1073741824") && *contents("/sim/pulled"),
	   "grow raises memory.high and then reads back");
	put(CG WEB "/memory.max", "%llu\n", 200 * MIB);
	run("grow", WEB, "max", NULL);
	ok(!status && is(CG WEB "/memory.high", "max") && has("its memory.max is 200M"),
	   "and warns of memory.max");
}

static void test_keep(void)
{
	make_cgroup(WEB, 100, 200);
	sleeps_left = 4;
	run("keep", WEB, NULL);
	ok(!status && !strncmp(contents("/sim/reclaims"), "1048576\n", 8) &&
	   get(CG WEB "/memory.current") < 98 * MIB && get(CG WEB "/memory.current") > 96 * MIB,
	   "a hundredth is taken at each interval without pressure");
	make_cgroup(WEB, 100, 200);
	/* 6 ms of 6 s are the pressure that is allowed. */
	put("/sim/stall_us", "6200\n");
	sleeps_left = 8;
	run("keep", WEB, NULL);
	ok(!status && get(CG WEB "/memory.current") < 98 * MIB &&
	   get(CG WEB "/memory.current") > 95 * MIB, "nothing is taken after an interval with more");
	make_cgroup(WEB, 100, 200);
	put("/proc/swaps", "Filename Type Size Used Priority\n/dev/vda partition 524288 520000 -2\n");
	sleeps_left = 4;
	run("keep", WEB, NULL);
	ok(!status && !*contents("/sim/reclaims"), "nor if swap is almost full");
	put("/proc/swaps", "Filename Type Size Used Priority\n/dev/vda partition 524288 102400 -2\n");
	make_cgroup(WEB, 100, 200);
	gone(CG WEB "/memory.pressure");
	run("keep", WEB, NULL);
	ok(status == CTL_UNKNOWN && has("boot the kernel with psi=1"), "a kernel without PSI");
	sleeps_left = 100000;
}

static void test_measure(void)
{
	make_cgroup(WEB, 100, 200);
	put("/proc/200/clear_refs", "x");
	put("/proc/200/smaps_rollup", "00-ff ---p 0 0 0 [rollup]\nRss: 102400 kB\nPss: 102400 kB\n"
	    "Referenced: 25600 kB\nLocked: 10240 kB\nSwapPss: 2048 kB\n");
	run("advise", WEB, NULL);
	ok(!status && is("/proc/200/clear_refs", "1") &&
	   has("100M in memory, 65M (65%) of them not accessed for 60 s, 2M swapped") &&
	   has("farswapctl shrink " WEB " 35M"), "cold memory is measured");
	run("advise", WEB, "--json", NULL);
	ok(!status && is_json() && has("\"cold_bytes\":68157440"), "as JSON");
	make_cgroup(WEB, 200, 200);
	put(CG WEB "/memory.high", "%llu\n", 900 * MIB);
	put("/sim/set", "%llu\n", 100 * MIB);
	run("wss", WEB, "--step", "20M", NULL);
	ok(!status && has("209715200,0,0,0.00\n") && has("its working set is 100M; it reads back more pages") &&
	   is(CG WEB "/memory.high", "943718400"), "the working set is measured, and memory.high restored");
	make_cgroup(WEB, 200, 200);
	put("/sim/set", "%llu\n", 100 * MIB);
	run("wss", WEB, "--step", "20M", "--json", NULL);
	ok(!status && is_json() && has("\"working_set_bytes\":104857600"), "as JSON");
}

static void test_hotplug(void)
{
	char full[512];
	FILE *file;

	make_machines();
	put("/proc/101/cmdline", "x");
	snprintf(full, sizeof(full), "%s/proc/101/cmdline", root);
	file = fopen(full, "w");
	fprintf(file, "/usr/bin/qemu-system-x86_64%c-name%calpha%c-qmp%cunix:/run/qmp.sock,server=on%c",
		0, 0, 0, 0, 0);
	fclose(file);
	put("/sim/virtio", "1\n");
	put("/sim/full", "0\n");
	run("vm", "hotplug", "alpha", "+512M", NULL);
	ok(!status && has("alpha: 512M more by vm0\n") &&
	   strstr(contents("/sim/qmp"), "\"path\":\"/machine/peripheral/vm0\",\"property\":\"requested-size\",\"value\":671088640"),
	   "a virtio-mem device with room grows");
	gone("/sim/qmp");
	run("hotplug", "alpha", "1G", "--json", NULL);
	ok(!status && is_json() && has("\"device\":\"farswap-dimm2\"") &&
	   strstr(contents("/sim/qmp"), "\"size\":1073741824") && strstr(shown, "\"memdev\":\"farswap-mem2\""),
	   "without room a module is plugged");
	gone("/sim/qmp");
	put("/sim/full", "1\n");
	run("hotplug", "alpha", "1G", NULL);
	ok(status == CTL_PROBLEM && has("alpha: no slots; a machine that is to grow needs free slots") &&
	   strstr(contents("/sim/qmp"), "object-del"), "a machine without a slot is named, and nothing is left");
	put("/sim/virtio", "0\n");
	run("hotplug", "alpha", "100M", NULL);
	ok(status == CTL_UNKNOWN && has("must be a multiple of 128M"), "a size that is no module's");
	run("hotplug", "alpha", "+0", NULL);
	ok(status == CTL_UNKNOWN && has("invalid size '+0'"), "no size");
	run("hotplug", "beta", "1G", NULL);
	ok(status == CTL_UNKNOWN && has("beta has no QMP socket that can be found"), "no socket");
	run("hotplug", "beta", "1G", "--qmp", "/run/other", NULL);
	ok(status == CTL_PROBLEM && has("beta: /run/other: No such file"), "a socket that is not there");
}

static void test_policies(void)
{
	make_cgroup(WEB, 100, 200);
	put("/sys/kernel/farswap/attached", "1\n");
	put("/sys/kernel/debug/farswap/stats", "store_remote 0\n");
	put("/etc/hostname", "x\n");
	put("/sys/kernel/farswap/cgroups", "\n");
	run("cgroup", "set", "/batch.slice", "max=4G", NULL);
	ok(!status && is("/sys/kernel/farswap/cgroups", "/batch.slice max=4G") &&
	   strstr(contents("/etc/farswap/cgroups"), "\n/batch.slice max=4G\n"), "a policy is set and kept");
	make_cgroup("/only.scope", 10, 201);
	run("cgroup", "set", "only", "remote=0", "backup=none", NULL);
	ok(!status && strstr(contents("/etc/farswap/cgroups"), "\n/batch.slice max=4G\n/only.scope remote=0 backup=none\n"),
	   "by the name of a unit, too");
	run("cgroup", "set", "/batch.slice", "max=2G", NULL);
	ok(!status && strstr(contents("/etc/farswap/cgroups"), "\n/only.scope remote=0 backup=none\n/batch.slice max=2G\n") &&
	   !strstr(shown, "4G"), "another policy for it replaces its line");
	put("/sys/kernel/farswap/cgroups", "/batch.slice remote=1 max=2097152K weight=300 backup=default\n/x remote=1 max=max weight=0 backup=none\n");
	put("/sys/kernel/debug/farswap/cgroups", "path remote max_pages pages stored loaded refused load_ns weight\n"
	    "/batch.slice 1 524288 2560 5000 100 7 2500000 300\n/x 1 max 0 0 0 0 0 0\n");
	run("cgroup", "show", NULL);
	ok(!status && has("/batch.slice                                  1     2048    300  default       10       5000        100          7      25 yes\n") &&
	   has("/x                                            1      max      0     none        0          0          0          0       0 no\n"),
	   "policies are shown with their accounts");
	run("cgroup", "show", "--json", NULL);
	ok(!status && is_json() && has("\"max_pages\":524288") && has("\"kept\":false"), "as JSON");
	run("cgroup", "set", "/batch.slice/", "-", NULL);
	ok(!status && !strstr(contents("/etc/farswap/cgroups"), "batch") && strstr(shown, "/only.scope") &&
	   is("/sys/kernel/farswap/cgroups", "/batch.slice -"), "a policy is removed");
	run("cgroup", "set", "/batch.slice", NULL);
	ok(!status && strstr(contents("/etc/farswap/cgroups"), "\n/batch.slice\n"), "one that only counts");
	run("cgroup", "frob", NULL);
	ok(status == CTL_UNKNOWN && has("cgroup: expected show, or set"), "another word");
	gone("/sys/kernel/farswap/attached");
	run("cgroup", "set", "/batch.slice", "max=1G", NULL);
	ok(status == CTL_UNKNOWN && has("run: modprobe farswap"), "the module is not loaded");
	put("/sys/kernel/farswap/attached", "1\n");
}

int main(void)
{
	const char *const remove[] = { "rm", "-rf", root, NULL };

	if (!mkdtemp(root))
		return 1;
	man = file_read(MAN);
	if (!man)
		return 1;
	ctl.root = root;
	put("/proc/swaps", "Filename Type Size Used Priority\n/dev/vda partition 524288 102400 -2\n");
	put("/sys/kernel/farswap/attached", "1\n");
	test_machines();
	test_shrink();
	test_pull();
	test_rate();
	test_keep();
	test_measure();
	test_hotplug();
	test_policies();
	check_run(remove, output, sizeof(output));
	free(man);
	return tap_done();
}
