/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the farswap core and a transport: sessions with donors, regions
 * of their memory, and page I/O on those. It does not depend on a network; a transport
 * over shared memory could implement it too.
 */
#ifndef _LINUX_FARSWAP_TRANSPORT_H
#define _LINUX_FARSWAP_TRANSPORT_H

#include <linux/socket.h>
#include <linux/types.h>

struct module;
struct page;

/* Opaque: a transport embeds these in structures of its own. */
struct farswap_session;
struct farswap_region;

/* The default port of an address. */
#define FARSWAP_TRANSPORT_PORT	9400

/* Words of struct farswap_io reserved for the transport. */
#define FARSWAP_IO_PRIVATE_WORDS	12

/**
 * enum farswap_io_op - direction of a page I/O
 * @FARSWAP_IO_READ:	from the region into the pages
 * @FARSWAP_IO_WRITE:	from the pages into the region
 */
enum farswap_io_op {
	FARSWAP_IO_READ,
	FARSWAP_IO_WRITE,
};

/**
 * struct farswap_io - one page I/O
 * @region:	the remote region
 * @page:	first of @length bytes of physically contiguous pages
 * @offset:	bytes from the region's start, a multiple of an eighth of the page size
 * @length:	bytes, a multiple of an eighth of the page size, inside the region
 * @op:		direction
 * @urgent:	a task is about to wait for this I/O: post it first and at once
 * @done:	called once for each successful ->submit(), in any context up to
 *		softirq, with 0 or -errno. From then on this I/O touches neither the
 *		pages nor any remote memory that can still be read. May free the io.
 *
 * The core owns the memory, which is not on a stack, and keeps it until @done returns.
 */
struct farswap_io {
	struct farswap_region *region;
	struct page *page;
	u32 offset;
	u32 length;
	enum farswap_io_op op;
	bool urgent;
	void (*done)(struct farswap_io *io, int error);
	/* private: */
	unsigned long transport[FARSWAP_IO_PRIVATE_WORDS];
};

/**
 * struct farswap_session_params - parameters of a session
 * @slab_bytes:	size of a region, a power of two
 * @node:	identity of this machine, 16 bytes
 * @instance:	identity of this run
 * @key:	public key of the donor, as text; NULL: it is not authenticated
 */
struct farswap_session_params {
	u64 slab_bytes;
	const u8 *node;
	u64 instance;
	const char *key;
};

/**
 * struct farswap_peer - the donor that accepted a session
 * @node:	identity of the donor's machine, 16 bytes
 * @instance:	identity of the donor's run
 */
struct farswap_peer {
	u8 node[16];
	u64 instance;
};

/**
 * struct farswap_session_ops - callbacks of a transport into the core
 * @up:		The session works: ->query(), ->map() and ->submit() may be used.
 *		Process context; may sleep, but not wait for the session.
 * @down:	The session failed with @error (-errno). All its regions are dead for good:
 *		->submit() has refused them with -EHOSTDOWN since before the first error
 *		was reported through &struct farswap_io.done, and all I/O of the session
 *		has completed. The core releases each region. Called once after each @up,
 *		with or without @suspended in between, unless ->close() comes first; and
 *		once after each failed attempt to connect, unless suspended. The transport
 *		keeps trying to connect. Process context; may sleep.
 * @suspended:	The session's connection failed with @error (-errno), but its regions may
 *		be resumed. ->submit() has refused them with -EHOSTDOWN since before the
 *		first error was reported through &struct farswap_io.done, and all I/O of the
 *		session has completed. @resumed follows, or within grace_ms @down. Until then
 *		->release() may be called, and @evict and @lost may arrive. Process context;
 *		may sleep.
 * @lost:	The donor no longer has the region @id, and only that one is dead for good:
 *		->submit() refuses it with -EHOSTDOWN. The core releases it. Called only
 *		while suspended. Process context; may sleep.
 * @resumed:	The regions that were neither released nor @lost are as they were before
 *		@suspended, except where a write has failed since: there the contents are
 *		unknown. ->query(), ->map() and ->submit() may be used. Process context;
 *		may sleep.
 * @evict:	The donor wants the region @id back within @deadline_ms. The core calls
 *		->release() later. Process context.
 * @activity:	Return the activity of the region @id in page I/Os a second, or 0 if the
 *		core holds no such region. Process context.
 *
 * Calls for one session never overlap. @ctx is the argument of ->open().
 */
struct farswap_session_ops {
	void (*up)(void *ctx, const struct farswap_peer *peer);
	void (*down)(void *ctx, int error);
	void (*suspended)(void *ctx, int error);
	void (*lost)(void *ctx, u64 id);
	void (*resumed)(void *ctx);
	void (*evict)(void *ctx, u64 id, u32 deadline_ms);
	u32 (*activity)(void *ctx, u64 id);
};

/**
 * struct farswap_transport - operations of a transport
 * @name:	short name, for the log
 * @owner:	module; pinned by farswap_transport_get()
 * @open:	Start a session with the donor at @address, in the format of
 *		farswap_address_parse(). Connects in the background, and reconnects with
 *		growing pauses, until ->close(). May sleep. ERR_PTR: -ENOMEM; -EINVAL
 *		if the key is invalid.
 * @close:	End the session, whose regions must all have been released. On return no
 *		callback runs or will run. May sleep; bounded.
 * @query:	Query how much memory the donor could still lend, in bytes. Sleeps about a
 *		second at most. 0, -EHOSTDOWN, -ETIMEDOUT.
 * @map:	Request a region for the slab that the core calls @slab. Sleeps about a
 *		second at most. ERR_PTR: -ENOSPC refused, -ENOMEM, -EHOSTDOWN, -ETIMEDOUT.
 * @region_id:	The donor's name for a region, as passed to ->evict().
 * @release:	Give a region back, dead or alive, evicted or not. No I/O on it may be in
 *		flight, and the core must not use it again. Process context; does not wait
 *		for the donor.
 * @submit:	Start an I/O. Any context up to softirq; never sleeps or allocates. After 0
 *		&struct farswap_io.done is called within io_timeout_ms; after -errno it is
 *		not: -EHOSTDOWN when the session is dead, other errors when the page can't be
 *		used for I/O.
 * @set_io_timeout: Set the limit for an I/O from ->submit() to its done(), in milliseconds,
 *		for all sessions. An I/O that exceeds it fails its session. Process context.
 * @set_grace:	Set how long regions are held after a connection failed, in milliseconds,
 *		for all sessions: the next connection asks the donor for it, and the next
 *		failure waits that long. With 0 a failed session is down at once. Process
 *		context.
 */
struct farswap_transport {
	const char *name;
	struct module *owner;
	struct farswap_session *(*open)(const char *address,
					const struct farswap_session_params *params,
					const struct farswap_session_ops *ops,
					void *ctx);
	void (*close)(struct farswap_session *session);
	int (*query)(struct farswap_session *session, u64 *free_bytes);
	struct farswap_region *(*map)(struct farswap_session *session, u64 slab);
	u64 (*region_id)(struct farswap_region *region);
	void (*release)(struct farswap_region *region);
	int (*submit)(struct farswap_io *io);
	void (*set_io_timeout)(unsigned int ms);
	void (*set_grace)(unsigned int ms);
};

u64 farswap_region_hash(u64 id);
int farswap_transport_register(const struct farswap_transport *transport);
void farswap_transport_unregister(const struct farswap_transport *transport);

int farswap_address_parse(const char *address, struct sockaddr_storage *sockaddr);

#endif /* _LINUX_FARSWAP_TRANSPORT_H */
