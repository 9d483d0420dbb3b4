// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: requested, found by the donor's name, released. A region outlives its
 * connection until the core releases it, but is dead then unless it moves to the next
 * connection: see resume.c.
 *
 * Locking: conn->lock covers conn->regions and conn->releases.
 */
#include <linux/slab.h>

#include "protocol.h"

/**
 * farswap_rdma_region_query() - &struct farswap_transport.query
 * @session:	session
 * @free_bytes:	set to the memory that the donor can still lend
 *
 * Context: may sleep.
 * Return: 0, -EHOSTDOWN or -ETIMEDOUT.
 */
int farswap_rdma_region_query(struct farswap_session *session, u64 *free_bytes)
{
	struct farswap_rdma_conn *conn = farswap_rdma_session_get_live(session);
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
	struct farswap_hdr msg;
	size_t len = farswap_wire_bare(&msg, FARSWAP_MSG_QUERY_MEM);
	int err;

	if (!conn)
		return -EHOSTDOWN;
	err = farswap_rdma_rpc_call(conn, &msg, len, FARSWAP_MSG_FREE_MEM, NULL,
				    answer, FARSWAP_RDMA_RPC_MS);
	farswap_rdma_conn_put(conn);
	if (!err)
		*free_bytes = farswap_wire_read_free_mem(answer);
	return err;
}

/**
 * farswap_rdma_region_map_on() - ask for a region over a certain connection
 * @conn:	connection
 * @slab:	what it is for, for whoever watches the wire
 *
 * Context: may sleep.
 * Return: the region, or ERR_PTR: -ENOSPC, -EHOSTDOWN, -ETIMEDOUT, -ENOMEM.
 */
struct farswap_region *farswap_rdma_region_map_on(struct farswap_rdma_conn *conn, u64 slab)
{
	u8 answer[FARSWAP_RDMA_ANSWER_BYTES] __aligned(8);
	struct farswap_wire_region info;
	struct farswap_region *region;
	struct farswap_map msg;
	size_t len;
	int err;

	region = kzalloc(sizeof(*region), GFP_NOIO);
	if (!region)
		return ERR_PTR(-ENOMEM);
	/* A reference for the region, which may leave this connection before the call returns. */
	kref_get(&conn->ref);
	region->conn = conn;
	len = farswap_wire_map(&msg, slab);
	err = farswap_rdma_rpc_call(conn, &msg, len, FARSWAP_MSG_MR_INFO, region,
				    answer, FARSWAP_RDMA_RPC_MS);
	if (err)
		return ERR_PTR(err);
	farswap_wire_read_region(answer, &info);
	if (info.status != FARSWAP_STATUS_OK) {
		farswap_rdma_region_free(region);
		return ERR_PTR(-ENOSPC);
	}
	return region;
}

/**
 * farswap_rdma_region_map() - &struct farswap_transport.map
 * @session:	session
 * @slab:	the core's name for the slab
 *
 * Context: may sleep.
 * Return: the region, or ERR_PTR: -ENOSPC, -EHOSTDOWN, -ETIMEDOUT, -ENOMEM.
 */
struct farswap_region *farswap_rdma_region_map(struct farswap_session *session,
					       u64 slab)
{
	struct farswap_rdma_conn *conn = farswap_rdma_session_get_live(session);
	struct farswap_region *region;

	if (!conn)
		return ERR_PTR(-EHOSTDOWN);
	region = farswap_rdma_region_map_on(conn, slab);
	farswap_rdma_conn_put(conn);
	return region;
}

/**
 * farswap_rdma_region_mapped() - fill in a region from its MR_INFO
 * @conn:	connection
 * @region:	the region
 * @info:	the donor's answer, with status OK
 *
 * From then on an EVICT finds the region.
 *
 * Context: process, under conn->lock.
 * Return: NULL, or what is wrong.
 */
const char *farswap_rdma_region_mapped(struct farswap_rdma_conn *conn,
				       struct farswap_region *region,
				       const struct farswap_wire_region *info)
{
	lockdep_assert_held(&conn->lock);
	if (info->bytes != conn->session->slab_bytes)
		return "region size differs from the slab size";
	if (farswap_rdma_region_find(conn, info->id))
		return "region mapped twice";
	region->id = info->id;
	region->addr = info->addr;
	region->bytes = info->bytes;
	region->rkey = info->rkey;
	hash_add(conn->regions, &region->hash, farswap_region_hash(region->id));
	return NULL;
}

/**
 * farswap_rdma_region_find() - find a region by its name
 * @conn:	connection
 * @id:		the donor's name for it
 *
 * Context: process, under conn->lock.
 * Return: the region or NULL.
 */
struct farswap_region *farswap_rdma_region_find(struct farswap_rdma_conn *conn,
						u64 id)
{
	struct farswap_region *region;

	lockdep_assert_held(&conn->lock);
	hash_for_each_possible(conn->regions, region, hash, farswap_region_hash(id))
		if (region->id == id)
			return region;
	return NULL;
}

/**
 * farswap_rdma_region_id() - &struct farswap_transport.region_id
 * @region:	region
 *
 * Context: any.
 * Return: the donor's name for it.
 */
u64 farswap_rdma_region_id(struct farswap_region *region)
{
	return region->id;
}

/**
 * farswap_rdma_region_free() - free a region that is in no list
 * @region:	region
 *
 * Drops its reference on the connection.
 *
 * Context: any.
 */
void farswap_rdma_region_free(struct farswap_region *region)
{
	struct farswap_rdma_conn *conn = region->conn;

	kfree(region);
	farswap_rdma_conn_put(conn);
}

/**
 * farswap_rdma_region_send_releases() - send pending releases while buffers are left for them
 * @conn:	connection
 *
 * Context: process, under conn->lock; doesn't wait.
 * Return: 0, or -errno to fail the connection with.
 */
int farswap_rdma_region_send_releases(struct farswap_rdma_conn *conn)
{
	struct farswap_region_msg msg;
	struct farswap_region *region;
	size_t len;
	int err;

	lockdep_assert_held(&conn->lock);
	while (conn->open && conn->nr_sends > FARSWAP_RDMA_SENDS_KEPT) {
		region = list_first_entry_or_null(&conn->releases,
						  struct farswap_region, entry);
		if (!region)
			break;
		len = farswap_wire_region_msg(&msg, region->evicted ?
					      FARSWAP_MSG_DONE : FARSWAP_MSG_UNMAP,
					      region->id);
		farswap_wire_set_seq(&msg, region->evicted ? region->evict_seq :
							     conn->next_seq++);
		err = farswap_rdma_conn_send(conn, &msg, len);
		if (err)
			return err;
		list_del(&region->entry);
		farswap_rdma_region_free(region);
	}
	return 0;
}

/**
 * farswap_rdma_region_release() - &struct farswap_transport.release
 * @region:	region
 *
 * Notifies the donor with DONE or UNMAP, unless the connection is dead: then the donor has
 * ended the session, or does not find the region in RESUME.
 *
 * Context: process.
 */
void farswap_rdma_region_release(struct farswap_region *region)
{
	struct farswap_rdma_conn *conn;
	bool dead;
	int err = 0;

	/* Lock the connection of the region, which keeps it from moving. */
	rcu_read_lock();
	for (;;) {
		conn = READ_ONCE(region->conn);
		spin_lock(&conn->lock);
		if (likely(conn == region->conn))
			break;
		spin_unlock(&conn->lock);
	}
	kref_get(&conn->ref);
	hash_del(&region->hash);
	dead = farswap_rdma_conn_dead(conn);
	if (!dead) {
		list_add_tail(&region->entry, &conn->releases);
		conn->nr_released++;
		err = farswap_rdma_region_send_releases(conn);
	}
	spin_unlock(&conn->lock);
	rcu_read_unlock();

	if (dead)
		farswap_rdma_region_free(region);
	if (err)
		farswap_rdma_conn_fail(conn, err, "posting failed");
	farswap_rdma_conn_put(conn);
}
