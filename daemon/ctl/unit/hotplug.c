// SPDX-License-Identifier: GPL-2.0
/*
 * Gives a virtual machine more memory, by QEMU's monitor (QMP): a virtio-mem device grows if there
 * is one with room, otherwise a memory module (pc-dimm) is plugged. The memory may exceed that of
 * the host, as far as swap goes.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/client.h"
#include "ctl/unit/unit.h"

#define QMP_LINE	65536
#define QMP_TIMEOUT_MS	10000
/* The size of a module must be a multiple of this. */
#define HOTPLUG_ALIGN	(128ULL << 20)

struct qmp {
	const char *name;
	int fd;
	char buffer[QMP_LINE];
	size_t length;
	char line[QMP_LINE];
	char error[512];
};

/* Copy the next line. QEMU sends one for each reply and event. */
static void qmp_read(struct qmp *qmp)
{
	struct pollfd ready = { .fd = qmp->fd, .events = POLLIN };
	char *end;
	ssize_t n;

	while (!(end = memchr(qmp->buffer, '\n', qmp->length))) {
		n = qmp->length < sizeof(qmp->buffer) && poll(&ready, 1, QMP_TIMEOUT_MS) == 1 ?
		    read(qmp->fd, qmp->buffer + qmp->length, sizeof(qmp->buffer) - qmp->length) : -1;
		if (n <= 0)
			ctl_fail(CTL_PROBLEM, "%s: its QMP socket does not answer; another client may be connected to it",
				 qmp->name);
		qmp->length += n;
	}
	*end++ = '\0';
	snprintf(qmp->line, sizeof(qmp->line), "%s", qmp->buffer);
	qmp->length -= end - qmp->buffer;
	memmove(qmp->buffer, end, qmp->length);
}

/* Return what follows a key, past blanks, or NULL. */
static const char *qmp_value(const char *text, const char *end, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\"", key);
	at = strstr(text, quoted);
	if (!at || (end && at >= end))
		return NULL;
	at += strlen(quoted);
	return at + strspn(at, ": ");
}

static void qmp_string(const char *value, char *text, size_t size)
{
	snprintf(text, size, "%.*s", value && *value == '"' ? (int)strcspn(value + 1, "\"") : 0,
		 value && *value == '"' ? value + 1 : "");
}

/* Execute a command. Return what it returned, or NULL with qmp->error. */
__attribute__((format(printf, 2, 3)))
static const char *qmp_execute(struct qmp *qmp, const char *fmt, ...)
{
	const char *value;
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (write(qmp->fd, text, n) != n)
		ctl_fail(CTL_PROBLEM, "%s: its QMP socket can't be written: %s", qmp->name,
			 strerror(errno));
	do {
		qmp_read(qmp);
	} while (!strstr(qmp->line, "\"return\"") && !strstr(qmp->line, "\"error\""));
	value = qmp_value(qmp->line, NULL, "return");
	if (value && !strstr(qmp->line, "\"error\""))
		return value;
	qmp_string(qmp_value(qmp->line, NULL, "desc"), qmp->error, sizeof(qmp->error));
	return NULL;
}

/* Return the end of the object that begins here, or NULL. Strings have no braces here. */
static const char *qmp_object_end(const char *at)
{
	unsigned int depth = 0;

	for (; *at; at++) {
		if (*at == '{')
			depth++;
		else if (*at == '}' && !--depth)
			return at;
	}
	return NULL;
}

/* The path of the socket, from the options "-qmp unix:PATH" or "-chardev" and "-mon". */
static void qmp_path(const struct machine *machine, char path[UNIT_PATH])
{
	unsigned int nr, i;
	char *text, **args;
	const char *at;

	*path = '\0';
	nr = machine_args(machine->pid, &text, &args);
	for (i = 1; i + 1 < nr && !*path; i++) {
		at = NULL;
		if (!strcmp(args[i], "-qmp") && !strncmp(args[i + 1], "unix:", 5))
			at = args[i + 1] + 5;
		else if (!strcmp(args[i], "-chardev") && !strncmp(args[i + 1], "socket,", 7) &&
			 strstr(args[i + 1], "path=") && strstr(args[i + 1], "qmp"))
			at = strstr(args[i + 1], "path=") + 5;
		if (at)
			snprintf(path, UNIT_PATH, "%.*s", (int)strcspn(at, ","), at);
	}
	free(text);
	free(args);
	if (ctl.qmp)
		snprintf(path, UNIT_PATH, "%s", ctl.qmp);
	if (!*path)
		ctl_fail(CTL_UNKNOWN, "%s has no QMP socket that can be found; give --qmp PATH, start it with -qmp unix:PATH,server=on,wait=off, or with libvirt use virsh update-memory-device",
			 machine->name);
}

static void qmp_open(struct qmp *qmp, const struct machine *machine)
{
	char path[UNIT_PATH];

	qmp_path(machine, path);
	qmp->name = machine->name;
	qmp->fd = action_connect(path);
	if (qmp->fd < 0)
		ctl_fail(CTL_PROBLEM, "%s: %s: %s", machine->name, path, strerror(errno));
	qmp_read(qmp);
	if (!strstr(qmp->line, "\"QMP\""))
		ctl_fail(CTL_PROBLEM, "%s: %s is no QMP socket", machine->name, path);
	if (!qmp_execute(qmp, "{\"execute\":\"qmp_capabilities\"}\n"))
		ctl_fail(CTL_PROBLEM, "%s: %s", machine->name, qmp->error);
}

static uint64_t qmp_number(const char *text, const char *end, const char *key)
{
	const char *value = qmp_value(text, end, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

struct hotplug {
	struct qmp qmp;
	char device[64];	/* virtio-mem with room, or "" */
	uint64_t size;		/* of it */
	unsigned int nr;	/* memory devices */
};

static void hotplug_devices(struct hotplug *hotplug, uint64_t bytes)
{
	const char *at, *end, *list = qmp_execute(&hotplug->qmp, "{\"execute\":\"query-memory-devices\"}\n");
	uint64_t size;

	if (!list)
		ctl_fail(CTL_PROBLEM, "%s: %s", hotplug->qmp.name, hotplug->qmp.error);
	for (at = strchr(list, '['); at && (at = strchr(at, '{')); at = end) {
		char type[32];

		end = qmp_object_end(at);
		if (!end)
			break;
		hotplug->nr++;
		qmp_string(qmp_value(at, end, "type"), type, sizeof(type));
		size = qmp_number(at, end, "requested-size");
		if (strcmp(type, "virtio-mem") != 0 || *hotplug->device ||
		    qmp_number(at, end, "max-size") < size + bytes)
			continue;
		qmp_string(qmp_value(at, end, "id"), hotplug->device, sizeof(hotplug->device));
		hotplug->size = size;
	}
}

static void hotplug_virtio(struct hotplug *hotplug, uint64_t bytes)
{
	unsigned long long size = hotplug->size + bytes;

	if (!qmp_execute(&hotplug->qmp, "{\"execute\":\"qom-set\",\"arguments\":{\"path\":\"/machine/peripheral/%s\",\"property\":\"requested-size\",\"value\":%llu}}\n",
			 hotplug->device, size))
		ctl_fail(CTL_PROBLEM, "%s: %s: %s", hotplug->qmp.name, hotplug->device,
			 hotplug->qmp.error);
}

static void hotplug_module(struct hotplug *hotplug, uint64_t bytes)
{
	char why[512];

	if (bytes % HOTPLUG_ALIGN)
		ctl_fail(CTL_UNKNOWN, "%s has no virtio-mem device with room for %lluM, and a memory module must be a multiple of %lluM",
			 hotplug->qmp.name, UNIT_MIB(bytes), UNIT_MIB(HOTPLUG_ALIGN));
	snprintf(hotplug->device, sizeof(hotplug->device), "farswap-dimm%u", hotplug->nr);
	if (!qmp_execute(&hotplug->qmp, "{\"execute\":\"object-add\",\"arguments\":{\"qom-type\":\"memory-backend-ram\",\"id\":\"farswap-mem%u\",\"size\":%llu}}\n",
			 hotplug->nr, (unsigned long long)bytes))
		ctl_fail(CTL_PROBLEM, "%s: %s", hotplug->qmp.name, hotplug->qmp.error);
	if (qmp_execute(&hotplug->qmp, "{\"execute\":\"device_add\",\"arguments\":{\"driver\":\"pc-dimm\",\"id\":\"%s\",\"memdev\":\"farswap-mem%u\"}}\n",
			hotplug->device, hotplug->nr))
		return;
	snprintf(why, sizeof(why), "%s", hotplug->qmp.error);
	(void)qmp_execute(&hotplug->qmp, "{\"execute\":\"object-del\",\"arguments\":{\"id\":\"farswap-mem%u\"}}\n",
			  hotplug->nr);
	ctl_fail(CTL_PROBLEM, "%s: %s; a machine that is to grow needs free slots: -m SIZE,slots=4,maxmem=SIZE, or a virtio-mem device",
		 hotplug->qmp.name, why);
}

int cmd_hotplug(char **args, unsigned int nr)
{
	static struct hotplug hotplug;
	struct machine machine;
	struct json json;
	uint64_t bytes;

	(void)nr;
	if (!ctl_size(args[1] + (*args[1] == '+'), &bytes))
		ctl_fail(CTL_UNKNOWN, "hotplug: invalid size '%s' (such as +1G)", args[1]);
	if (!machine_find(&machine, args[0]))
		ctl_fail(CTL_UNKNOWN, "there is no virtual machine '%s'", args[0]);
	qmp_open(&hotplug.qmp, &machine);
	hotplug_devices(&hotplug, bytes);
	if (*hotplug.device)
		hotplug_virtio(&hotplug, bytes);
	else
		hotplug_module(&hotplug, bytes);
	close(hotplug.qmp.fd);
	if (!ctl.json) {
		printf("%s: %lluM more by %s\n", machine.name, UNIT_MIB(bytes), hotplug.device);
		return CTL_OK;
	}
	json_init(&json, stdout);
	json_object(&json, NULL);
	json_string(&json, "name", machine.name);
	json_string(&json, "device", hotplug.device);
	json_number(&json, "added_bytes", bytes);
	json_end(&json);
	return CTL_OK;
}
