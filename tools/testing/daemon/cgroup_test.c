// SPDX-License-Identifier: GPL-2.0
/*
 * The memory that the limits of the daemon's cgroup and its ancestors leave. The files are replaced
 * by names and numbers.
 */
#include "cgroup.c"

#include "tap.h"

#define MB	(1ULL << 20)

static struct file {
	const char *path;
	uint64_t value;
} files[16];

static void file_set(unsigned int nr, const char *path, uint64_t value)
{
	files[nr].path = path;
	files[nr].value = value;
}

static uint64_t file_get(const char *path)
{
	const struct file *file;

	for (file = files; file->path; file++)
		if (!strcmp(file->path, path))
			return file->value;
	return 0;
}

uint64_t meminfo_number(const char *path, int base)
{
	return base == 10 ? file_get(path) : 0;
}

uint64_t meminfo_read(const char *path, const char *name, char after, int base)
{
	return !strcmp(name, "inactive_file") && after == ' ' && base == 10 ? file_get(path) : 0;
}

static void setup(const char *own)
{
	memset(files, 0, sizeof(files));
	strcpy(cgroup_own, own);
}

int main(void)
{
	setup("");
	ok(cgroup_room() == UINT64_MAX, "without cgroups there is no limit");
	setup("/a/b");
	ok(cgroup_room() == UINT64_MAX, "nor where none is set");

	file_set(0, "/sys/fs/cgroup/a/b/memory.max", 100 * MB);
	file_set(1, "/sys/fs/cgroup/a/b/memory.current", 30 * MB);
	ok(cgroup_room() == 70 * MB, "a limit leaves what is not used of it");
	file_set(2, "/sys/fs/cgroup/a/b/memory.high", 80 * MB);
	ok(cgroup_room() == 50 * MB, "the lower of two counts");
	file_set(3, "/sys/fs/cgroup/a/memory.max", 200 * MB);
	file_set(4, "/sys/fs/cgroup/a/memory.current", 190 * MB);
	ok(cgroup_room() == 10 * MB, "also that of one above");
	file_set(5, "/sys/fs/cgroup/a/memory.stat", 25 * MB);
	ok(cgroup_room() == 35 * MB, "but what others have read there goes when memory is short");
	file_set(5, "/sys/fs/cgroup/a/memory.stat", 300 * MB);
	ok(cgroup_room() == 50 * MB, "all of it at most");
	file_set(4, "/sys/fs/cgroup/a/memory.current", 600 * MB);
	ok(!cgroup_room(), "and beyond a limit there is none");

	setup("/");
	file_set(0, "/sys/fs/cgroup/memory.max", 100 * MB);
	file_set(1, "/sys/fs/cgroup/memory.current", 30 * MB);
	ok(cgroup_room() == 70 * MB, "a container sees its own as the root's");
	setup("/a");
	file_set(0, "/sys/fs/cgroup/memory.max", 100 * MB);
	file_set(1, "/sys/fs/cgroup/memory.current", 30 * MB);
	ok(cgroup_room() == 70 * MB, "from below too");
	return tap_done();
}
