// SPDX-License-Identifier: GPL-2.0
/*
 * Decides when a CM id may be destroyed, since the CM then sends a message to the peer. If the
 * port is down, or there is no route to the peer, soft RoCE fails that message and puts the queue
 * pair of all CM messages into the error state. It does not recover from that: no client can
 * connect until the device is removed. So an id is kept until its link is up again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "loop.h"

#define LINK_POLL_MS	250

struct link_wait {
	struct link_wait *next;
	struct rdma_cm_id *id;
};

static struct {
	struct link_wait *waits;
	unsigned int count;
	struct loop_timer poll;
} links;

static socklen_t link_sockaddr_size(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
		sizeof(struct sockaddr_in);
}

/* Query the routing table as the device would, with the connection's own address. */
static bool link_has_route(struct rdma_cm_id *id)
{
	struct sockaddr *own = rdma_get_local_addr(id), *peer = rdma_get_peer_addr(id);
	struct sockaddr_storage from = { 0 };
	bool up = true;
	int fd;

	if (own->sa_family != AF_INET && own->sa_family != AF_INET6)
		return true;
	fd = socket(own->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return true;
	memcpy(&from, own, link_sockaddr_size(own));
	if (own->sa_family == AF_INET6)
		((struct sockaddr_in6 *)&from)->sin6_port = 0;
	else
		((struct sockaddr_in *)&from)->sin_port = 0;
	if (bind(fd, (struct sockaddr *)&from, link_sockaddr_size(own)))
		up = errno != EADDRNOTAVAIL && errno != ENODEV;
	else if (connect(fd, peer, link_sockaddr_size(peer)))
		up = errno != ENETUNREACH && errno != EHOSTUNREACH && errno != ENETDOWN;
	close(fd);
	return up;
}

bool link_is_up(struct rdma_cm_id *id)
{
	struct ibv_port_attr attr;

	if (!id->verbs || !id->port_num)
		return true;
	/* A device that does not answer is removed, and has no queue pair to break. */
	if (ibv_query_port(id->verbs, id->port_num, &attr))
		return true;
	return attr.state == IBV_PORT_ACTIVE && link_has_route(id);
}

static void link_poll(void *arg)
{
	struct link_wait **at = &links.waits, *wait;

	(void)arg;
	while ((wait = *at)) {
		if (!link_is_up(wait->id)) {
			at = &wait->next;
			continue;
		}
		*at = wait->next;
		links.count--;
		rdma_destroy_id(wait->id);
		free(wait);
	}
	if (links.count)
		loop_timer_set(&links.poll, LINK_POLL_MS);
}

void link_destroy_id(struct rdma_cm_id *id)
{
	struct link_wait *wait = link_is_up(id) ? NULL : calloc(1, sizeof(*wait));

	id->context = NULL;
	if (!wait) {
		rdma_destroy_id(id);
		return;
	}
	wait->id = id;
	wait->next = links.waits;
	links.waits = wait;
	if (!links.count++)
		loop_timer_set(&links.poll, LINK_POLL_MS);
}

unsigned int link_waiting(void)
{
	return links.count;
}

void link_init(void)
{
	loop_timer_init(&links.poll, link_poll, NULL);
}
