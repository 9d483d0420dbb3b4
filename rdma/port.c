// SPDX-License-Identifier: GPL-2.0
/*
 * Ports that go away and come back.
 *
 * When soft RoCE can't send a message because the interface is down or the route is missing, it
 * puts the queue pair of the device's connection manager into the error state. Nothing recovers
 * that queue pair: no connection can be made on the device until its link is removed and added.
 * So nothing here is sent through such a port:
 *
 * - a connect request is sent only while the port is active and the donor has a route;
 * - destroying an identifier sends a disconnect or a reject, so the identifiers of a dead
 *   connection are parked until that can be sent, or the device or the address is gone;
 * - the CM repeats a connect request every few seconds, so attempts to connect are ended when the
 *   interface is about to go down. So are connections: soft RoCE fails them at the next packet, and
 *   a queue pair can't be destroyed while the driver being unbound holds a packet of it.
 *
 * Sessions connect again at once when a device, an active port or an address appears.
 *
 * Locking: port_lock covers the lists of sessions and of parked connections, and comes before
 * session->lock.
 */
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

#include <net/ipv6.h>
#include <net/route.h>
#include <rdma/ib_cache.h>

#include "verbs.h"

/* Polled, because a route may come back without an event. */
#define PORT_PARKED_MS		100
/* An interface that goes down waits that long at most, and until the last message is sent. */
#define PORT_CLOSING_MS		1000
#define PORT_POLL_MS		5
#define PORT_LAST_MESSAGE_MS	20
/* Spreads the clients' connect requests when a switch is back. */
#define PORT_SPREAD_MS		50

static LIST_HEAD(port_sessions);
static LIST_HEAD(port_parked);
static DEFINE_MUTEX(port_lock);		/* both lists */
/* Index of the interface that is going down, or 0. */
static int port_closing;

static void port_parked_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(port_parked_work, port_parked_work_fn);

static bool port_has_route4(const struct rdma_addr *addr, int ifindex)
{
	const struct sockaddr_in *src = (const struct sockaddr_in *)&addr->src_addr;
	const struct sockaddr_in *dst = (const struct sockaddr_in *)&addr->dst_addr;
	struct flowi4 flow = {
		.flowi4_oif = ifindex,
		.flowi4_proto = IPPROTO_UDP,
		.saddr = src->sin_addr.s_addr,
		.daddr = dst->sin_addr.s_addr,
	};
	struct rtable *route = ip_route_output_key(&init_net, &flow);

	if (IS_ERR(route))
		return false;
	ip_rt_put(route);
	return true;
}

static bool port_has_route6(const struct rdma_addr *addr, int ifindex)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct sockaddr_in6 *src = (const struct sockaddr_in6 *)&addr->src_addr;
	const struct sockaddr_in6 *dst = (const struct sockaddr_in6 *)&addr->dst_addr;
	struct flowi6 flow = {
		.flowi6_oif = ifindex,
		.flowi6_proto = IPPROTO_UDP,
		.saddr = src->sin6_addr,
		.daddr = dst->sin6_addr,
	};
	struct dst_entry *route = ip6_dst_lookup_flow(&init_net, NULL, &flow, NULL);
	bool found;

	if (IS_ERR(route))
		return false;
	found = !route->error;
	dst_release(route);
	return found;
#else
	return true;
#endif
}

/*
 * Can the CM send a message for this identifier without harm? It can, too, if the message does not
 * reach the adapter: the CM sends none for an address that is gone.
 */
static bool port_is_clear(const struct rdma_cm_id *id)
{
	const struct rdma_addr *addr = &id->route.addr;
	const struct net_device *ndev;
	bool up;
	int ifindex;

	if (!id->device || id->device->ops.driver_id != RDMA_DRIVER_RXE ||
	    !addr->dev_addr.sgid_attr)
		return true;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(addr->dev_addr.sgid_attr);
	if (IS_ERR(ndev)) {
		rcu_read_unlock();
		return true;
	}
	up = netif_running(ndev) && netif_carrier_ok(ndev);
	ifindex = ndev->ifindex;
	rcu_read_unlock();
	if (!up)
		return false;
	return addr->dst_addr.ss_family == AF_INET6 ? port_has_route6(addr, ifindex) :
						       port_has_route4(addr, ifindex);
}

/**
 * farswap_rdma_port_is_ready() - can a connect request be sent
 * @id:		identifier with its route resolved
 *
 * Context: process.
 * Return: whether it can.
 */
bool farswap_rdma_port_is_ready(const struct rdma_cm_id *id)
{
	enum ib_port_state state;

	if (READ_ONCE(port_closing) &&
	    READ_ONCE(port_closing) == id->route.addr.dev_addr.bound_dev_if)
		return false;
	if (!ib_get_cached_port_state(id->device, id->port_num, &state) &&
	    state != IB_PORT_ACTIVE)
		return false;
	return port_is_clear(id);
}

/**
 * farswap_rdma_port_is_lost() - has an identifier's address been removed
 * @id:		bound to a device
 *
 * If so a repeated connect request would fail in the adapter.
 *
 * Context: process.
 * Return: whether it has.
 */
bool farswap_rdma_port_is_lost(const struct rdma_cm_id *id)
{
	const struct ib_gid_attr *attr = id->route.addr.dev_addr.sgid_attr;
	bool lost;

	if (!attr || !rdma_protocol_roce(id->device, id->port_num))
		return false;
	rcu_read_lock();
	lost = IS_ERR(rdma_read_gid_attr_ndev_rcu(attr));
	rcu_read_unlock();
	return lost;
}

static bool port_may_release(const struct farswap_rdma_link *link)
{
	unsigned int i;

	if (READ_ONCE(link->removed))
		return true;
	if (link->control.id && !port_is_clear(link->control.id))
		return false;
	for (i = 0; i < link->nr_chans; i++)
		if (link->queue[i].chan.id && !port_is_clear(link->queue[i].chan.id))
			return false;
	return true;
}

/* On return the CM's handler doesn't run. */
static void port_destroy_id(struct farswap_rdma_chan *chan)
{
	if (chan->id)
		rdma_destroy_id(chan->id);
	chan->id = NULL;
}

static void port_release(struct farswap_rdma_link *link)
{
	unsigned int i;

	for (i = 0; i < link->nr_chans; i++)
		port_destroy_id(&link->queue[i].chan);
	port_destroy_id(&link->control);
}

static void port_parked_work_fn(struct work_struct *work)
{
	struct farswap_rdma_link *link, *next;
	LIST_HEAD(release);
	bool more;

	mutex_lock(&port_lock);
	list_for_each_entry_safe(link, next, &port_parked, parked)
		if (port_may_release(link))
			list_move_tail(&link->parked, &release);
	more = !list_empty(&port_parked);
	mutex_unlock(&port_lock);

	list_for_each_entry_safe(link, next, &release, parked) {
		list_del(&link->parked);
		port_release(link);
		farswap_rdma_conn_put(&link->conn);
		module_put(THIS_MODULE);
	}
	/* Has no effect if an event has queued the work already. */
	if (more)
		queue_delayed_work(farswap_rdma_connect_wq, &port_parked_work,
				   msecs_to_jiffies(PORT_PARKED_MS));
}

/**
 * farswap_rdma_port_release() - destroy a link's identifiers, now or once that is safe
 * @link:	dead, without queue pairs
 *
 * Pins the module until then.
 *
 * Context: may sleep; waits for the CM.
 */
void farswap_rdma_port_release(struct farswap_rdma_link *link)
{
	if (port_may_release(link)) {
		port_release(link);
		return;
	}
	kref_get(&link->conn.ref);
	__module_get(THIS_MODULE);
	mutex_lock(&port_lock);
	list_add_tail(&link->parked, &port_parked);
	mutex_unlock(&port_lock);
	queue_delayed_work(farswap_rdma_connect_wq, &port_parked_work,
			   msecs_to_jiffies(PORT_PARKED_MS));
}

/**
 * farswap_rdma_port_removed() - destroy identifiers that a device's removal waits for
 * @link:	one of the device
 *
 * Context: process, in the CM's handler.
 */
void farswap_rdma_port_removed(struct farswap_rdma_link *link)
{
	WRITE_ONCE(link->removed, true);
	mod_delayed_work(farswap_rdma_connect_wq, &port_parked_work, 0);
}

/**
 * farswap_rdma_port_watch() - &struct farswap_rdma_link_ops.watch
 * @session:	session
 *
 * Context: may sleep.
 */
void farswap_rdma_port_watch(struct farswap_session *session)
{
	mutex_lock(&port_lock);
	list_add_tail(&session->entry, &port_sessions);
	mutex_unlock(&port_lock);
}

/**
 * farswap_rdma_port_unwatch() - &struct farswap_rdma_link_ops.unwatch
 * @session:	session
 *
 * Context: may sleep.
 */
void farswap_rdma_port_unwatch(struct farswap_session *session)
{
	mutex_lock(&port_lock);
	list_del(&session->entry);
	mutex_unlock(&port_lock);
}

/* A device, a port or an address has appeared, or an address has been removed. */
static void port_changed(void)
{
	struct farswap_session *session;

	mutex_lock(&port_lock);
	list_for_each_entry(session, &port_sessions, entry)
		farswap_rdma_session_kick(session, get_random_u32_below(PORT_SPREAD_MS));
	mutex_unlock(&port_lock);
	mod_delayed_work(farswap_rdma_connect_wq, &port_parked_work, 0);
}

static void port_device_fatal(const struct ib_device *device)
{
	struct farswap_session *session;
	struct farswap_rdma_conn *conn;

	mutex_lock(&port_lock);
	list_for_each_entry(session, &port_sessions, entry) {
		conn = farswap_rdma_session_get_conn(session);
		if (!conn)
			continue;
		if (READ_ONCE(to_link(conn)->device) == device)
			farswap_rdma_conn_fail(conn, -EIO, ib_event_msg(IB_EVENT_DEVICE_FATAL));
		farswap_rdma_conn_put(conn);
	}
	mutex_unlock(&port_lock);
}

static void port_event(struct ib_event_handler *handler, struct ib_event *event)
{
	switch (event->event) {
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_GID_CHANGE:
		port_changed();
		break;
	case IB_EVENT_DEVICE_FATAL:
		port_device_fatal(event->device);
		break;
	default:
		break;
	}
}

static struct ib_client port_client;

static int port_add_device(struct ib_device *device)
{
	struct ib_event_handler *handler = kzalloc(sizeof(*handler), GFP_KERNEL);

	if (!handler)
		return -ENOMEM;
	INIT_IB_EVENT_HANDLER(handler, device, port_event);
	ib_register_event_handler(handler);
	ib_set_client_data(device, &port_client, handler);
	port_changed();
	return 0;
}

static void port_remove_device(struct ib_device *device, void *data)
{
	struct ib_event_handler *handler = data;

	ib_unregister_event_handler(handler);
	kfree(handler);
}

static struct ib_client port_client = {
	.name	= "farswap",
	.add	= port_add_device,
	.remove	= port_remove_device,
};

/* Does the connection use this interface, or one above it? */
static bool port_is_over(const struct farswap_rdma_link *link, struct net_device *ndev)
{
	int ifindex = READ_ONCE(link->ifindex);
	struct net_device *upper;

	if (!ifindex)
		return false;
	if (ifindex == ndev->ifindex)
		return true;
	upper = __dev_get_by_index(&init_net, ifindex);
	return upper && netdev_has_upper_dev(ndev, upper);
}

/* Does the connection survive while the interface is down? */
static bool port_outlives(struct farswap_session *session, const struct farswap_rdma_link *link)
{
	return farswap_rdma_session_is_live(session) && !READ_ONCE(link->rxe);
}

/* End the connections over the interface. Return false if none is left, live or dying. */
static bool port_end(struct net_device *ndev)
{
	struct farswap_session *session;
	struct farswap_rdma_conn *conn;
	bool found = false;

	mutex_lock(&port_lock);
	list_for_each_entry(session, &port_sessions, entry) {
		conn = farswap_rdma_session_get_conn(session);
		if (!conn)
			continue;
		if (port_is_over(to_link(conn), ndev) && !port_outlives(session, to_link(conn))) {
			farswap_rdma_conn_fail(conn, -ENETDOWN, "network interface going down");
			found = true;
		}
		farswap_rdma_conn_put(conn);
	}
	mutex_unlock(&port_lock);
	return found;
}

/* Wait until nothing that could send is left on the interface. */
static void port_close(struct net_device *ndev)
{
	unsigned long until = jiffies + msecs_to_jiffies(PORT_CLOSING_MS);

	if (!port_end(ndev))
		return;
	while (port_end(ndev) && time_before(jiffies, until))
		msleep(PORT_POLL_MS);
	/* A software adapter sends the last messages in a task of its own. */
	msleep(PORT_LAST_MESSAGE_MS);
}

static int port_netdev_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(data);

	if (!net_eq(dev_net(ndev), &init_net))
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_GOING_DOWN:
		WRITE_ONCE(port_closing, ndev->ifindex);
		port_close(ndev);
		break;
	case NETDEV_DOWN:
		WRITE_ONCE(port_closing, 0);
		break;
	default:
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block port_netdev_notifier = {
	.notifier_call = port_netdev_event,
};

/**
 * farswap_rdma_port_init() - register for events of devices and interfaces
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
int __init farswap_rdma_port_init(void)
{
	int err = ib_register_client(&port_client);

	if (err)
		return err;
	err = register_netdevice_notifier(&port_netdev_notifier);
	if (err)
		ib_unregister_client(&port_client);
	return err;
}

/**
 * farswap_rdma_port_exit() - undo farswap_rdma_port_init()
 *
 * Nothing is parked, because that pins the module, and there is no session.
 */
void farswap_rdma_port_exit(void)
{
	unregister_netdevice_notifier(&port_netdev_notifier);
	ib_unregister_client(&port_client);
	cancel_delayed_work_sync(&port_parked_work);
	WARN_ON_ONCE(!list_empty(&port_parked) || !list_empty(&port_sessions));
}

#ifdef CONFIG_FARSWAP_KUNIT_TEST
#include "tests/port-kunit.h"
#endif
