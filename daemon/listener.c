// SPDX-License-Identifier: GPL-2.0
/*
 * Takes connect requests and the other events of the RDMA CM, and of the
 * devices, to the session they are for.
 *
 * Destroying a CM id or a queue pair waits until all its events have been
 * acknowledged; so each is copied and acknowledged before it is handled.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "listener.h"
#include "log.h"
#include "session.h"

/* Events of one kind that are handled in one turn of the loop. */
#define LISTENER_BATCH		16
#define LISTENER_BACKLOG	64

/* A device with sessions, for its asynchronous events. */
struct device {
	struct list link;
	struct ibv_context *verbs;
	unsigned int users;
	struct loop_fd async;
};

static struct {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct loop_fd fd;
	struct list devices;
} listener = { .fd = { .fd = -1 } };

static int listener_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static void listener_reject(struct rdma_cm_id *id, unsigned int status,
			    const struct farswap_connect *connect)
{
	static const enum stats_counter reasons[] = {
		[FARSWAP_STATUS_NO_MEMORY] = STAT_REJECT_INTERNAL,
		[FARSWAP_STATUS_BAD_VERSION] = STAT_REJECT_VERSION,
		[FARSWAP_STATUS_BAD_SESSION] = STAT_REJECT_SESSION,
		[FARSWAP_STATUS_BAD_MESSAGE] = STAT_REJECT_MALFORMED,
		[FARSWAP_STATUS_BUSY] = STAT_REJECT_BUSY,
		[FARSWAP_STATUS_LEAVING] = STAT_REJECT_LEAVING,
	};
	struct farswap_accept accept;
	char peer[SESSION_PEER_MAX];

	stats_inc(reasons[status]);
	session_peer_name(id, peer);
	if (status == FARSWAP_STATUS_BAD_VERSION)
		log_peer("%s: connect request rejected: " WIRE_VERSIONS, peer,
			 le16toh(connect->version), FARSWAP_VERSION);
	else
		log_peer("%s: connect request rejected: %s", peer, wire_status_name(status));
	wire_init_accept(&accept, status);
	rdma_reject(id, &accept, sizeof(accept));
	rdma_destroy_id(id);
}

static void listener_request(struct rdma_cm_id *id, const struct rdma_conn_param *param,
			     const struct farswap_connect *connect)
{
	unsigned int status;

	switch (wire_check_connect(connect, param->private_data_len)) {
	case WIRE_OK:
		break;
	case WIRE_VERSION:
		listener_reject(id, FARSWAP_STATUS_BAD_VERSION, connect);
		return;
	default:
		listener_reject(id, FARSWAP_STATUS_BAD_MESSAGE, connect);
		return;
	}
	if (le16toh(connect->kind) == FARSWAP_CONNECT_CONTROL)
		status = session_create(id, param, connect);
	else
		status = session_add_data(id, param, connect);
	if (status != FARSWAP_STATUS_OK)
		listener_reject(id, status, connect);
}

static void listener_conn_event(struct conn *conn, enum rdma_cm_event_type type, int status)
{
	switch (type) {
	case RDMA_CM_EVENT_ESTABLISHED:
		session_established(conn);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		/* Who leaves has given its regions back: they aren't to be kept. */
		queue_finish(conn->session);
		session_lost(conn->session, STAT_END_CLIENT, "the client disconnected");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		session_end(conn->session, STAT_END_LINK, "the RDMA device is gone");
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		session_lost(conn->session, STAT_END_LINK, "%s, %d", rdma_event_str(type), status);
		break;
	default:
		break;
	}
}

/* Whoever started us is to see it: no client could come any more. */
static void listener_lost(void)
{
	log_err("the RDMA device listened on is gone; start farswapd again when it is back");
	loop_fail(-ENODEV);
}

static void listener_event(void *arg, uint32_t events)
{
	struct farswap_connect connect;
	struct rdma_cm_event *event;
	int i;

	(void)arg;
	(void)events;
	for (i = 0; i < LISTENER_BATCH && !rdma_get_cm_event(listener.channel, &event); i++) {
		struct rdma_conn_param param = event->param.conn;
		enum rdma_cm_event_type type = event->event;
		struct rdma_cm_id *id = event->id;
		int status = event->status;

		memset(&connect, 0, sizeof(connect));
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST && param.private_data &&
		    param.private_data_len >= sizeof(connect))
			memcpy(&connect, param.private_data, sizeof(connect));
		rdma_ack_cm_event(event);

		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			listener_request(id, &param, &connect);
		else if (id != listener.id)
			listener_conn_event(id->context, type, status);
		else if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			listener_lost();
	}
}

/* What a queue pair's or a completion queue's event means is: it is finished. */
static void device_event(void *arg, uint32_t events)
{
	struct device *device = arg;
	struct ibv_async_event event;
	struct session *session = NULL;
	bool lost = true;
	struct conn *conn;

	(void)events;
	if (ibv_get_async_event(device->verbs, &event))
		return;
	switch (event.event_type) {
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_QP_FATAL:
		conn = event.element.qp->qp_context;
		session = conn->session;
		/*
		 * The client's doing, unless it was late and did not know that it was; or, on the
		 * control connection, where some adapters tell so of what it has not answered.
		 */
		lost = event.event_type == IBV_EVENT_QP_FATAL || conn == &session->control ||
		       (event.event_type == IBV_EVENT_QP_ACCESS_ERR && session->killed);
		break;
	case IBV_EVENT_COMM_EST:
		/* The client's first message overtook its last one of the CM. */
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
	if (session && lost)
		session_lost(session, STAT_END_LINK, "%s", ibv_event_type_str(event.event_type));
	else if (session)
		session_end(session, STAT_END_LINK, "%s", ibv_event_type_str(event.event_type));
	else if (event.event_type == IBV_EVENT_DEVICE_FATAL)
		session_end_all(STAT_END_LINK, device->verbs, "the RDMA device failed");
}

static struct device *device_find(struct ibv_context *verbs)
{
	struct list *pos;

	list_for_each(pos, &listener.devices) {
		struct device *device = container_of(pos, struct device, link);

		if (device->verbs == verbs)
			return device;
	}
	return NULL;
}

static struct device *device_create(struct ibv_context *verbs)
{
	struct device *device = calloc(1, sizeof(*device));

	if (!device)
		return NULL;
	list_add_tail(&device->link, &listener.devices);
	device->verbs = verbs;
	device->async.fd = -1;
	if (listener_set_nonblocking(verbs->async_fd) ||
	    loop_fd_add(&device->async, verbs->async_fd, EPOLLIN, device_event, device))
		log_warn("no events from device %s", ibv_get_device_name(verbs->device));
	return device;
}

/* Without memory its events go unheard; completions tell most of the same. */
void listener_get_device(struct ibv_context *verbs)
{
	struct device *device = device_find(verbs);

	if (!device)
		device = device_create(verbs);
	if (device)
		device->users++;
}

void listener_put_device(struct ibv_context *verbs)
{
	struct device *device = device_find(verbs);

	if (!device || --device->users)
		return;
	loop_fd_del(&device->async);
	list_del(&device->link);
	free(device);
}

int listener_init(const struct sockaddr *address)
{
	const char *what = "no RDMA: load the device's driver and rdma_ucm, or for RDMA in software say: rdma link add rxe0 type rxe netdev eth0";
	int err, on = 1;

	list_init(&listener.devices);
	listener.channel = rdma_create_event_channel();
	if (!listener.channel) {
		err = -errno;
		goto out_log;
	}
	what = "cannot listen";
	err = listener_set_nonblocking(listener.channel->fd);
	if (err)
		goto out_destroy_channel;
	if (rdma_create_id(listener.channel, &listener.id, NULL, RDMA_PS_TCP)) {
		err = -errno;
		goto out_destroy_channel;
	}
	rdma_set_option(listener.id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on));
	what = "cannot listen: is the address this machine's, on an RDMA device, and the port free?";
	if (rdma_bind_addr(listener.id, (struct sockaddr *)address) ||
	    rdma_listen(listener.id, LISTENER_BACKLOG)) {
		err = -errno;
		goto out_destroy_id;
	}
	err = loop_fd_add(&listener.fd, listener.channel->fd, EPOLLIN, listener_event, NULL);
	if (err)
		goto out_destroy_id;
	return 0;

out_destroy_id:
	rdma_destroy_id(listener.id);
out_destroy_channel:
	rdma_destroy_event_channel(listener.channel);
out_log:
	listener.channel = NULL;
	log_err("%s: %s", what, strerror(-err));
	return err;
}

void listener_exit(void)
{
	if (!listener.channel)
		return;
	loop_fd_del(&listener.fd);
	rdma_destroy_id(listener.id);
	rdma_destroy_event_channel(listener.channel);
	listener.channel = NULL;
}
