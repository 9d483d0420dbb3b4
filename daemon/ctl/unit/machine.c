// SPDX-License-Identifier: GPL-2.0
/*
 * Finds virtual machines: the processes of QEMU. The memory of a guest is their large mappings.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/client.h"
#include "ctl/unit/unit.h"

/* Smaller mappings are QEMU's own. */
#define MACHINE_RAM_MIN		(16ULL << 20)
#define MACHINE_ARGS		1024
/* From this part of the memory on, locked pages keep a machine from being shrunk. */
#define MACHINE_LOCKED_PART	8

unsigned int machine_args(unsigned int pid, char **text, char ***args)
{
	char path[64], full[512], *at, *end;
	unsigned int nr = 0;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	file_path(full, sizeof(full), path);
	*text = calloc(1, 1 << 17);
	*args = calloc(MACHINE_ARGS, sizeof(**args));
	file = *text && *args ? fopen(full, "re") : NULL;
	if (!file)
		return 0;
	length = fread(*text, 1, (1 << 17) - 1, file);
	(void)fclose(file);
	end = *text + length;
	for (at = *text; at < end && nr < MACHINE_ARGS; at += strlen(at) + 1)
		(*args)[nr++] = at;
	return nr;
}

static bool machine_is_qemu(const char *program)
{
	const char *slash = strrchr(program, '/');

	program = slash ? slash + 1 : program;
	return !strncmp(program, "qemu-system-", 12) || !strcmp(program, "qemu-kvm") ||
	       !strcmp(program, "kvm");
}

/* The name is given as "NAME,..." or "guest=NAME,...". */
static bool machine_name(struct machine *machine)
{
	unsigned int nr, i;
	char *text, **args;
	const char *name;
	bool is;

	nr = machine_args(machine->pid, &text, &args);
	is = nr && machine_is_qemu(args[0]);
	snprintf(machine->name, sizeof(machine->name), "%u", machine->pid);
	for (i = 1; is && i + 1 < nr; i++) {
		if (strcmp(args[i], "-name") != 0 && strcmp(args[i], "--name") != 0)
			continue;
		name = strstr(args[i + 1], "guest=");
		name = name ? name + 6 : args[i + 1];
		snprintf(machine->name, sizeof(machine->name), "%.*s", (int)strcspn(name, ","),
			 name);
	}
	free(text);
	free(args);
	return is;
}

/* Add a mapping to the guest's memory, if it is part of it. */
static void machine_mapping(struct machine *machine, const struct machine *mapping, bool is_file)
{
	if (mapping->memory < MACHINE_RAM_MIN || is_file)
		return;
	machine->memory += mapping->memory;
	machine->resident += mapping->resident;
	machine->swapped += mapping->swapped;
	machine->locked += mapping->locked;
	machine->shared |= mapping->shared;
	if (mapping->page > machine->page)
		machine->page = mapping->page;
}

static bool machine_is_file(const char *header)
{
	const char *path = strchr(header, '/');

	return path && strncmp(path, "/memfd:", 7) != 0 && strncmp(path, "/dev/shm/", 9) != 0 &&
	       strncmp(path, "/dev/zero", 9) != 0 && !strstr(path, "huge") &&
	       !strstr(path, "/libvirt/qemu/ram/");
}

static void machine_memory(struct machine *machine)
{
	struct machine mapping = { 0 };
	char path[64], *text, *cursor, *line;
	bool is_file = true;

	snprintf(path, sizeof(path), "/proc/%u/smaps", machine->pid);
	text = file_read(path);
	cursor = text;
	while (text && (line = file_next(&cursor))) {
		if (!isupper((unsigned char)*line)) {
			machine_mapping(machine, &mapping, is_file);
			memset(&mapping, 0, sizeof(mapping));
			is_file = machine_is_file(line);
			mapping.shared = strstr(line, " rw-s ");
		} else if (!strncmp(line, "Size:", 5)) {
			mapping.memory = file_number(line, ":") << 10;
		} else if (!strncmp(line, "KernelPageSize:", 15)) {
			mapping.page = file_number(line, ":") << 10;
		} else if (!strncmp(line, "Rss:", 4)) {
			mapping.resident = file_number(line, ":") << 10;
		} else if (!strncmp(line, "Swap:", 5)) {
			mapping.swapped = file_number(line, ":") << 10;
		} else if (!strncmp(line, "Locked:", 7)) {
			mapping.locked = file_number(line, ":") << 10;
		}
	}
	machine_mapping(machine, &mapping, is_file);
	free(text);
	snprintf(path, sizeof(path), "/proc/%u/status", machine->pid);
	text = file_read(path);
	machine->pinned = file_number(text, "\nVmPin:") << 10;
	free(text);
}

static unsigned int machine_parent(unsigned int pid)
{
	char path[64], *text;
	unsigned int parent;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	text = file_read(path);
	parent = file_number(text, "\nPPid:");
	free(text);
	return parent;
}

/* The machine's own children, such as virtiofsd, belong to it. */
static bool machine_owns(unsigned int pid, void *arg)
{
	struct machine *machine = arg;
	unsigned int at = pid, depth = 0;
	char path[64], name[64] = "?";

	while (at > 1 && at != machine->pid && depth++ < 8)
		at = machine_parent(at);
	if (at == machine->pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	(void)file_line(path, name, sizeof(name));
	snprintf(machine->sharer, sizeof(machine->sharer), "%s (%u)", name, pid);
	return false;
}

/* Its cgroup is the nearest that can be limited. That of libvirt has helpers too. */
static void machine_cgroup(struct machine *machine)
{
	char *slash, file[1024];

	if (!unit_cgroup_of(machine->pid, machine->cgroup))
		return;
	for (;;) {
		snprintf(file, sizeof(file), UNIT_CGROUPS "%s/memory.high", machine->cgroup);
		if (file_exists(file))
			break;
		slash = strrchr(machine->cgroup, '/');
		if (!slash || slash == machine->cgroup) {
			*machine->cgroup = '\0';
			return;
		}
		*slash = '\0';
	}
	if (!strstr(machine->cgroup, "/machine-qemu"))
		unit_each_pid(machine->cgroup, machine_owns, machine);
}

static bool machine_has_kvm(unsigned int pid)
{
	char path[64], full[512], link[1024], target[64];
	struct dirent *entry;
	bool has = false;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	file_path(full, sizeof(full), path);
	dir = opendir(full);
	while (dir && !has && (entry = readdir(dir))) {
		snprintf(link, sizeof(link), "%s/%s", full, entry->d_name);
		n = readlink(link, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		has = !strcmp(target, "anon_inode:kvm-vm");
	}
	if (dir)
		closedir(dir);
	return has;
}

static bool machine_read(struct machine *machine, unsigned int pid)
{
	memset(machine, 0, sizeof(*machine));
	machine->pid = pid;
	if (!machine_name(machine))
		return false;
	machine_memory(machine);
	machine_cgroup(machine);
	machine->kvm = machine_has_kvm(pid);
	return true;
}

unsigned int machine_each(void (*fn)(const struct machine *machine, void *arg), void *arg)
{
	struct machine machine;
	struct dirent *entry;
	unsigned int nr = 0;
	char full[512];
	DIR *dir;

	file_path(full, sizeof(full), "/proc");
	dir = opendir(full);
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)*entry->d_name) ||
		    !machine_read(&machine, strtoul(entry->d_name, NULL, 10)))
			continue;
		fn(&machine, arg);
		nr++;
	}
	if (dir)
		closedir(dir);
	return nr;
}

struct machine_search {
	const char *name;
	struct machine *machine;
	unsigned int nr;
};

static void machine_is(const struct machine *machine, void *arg)
{
	struct machine_search *search = arg;
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", machine->pid);
	if (strcmp(machine->name, search->name) != 0 && strcmp(pid, search->name) != 0)
		return;
	*search->machine = *machine;
	search->nr++;
}

bool machine_find(struct machine *machine, const char *name)
{
	struct machine_search search = { .name = name, .machine = machine };

	machine_each(machine_is, &search);
	if (search.nr > 1)
		ctl_fail(CTL_UNKNOWN, "there are %u virtual machines '%s'; give the PID of one",
			 search.nr, name);
	return search.nr;
}

void machine_require(const struct machine *machine)
{
	const char *name = machine->name;

	if (machine->page > 4096)
		ctl_fail(CTL_PROBLEM, "%s is on huge pages of %lluM: nothing of it can be swapped; start it without hugetlbfs (libvirt: remove <hugepages/>)",
			 name, UNIT_MIB(machine->page));
	if (machine->pinned && machine->pinned >= machine->memory / MACHINE_LOCKED_PART)
		ctl_fail(CTL_PROBLEM, "%lluM of %s are pinned, as for a device that is passed through (VFIO): they can't be swapped; start it without that device",
			 UNIT_MIB(machine->pinned), name);
	if (machine->locked && machine->locked >= machine->memory / MACHINE_LOCKED_PART)
		ctl_fail(CTL_PROBLEM, "%lluM of %s are locked (mlock): they can't be swapped; start it without -overcommit mem-lock=on (libvirt: remove <locked/>)",
			 UNIT_MIB(machine->locked), name);
	if (!*machine->cgroup)
		ctl_fail(CTL_PROBLEM, "%s has no cgroup that can be limited; start it with systemd-run --scope",
			 name);
	if (*machine->sharer)
		ctl_fail(CTL_PROBLEM, "%s shares its cgroup with %s; start it with systemd-run --scope, or give %s to limit both",
			 name, machine->sharer, machine->cgroup);
}

/* Print the part of the swapped memory that donors have, which is known for a policy. */
static void machine_remote(const struct machine *machine, char text[16])
{
	struct table table;

	snprintf(text, 16, "-");
	if (!machine->swapped || !table_open(&table, CLIENT_DEBUGFS "cgroups"))
		return;
	while (table_next(&table))
		if (!strcmp(table_get(&table, "path"), machine->cgroup))
			snprintf(text, 16, "%llu%%",
				 (unsigned long long)(table_number(&table, "pages") * 4096 * 100 /
						      machine->swapped));
	table_close(&table);
}

static const char *machine_backing(const struct machine *machine)
{
	if (machine->page > 4096)
		return "huge";
	if (machine->pinned >= machine->memory / MACHINE_LOCKED_PART && machine->pinned)
		return "pinned";
	if (machine->locked >= machine->memory / MACHINE_LOCKED_PART && machine->locked)
		return "locked";
	return machine->shared ? "shared" : "private";
}

static void machine_psi(const struct machine *machine, char text[16])
{
	char path[1024], line[128];
	const char *at;

	snprintf(path, sizeof(path), UNIT_CGROUPS "%s/memory.pressure", machine->cgroup);
	at = *machine->cgroup && file_line(path, line, sizeof(line)) ? strstr(line, "avg10=") : NULL;
	snprintf(text, 16, "%.*s", at ? (int)strcspn(at + 6, " ") : 1, at ? at + 6 : "-");
}

static void machine_print(const struct machine *machine, void *arg)
{
	uint64_t high = *machine->cgroup ? unit_number(machine->cgroup, "memory.high") : 0;
	char remote[16], psi[16], limit[24] = "-";

	(void)arg;
	machine_remote(machine, remote);
	machine_psi(machine, psi);
	if (high)
		snprintf(limit, sizeof(limit), "%llu", UNIT_MIB(high));
	printf("%-20s %7u %10llu %12llu %11llu %6s %8s %6s %s%s\n", machine->name, machine->pid,
	       UNIT_MIB(machine->memory), UNIT_MIB(machine->resident), UNIT_MIB(machine->swapped),
	       remote, high == UINT64_MAX ? "max" : limit, psi, machine_backing(machine),
	       *machine->sharer ? ", cgroup not its own" : "");
}

static void machine_json(const struct machine *machine, void *arg)
{
	uint64_t high = *machine->cgroup ? unit_number(machine->cgroup, "memory.high") : 0;
	struct json *json = arg;

	json_object(json, NULL);
	json_string(json, "name", machine->name);
	json_number(json, "pid", machine->pid);
	json_string(json, "cgroup", machine->cgroup);
	json_number(json, "guest_bytes", machine->memory);
	json_number(json, "resident_bytes", machine->resident);
	json_number(json, "swapped_bytes", machine->swapped);
	if (high && high != UINT64_MAX)
		json_number(json, "high_bytes", high);
	else
		json_null(json, "high_bytes");
	json_string(json, "backing", machine_backing(machine));
	json_bool(json, "cgroup_shared", *machine->sharer);
	json_end(json);
}

int machine_list(void)
{
	struct json json;

	if (!ctl.json) {
		printf("%-20s %7s %10s %12s %11s %6s %8s %6s %s\n", "NAME", "PID", "MEMORY_MIB",
		       "RESIDENT_MIB", "SWAPPED_MIB", "REMOTE", "HIGH_MIB", "PSI", "BACKING");
		machine_each(machine_print, NULL);
		return CTL_OK;
	}
	json_init(&json, stdout);
	json_object(&json, NULL);
	json_array(&json, "machines");
	machine_each(machine_json, &json);
	json_end(&json);
	json_end(&json);
	return CTL_OK;
}
