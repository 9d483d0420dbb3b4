// SPDX-License-Identifier: GPL-2.0
/*
 * Events and removal of RDMA devices. An event of a queue pair may be the client's fault or, as
 * when an adapter executes a READ twice, no one's: the connection ends, and the session can be
 * resumed. A removed device is closed as soon as it has no users. The test implements the verbs.
 */
#include "device.c"
#include "loop.c"
#include "json.c"
#include "metrics.c"
#include "stats.c"

#include "tap.h"

static struct ibv_device hardware;
static struct ibv_context context = { .device = &hardware, .async_fd = -1, .cmd_fd = -1 };
static struct session client;
static struct ibv_qp qp = { .qp_context = &client.data[0] };
static struct ibv_cq cq = { .cq_context = &client };
static struct rdma_cm_id id;
static struct ibv_async_event event;
static unsigned int lost, all_lost, device_sessions, acked, notified;
static bool no_event;
static unsigned int regions = 8;
static int most_mrs = 8;
static unsigned int warnings;

void log_print(enum log_level level, const char *fmt, ...)
{
	(void)fmt;
	warnings += level == LOG_LEVEL_WARN;
}

unsigned int region_total(void)
{
	return regions;
}

int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attr)
{
	(void)verbs;
	memset(attr, 0, sizeof(*attr));
	attr->max_mr = most_mrs;
	return 0;
}

int ibv_get_async_event(struct ibv_context *verbs, struct ibv_async_event *out)
{
	(void)verbs;
	if (no_event)
		return -1;
	*out = event;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *of)
{
	(void)of;
	acked++;
}

const char *ibv_event_type_str(enum ibv_event_type type)
{
	(void)type;
	return "an event";
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	(void)device;
	return "fake0";
}

int rdma_notify(struct rdma_cm_id *of, enum ibv_event_type type)
{
	notified += of == &id && type == IBV_EVENT_COMM_EST;
	return 0;
}

static void connection_lost(struct session *session, const char *why)
{
	(void)why;
	lost += session == &client;
}

static void device_failed(struct ibv_context *device)
{
	all_lost += device == &context;
}

static void sessions_leave(struct ibv_context *device)
{
	device_sessions += device == &context;
}

static const struct device_events events = {
	.lost = connection_lost,
	.failed = device_failed,
	.gone = sessions_leave,
};

static void happen(enum ibv_event_type type, struct conn *conn)
{
	struct device *device = device_find(&context);

	lost = all_lost = acked = notified = 0;
	event.event_type = type;
	if (type == IBV_EVENT_CQ_ERR) {
		event.element.cq = &cq;
	} else {
		qp.qp_context = conn;
		event.element.qp = &qp;
	}
	device_event(device, EPOLLIN);
}

static bool is_null(int fd)
{
	char path[64], to[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, to, sizeof(to) - 1) > 0 && !strcmp(to, "/dev/null");
}

static void test_events(void)
{
	static const struct {
		enum ibv_event_type type;
		const char *name;
	} failures[] = {
		{ IBV_EVENT_QP_REQ_ERR, "an invalid request" },
		{ IBV_EVENT_QP_ACCESS_ERR, "an access that is not allowed" },
		{ IBV_EVENT_QP_FATAL, "a fatal error" },
		{ IBV_EVENT_CQ_ERR, "an overrun completion queue" },
	};
	size_t i;

	for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		happen(failures[i].type, &client.data[1]);
		ok(lost == 1 && !all_lost && acked == 1,
		   "%s costs a data connection, not the session", failures[i].name);
		happen(failures[i].type, &client.control);
		ok(lost == 1 && !all_lost && acked == 1,
		   "or the control connection, not the session");
	}
	client.control.id = &id;
	happen(IBV_EVENT_COMM_EST, &client.control);
	ok(notified == 1 && !lost && acked == 1, "a first message that comes early is no error");
	happen(IBV_EVENT_PORT_ERR, NULL);
	ok(!lost && !all_lost && acked == 1, "nor is a port that goes down");
	happen(IBV_EVENT_DEVICE_FATAL, NULL);
	ok(all_lost == 1 && !device_sessions, "a device that fails costs all connections");
}

static void test_gone(void)
{
	int pipes[2];

	device_get(&context);
	device_gone(&context);
	device_gone(&context);
	ok(device_sessions == 1, "sessions are told once that their device is gone");
	ok(!is_null(context.cmd_fd), "it is not closed while something of it is left");
	happen(IBV_EVENT_DEVICE_FATAL, NULL);
	ok(!all_lost, "and says nothing more");
	no_event = true;
	device_event(device_find(&context), EPOLLIN | EPOLLERR);
	ok(device_find(&context)->async.fd < 0, "a device without events is not looked at");
	no_event = false;
	device_put(&context);
	ok(is_null(context.cmd_fd) && is_null(context.async_fd) && !device_find(&context),
	   "then it is closed");

	if (pipe(pipes))
		return;
	context.async_fd = pipes[0];
	context.cmd_fd = pipes[1];
	snprintf(hardware.dev_path, sizeof(hardware.dev_path), "/");
	device_sessions = 0;
	device_add(&context);
	device_poll(NULL);
	ok(device_find(&context) && !device_sessions, "a device that sysfs knows stays");
	snprintf(hardware.dev_path, sizeof(hardware.dev_path), "/nothing/here");
	device_poll(NULL);
	ok(device_sessions == 1 && is_null(context.cmd_fd) && !device_find(&context),
	   "one that it does not know is gone, though nobody says so");

	if (pipe(pipes))
		return;
	context.async_fd = pipes[0];
	context.cmd_fd = pipes[1];
	snprintf(hardware.dev_path, sizeof(hardware.dev_path), "/");
	device_add(&context);
	snprintf(hardware.dev_path, sizeof(hardware.dev_path), "/proc");
	device_poll(NULL);
	ok(device_sessions == 2 && !device_find(&context),
	   "so is one in whose place another has come");
	if (pipe(pipes))
		return;
	context.async_fd = pipes[0];
	context.cmd_fd = pipes[1];
	device_add(&context);
	snprintf(hardware.dev_path, sizeof(hardware.dev_path), "/nothing/here");
	happen(IBV_EVENT_DEVICE_FATAL, NULL);
	ok(device_sessions == 3 && !all_lost && !device_find(&context),
	   "and one that fails because it goes");
}

int main(void)
{
	int pipes[2];

	if (loop_init() || pipe(pipes))
		return 1;
	device_init(&events);
	context.async_fd = pipes[0];
	context.cmd_fd = pipes[1];
	snprintf(hardware.dev_path, sizeof(hardware.dev_path), "/");
	device_add(&context);
	ok(!warnings, "a device that registers as many regions as there are is good");
	regions++;
	device_check(&context);
	ok(warnings == 1, "one that registers fewer is warned of");
	client.control.session = &client;
	client.data[0].session = &client;
	client.data[1].session = &client;
	test_events();
	test_gone();
	device_exit();
	loop_exit();
	return tap_done();
}
