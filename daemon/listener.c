// SPDX-License-Identifier: GPL-2.0
/*
 * Passes connect requests and other events of the RDMA CM to their sessions.
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

#include "device.h"
#include "link.h"
#include "listener.h"
#include "log.h"
#include "session.h"

/* Events handled in one turn of the loop. */
#define LISTENER_BATCH		16
/* The kernel's limit. Requests beyond it are dropped, and clients retry only after seconds. */
#define LISTENER_BACKLOG	1024
#define LISTENER_AGAIN_MS	50

static struct {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;		/* NULL while its device is missing */
	struct sockaddr_storage address;
	struct loop_timer again;
	struct loop_fd fd;
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
		[FARSWAP_STATUS_BAD_AUTH] = STAT_REJECT_UNKNOWN,
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
		log_peer(peer, "connect request rejected: " WIRE_VERSIONS,
			 le16toh(connect->version), FARSWAP_VERSION);
	else
		log_peer(peer, "connect request rejected: %s", wire_status_name(status));
	wire_init_accept(&accept, status);
	if (link_is_up(id))
		rdma_reject(id, &accept, sizeof(accept));
	link_destroy_id(id);
}

static void listener_request(struct rdma_cm_id *id, const struct rdma_conn_param *param,
			     const struct farswap_connect *connect)
{
	unsigned int status;

	if (id->verbs)
		device_add(id->verbs);
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
		conn->left = true;
		/* A client that leaves has returned its regions: read those messages first. */
		control_finish(conn->session);
		session_lost(conn->session, STAT_END_CLIENT, "client disconnected");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		device_gone(conn->session->device);
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

/* Logs an error if @log is set. */
static int listener_bind(bool log)
{
	static const char what[] = "cannot listen: the address must belong to an RDMA device of this machine, and the port be free";
	int err, on = 1;

	if (rdma_create_id(listener.channel, &listener.id, NULL, RDMA_PS_TCP)) {
		err = -errno;
		listener.id = NULL;
		goto out_log;
	}
	rdma_set_option(listener.id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on));
	if (!rdma_bind_addr(listener.id, (struct sockaddr *)&listener.address) &&
	    !rdma_listen(listener.id, LISTENER_BACKLOG)) {
		if (listener.id->verbs)
			device_add(listener.id->verbs);
		return 0;
	}
	err = -errno;
	rdma_destroy_id(listener.id);
	listener.id = NULL;
out_log:
	if (log)
		log_err("%s: %s", what, strerror(-err));
	return err;
}

/* Poll often: clients give up on an address without a listener. */
static void listener_again(void *arg)
{
	(void)arg;
	if (listener_bind(false))
		loop_timer_set(&listener.again, LISTENER_AGAIN_MS);
	else
		log_info("the RDMA device of the listen address is back");
}

/* Not called when listening on all addresses: then the kernel adds each new device. */
static void listener_lost(void)
{
	struct ibv_context *verbs = listener.id->verbs;

	log_warn("the RDMA device of the listen address was removed; waiting for it");
	rdma_destroy_id(listener.id);
	listener.id = NULL;
	if (verbs)
		device_gone(verbs);
	loop_timer_set(&listener.again, LISTENER_AGAIN_MS);
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
		/* Another version may send less; iWARP does not pad it. */
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST && param.private_data)
			memcpy(&connect, param.private_data,
			       param.private_data_len < sizeof(connect) ?
			       param.private_data_len : sizeof(connect));
		rdma_ack_cm_event(event);

		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			listener_request(id, &param, &connect);
		else if (id == listener.id && type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			listener_lost();
		else if (id != listener.id && id->context)
			listener_conn_event(id->context, type, status);
	}
}

static void listener_device_lost(struct session *session, const char *why)
{
	session_lost(session, STAT_END_LINK, "%s", why);
}

static const struct device_events events = {
	.lost = listener_device_lost,
	.failed = session_device_failed,
	.gone = session_device_gone,
};

int listener_init(const struct sockaddr *address)
{
	static const char what[] = "no RDMA: load the device's driver and rdma_ucm, or for software RDMA run: rdma link add rxe0 type rxe netdev eth0";
	int err;

	loop_timer_init(&listener.again, listener_again, NULL);
	link_init();
	device_init(&events);
	memcpy(&listener.address, address, address->sa_family == AF_INET6 ?
	       sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	listener.channel = rdma_create_event_channel();
	if (!listener.channel) {
		err = -errno;
		log_err("%s: %s", what, strerror(-err));
		return err;
	}
	err = listener_set_nonblocking(listener.channel->fd);
	if (!err)
		err = listener_bind(true);
	if (err)
		goto out_destroy_channel;
	err = loop_fd_add(&listener.fd, listener.channel->fd, EPOLLIN, listener_event, NULL);
	if (err)
		goto out_destroy_id;
	return 0;

out_destroy_id:
	rdma_destroy_id(listener.id);
out_destroy_channel:
	rdma_destroy_event_channel(listener.channel);
	listener.channel = NULL;
	return err;
}

void listener_exit(void)
{
	if (!listener.channel)
		return;
	loop_timer_stop(&listener.again);
	device_exit();
	loop_fd_del(&listener.fd);
	if (listener.id)
		rdma_destroy_id(listener.id);
	/* Ids that could not be destroyed hold the channel; they end with the process. */
	if (!link_waiting())
		rdma_destroy_event_channel(listener.channel);
	listener.channel = NULL;
}
