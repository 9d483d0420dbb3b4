// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices: their events, and what happens when one is removed.
 *
 * librdmacm opens a device once and keeps it open. Drivers that can't disassociate a device
 * from a process, such as soft RoCE, wait during its removal until the process closes it. So
 * a device that is being removed is closed as soon as it has no users. Normally the CM reports
 * the removal. It does not if the kernel notifies libibverbs' part first, which then waits; in
 * that case the device's entry in sysfs is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "log.h"
#include "loop.h"
#include "session.h"

#define DEVICE_POLL_MS	500

struct device {
	struct list link;
	struct ibv_context *verbs;
	unsigned int users;
	ino_t inode;			/* of its entry in sysfs */
	bool gone;
	bool logged;			/* its failure has been logged */
	struct loop_fd async;
};

static struct {
	const struct device_events *events;
	struct list list;
	struct loop_timer poll;
} devices = { .list = { &devices.list, &devices.list } };

static struct device *device_find(struct ibv_context *verbs)
{
	struct list *pos;

	list_for_each(pos, &devices.list) {
		struct device *device = container_of(pos, struct device, link);

		if (device->verbs == verbs)
			return device;
	}
	return NULL;
}

/* A new device of the same name may have replaced it. */
static bool device_is_there(const struct device *device)
{
	struct stat now;

	return stat(device->verbs->device->dev_path, &now) ? errno != ENOENT :
		!device->inode || now.st_ino == device->inode;
}

/* An event of a queue pair or a completion queue ends the connection. */
static void device_event(void *arg, uint32_t events)
{
	struct device *device = arg;
	struct ibv_async_event event;
	struct session *session = NULL;
	struct conn *conn;

	if (ibv_get_async_event(device->verbs, &event)) {
		/* The device is disassociated: its descriptor would be ready forever. */
		if (events & (EPOLLERR | EPOLLHUP))
			loop_fd_del(&device->async);
		return;
	}
	switch (event.event_type) {
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_QP_FATAL:
		conn = event.element.qp->qp_context;
		session = conn->session;
		break;
	case IBV_EVENT_COMM_EST:
		/* The client's first message has overtaken its last CM message. */
		conn = event.element.qp->qp_context;
		if (conn->id)
			rdma_notify(conn->id, IBV_EVENT_COMM_EST);
		break;
	case IBV_EVENT_CQ_ERR:
		session = event.element.cq->cq_context;
		break;
	default:
		break;
	}
	ibv_ack_async_event(&event);
	/* The kernel reports this error for a device that is being removed, too. */
	if (event.event_type == IBV_EVENT_DEVICE_FATAL && !device_is_there(device)) {
		device_gone(device->verbs);
	} else if (session) {
		devices.events->lost(session, ibv_event_type_str(event.event_type));
	} else if (event.event_type == IBV_EVENT_DEVICE_FATAL && !device->gone) {
		if (!device->logged)
			log_err("RDMA device %s failed",
				ibv_get_device_name(device->verbs->device));
		device->logged = true;
		devices.events->failed(device->verbs);
	}
}

static void device_set_nonblocking(struct ibv_context *verbs)
{
	int flags = fcntl(verbs->async_fd, F_GETFL);

	if (flags >= 0)
		fcntl(verbs->async_fd, F_SETFL, flags | O_NONBLOCK);
}

/* Check that the device can register all regions, as it must when clients use them all. */
static void device_check(struct ibv_context *verbs)
{
	struct ibv_device_attr attr;

	if (!ibv_query_device(verbs, &attr) && attr.max_mr > 0 &&
	    (unsigned int)attr.max_mr < region_total())
		log_warn("RDMA device %s supports %d memory regions, but memory has %u slabs: set memory lower or slab larger",
			 ibv_get_device_name(verbs->device), attr.max_mr, region_total());
}

void device_add(struct ibv_context *verbs)
{
	struct device *device;
	struct stat there;

	if (device_find(verbs))
		return;
	device = calloc(1, sizeof(*device));
	if (!device)
		return;
	list_add_tail(&device->link, &devices.list);
	device->verbs = verbs;
	if (!stat(verbs->device->dev_path, &there))
		device->inode = there.st_ino;
	device->async.fd = -1;
	device_set_nonblocking(verbs);
	if (loop_fd_add(&device->async, verbs->async_fd, EPOLLIN, device_event, device))
		log_warn("cannot receive events of RDMA device %s", ibv_get_device_name(verbs->device));
	device_check(verbs);
}

/*
 * librdmacm closes the context of a removed device only when it next discovers another device,
 * which may be after the removal. So its descriptors are replaced by /dev/null.
 */
static void device_close(struct device *device)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	loop_fd_del(&device->async);
	if (null < 0) {
		log_err("cannot close RDMA device %s: %s",
			ibv_get_device_name(device->verbs->device), strerror(errno));
	} else {
		dup3(null, device->verbs->cmd_fd, O_CLOEXEC);
		dup3(null, device->verbs->async_fd, O_CLOEXEC);
		close(null);
	}
	list_del(&device->link);
	free(device);
}

void device_get(struct ibv_context *verbs)
{
	struct device *device;

	device_add(verbs);
	device = device_find(verbs);
	if (device)
		device->users++;
}

void device_put(struct ibv_context *verbs)
{
	struct device *device = device_find(verbs);

	if (device && !--device->users && device->gone)
		device_close(device);
}

void device_gone(struct ibv_context *verbs)
{
	struct device *device = device_find(verbs);

	if (!device || device->gone)
		return;
	device->gone = true;
	log_warn("RDMA device %s was removed; clients can use it again when it returns",
		 ibv_get_device_name(verbs->device));
	device->users++;
	devices.events->gone(verbs);
	device_put(verbs);
}

/* Check for devices whose removal has begun, whether or not the CM has reported it. */
static void device_poll(void *arg)
{
	struct list *pos;

	(void)arg;
	loop_timer_set(&devices.poll, DEVICE_POLL_MS);
	list_for_each(pos, &devices.list) {
		struct device *device = container_of(pos, struct device, link);

		if (device->gone || device_is_there(device))
			continue;
		device_gone(device->verbs);
		return;
	}
}

void device_init(const struct device_events *events)
{
	devices.events = events;
	loop_timer_init(&devices.poll, device_poll, NULL);
	loop_timer_set(&devices.poll, DEVICE_POLL_MS);
}

void device_exit(void)
{
	struct device *device;

	loop_timer_stop(&devices.poll);
	while ((device = list_first(&devices.list, struct device, link))) {
		loop_fd_del(&device->async);
		list_del(&device->link);
		free(device);
	}
}
