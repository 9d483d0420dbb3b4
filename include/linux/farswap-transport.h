/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What lies between the farswap core and a transport: sessions with donors,
 * regions of their memory, and page I/O on those. Nothing of a network is in
 * here; a transport over shared memory has the same face.
 */
#ifndef _LINUX_FARSWAP_TRANSPORT_H
#define _LINUX_FARSWAP_TRANSPORT_H

#include <linux/socket.h>
#include <linux/types.h>

struct module;
struct page;

/* Opaque: a transport embeds these in its own. */
struct farswap_session;
struct farswap_region;

/* The port of an address that names none. */
#define FARSWAP_TRANSPORT_PORT	9400

/* Words of struct farswap_io that belong to the transport. */
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
 * @region:	where the remote bytes are
 * @page:	first of @length bytes of physically contiguous pages
 * @offset:	bytes from the region's start, a multiple of the page size
 * @length:	bytes, a multiple of the page size, inside the region
 * @op:		direction
 * @urgent:	a task is about to wait for this one: post it ahead and at once
 * @done:	called once for each successful ->submit(), in any context up to
 *		softirq, with 0 or -errno. When it is called neither the pages nor
 *		anything that can still be read back can be touched by this I/O
 *		any more. It may free the io.
 *
 * The memory is the core's and lives until @done returns.
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
 * struct farswap_session_params - what a session is opened with
 * @slab_bytes:	size of a region, a power of two
 * @node:	this machine's identity, 16 bytes
 * @instance:	this run's identity
 */
struct farswap_session_params {
	u64 slab_bytes;
	const u8 *node;
	u64 instance;
};

/**
 * struct farswap_peer - who answered
 * @node:	the donor's identity, 16 bytes
 * @instance:	the donor's run
 */
struct farswap_peer {
	u8 node[16];
	u64 instance;
};

/**
 * struct farswap_session_ops - what a transport tells the core of a session
 * @up:		The session works: ->query(), ->map() and ->submit() may be used.
 *		Process context; may sleep, but not wait for the session.
 * @down:	The session failed with @error (-errno). Every region of it is dead
 *		for good; ->submit() refuses them with -EHOSTDOWN since before the
 *		first error was reported through &struct farswap_io.done, and by
 *		now all I/O of the session has been completed. The core releases
 *		each region. Called once after each @up, with @suspended in between
 *		or not, unless ->close() comes first, and once after each failed
 *		attempt to connect (then without an @up before it), but not while
 *		suspended; the transport goes on trying to connect by itself.
 *		Process context; may sleep.
 * @suspended:	The session's connection failed with @error (-errno), but its
 *		regions may yet go on: ->submit() refuses them with -EHOSTDOWN since
 *		before the first error was reported through &struct farswap_io.done,
 *		and by now all I/O of the session has been completed. @resumed or
 *		@down follows, the latter within grace_ms. Until then ->release() may
 *		be called, and @evict and @lost may come. Process context; may sleep.
 * @lost:	The donor has no more the region named @id, which alone is dead for
 *		good: ->submit() refuses it with -EHOSTDOWN. The core releases it. Only
 *		while suspended. Process context; may sleep.
 * @resumed:	The regions that were neither released nor @lost are as they were
 *		before @suspended, but for writes that failed since: of these it is not
 *		known what the region holds. ->query(), ->map() and ->submit() may
 *		be used. Process context; may sleep.
 * @evict:	The donor wants the region named @id back within @deadline_ms. The
 *		core answers with ->release(), later. Process context.
 * @activity:	Return the activity, page I/Os a second, of the region named @id,
 *		or 0 if the core holds no such region. Process context.
 *
 * Calls for one session never overlap each other. @ctx is what ->open() got.
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
 * struct farswap_transport - a way to reach donors
 * @name:	short name, for the log
 * @owner:	module; pinned from farswap_transport_get() on
 * @open:	Start a session with the donor at @address, which
 *		farswap_address_parse() understands; connects, and reconnects with
 *		growing pauses, in the background until ->close(). May sleep.
 *		ERR_PTR: -ENOMEM.
 * @close:	End the session. Every region must have been released. On return no
 *		callback runs or will. May sleep; bounded.
 * @query:	Ask how much memory the donor could still lend, in bytes. Sleeps, at
 *		most about a second. 0, -EHOSTDOWN, -ETIMEDOUT.
 * @map:	Ask for a region for the slab that the core calls @slab. Sleeps, at most
 *		about a second. ERR_PTR: -ENOSPC refused, -ENOMEM, -EHOSTDOWN,
 *		-ETIMEDOUT.
 * @region_id:	The donor's name for a region, as ->evict() gives it.
 * @release:	Give a region back, after an EVICT or not, dead or not. No I/O on
 *		it may be in flight, and the core must not use it again. Process
 *		context; does not wait for the donor.
 * @submit:	Start an I/O. Any context up to softirq; never sleeps, never
 *		allocates. 0: &struct farswap_io.done will be called, within
 *		io_timeout_ms; else -errno and it won't: -EHOSTDOWN when the session
 *		is dead, others when the page can't be used for I/O.
 * @set_io_timeout: Bound on an I/O from ->submit() to its done(), milliseconds,
 *		for all sessions, from now on. An I/O that exceeds it fails its whole
 *		session. Process context.
 * @set_grace:	How long regions are held after a connection failed, milliseconds,
 *		for all sessions: to ask the donor for with the next connection, and
 *		to wait after the next failure. 0: a session that fails is down at
 *		once. Process context.
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

int farswap_transport_register(const struct farswap_transport *transport);
void farswap_transport_unregister(const struct farswap_transport *transport);

int farswap_address_parse(const char *address, struct sockaddr_storage *sockaddr);

#endif /* _LINUX_FARSWAP_TRANSPORT_H */
