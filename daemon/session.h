/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One client: its control queue pair, data queue pairs, protection domains, pending
 * requests and regions.
 */
#ifndef SESSION_H
#define SESSION_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "address.h"
#include "auth.h"
#include "client.h"
#include "loop.h"
#include "region.h"
#include "stats.h"
#include "wire.h"

/* Time for a client to connect, to send HELLO and to connect a data queue pair. */
#define SESSION_CONNECT_MS	7000
#define SESSION_HELLO_MS	5000
#define SESSION_DATA_MS		10000
/* Time to deliver a refusal before disconnecting. */
#define SESSION_CLOSE_MS	1000
#define SESSION_PING_MS		5000
#define SESSION_PING_MISSES	3

/* Sends in flight: answers, and the donor's requests. */
#define SESSION_SENDS		64
#define SESSION_ANSWERS_MAX	(SESSION_SENDS - FARSWAP_CREDITS)
/* Recorded evictions that ended without DONE, although a DONE may still arrive. */
#define SESSION_SETTLED		256

enum session_state {
	SESSION_CONNECTING,	/* accepted */
	SESSION_GREETING,	/* connected, waiting for HELLO */
	SESSION_READY,		/* WELCOME sent */
	SESSION_CLOSING,	/* refused; the refusal is being sent */
	SESSION_GRACE,		/* connections failed; regions are kept for grace_ms */
	SESSION_DEAD,		/* being torn down */
	SESSION_STATES
};

enum conn_state {
	CONN_NONE,
	CONN_ACCEPTED,
	CONN_UP,
};

/* A queue pair and its CM id; the context of the id. */
struct conn {
	struct session *session;
	struct rdma_cm_id *id;
	enum conn_state state;
	bool left;			/* the client has disconnected this queue pair */
	struct loop_timer timer;	/* limit for connecting */
};

/* A request to the client, which holds a credit. Free if type is 0. */
struct session_request {
	uint16_t type;
	uint16_t count;
	uint32_t seq;
	uint64_t job;
	uint64_t sent_ns;
	uint64_t region[FARSWAP_ACTIVITY_REGIONS];
};

/* A MAP that waits for a region. Free if session is NULL. */
struct session_map {
	struct list link;	/* in the list of its client's MAPs */
	struct session *session;
	uint32_t seq;
	uint64_t until_ms;	/* refused after this time */
};

/* "address:port" */
#define SESSION_PEER_MAX	64

struct session {
	struct list link;
	uint64_t number;		/* for the log; counts from 1 */
	uint64_t secret;		/* identifies the session to data connections and RESUME */
	enum session_state state;
	char peer[SESSION_PEER_MAX];
	struct client *client;
	bool half_open;			/* counted as one without HELLO */
	struct farswap_hello hello;
	uint16_t queues;		/* number of data queue pairs granted */
	uint32_t attempt;		/* the client's number of its attempt to connect */
	struct auth auth;
	uint32_t join_seq;		/* of the message of a client that introduces its key */

	struct conn control;
	struct conn data[FARSWAP_QUEUES_MAX];
	struct ibv_context *device;
	struct ibv_pd *pd;		/* for the control queue pair */
	struct ibv_pd *lend_pd;		/* for the regions and the data queue pairs */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *buffers_mr;
	struct session_buffers *buffers;
	struct loop_fd channel_fd;
	struct loop_work poll;		/* handles the remaining completions in the next turn */
	struct loop_timer throttle;	/* polls when the session may use the loop again */
	uint64_t polled_since_ms;
	unsigned int nr_polled;		/* completions handled since then */
	struct loop_work teardown;

	uint8_t free_sends[SESSION_SENDS];
	unsigned int nr_free_sends;
	bool send_is_answer[SESSION_SENDS];
	unsigned int nr_answers;	/* sends in flight that are answers */
	uint64_t answers;		/* sent so far, WELCOME not counted, kept when resumed */
	enum stats_counter close_reason;

	uint32_t seq;
	struct session_request requests[FARSWAP_CREDITS];
	unsigned int nr_requests;
	uint64_t queries_since_ms;
	unsigned int nr_queries;		/* regions queried since then */
	unsigned int nr_maps;
	struct session_map maps[FARSWAP_CREDITS];
	struct {
		uint64_t region;
		uint32_t seq;		/* 0: EVICT was not sent */
	} settled[SESSION_SETTLED];
	unsigned int next_settled;

	struct region_owner owner;
	bool has_owner;
	bool resuming;			/* RESUME must come before anything else */
	unsigned int nr_claims;		/* regions named in RESUME */
	unsigned int nr_gone;		/* regions that the donor no longer has */
	bool rekeyed;			/* other device: the client must query all rkeys */
	bool device_gone;
	bool sweeping;			/* regions that were not claimed are being reclaimed */
	bool revoked;			/* an rkey was revoked before its region was returned */
	bool leaked;			/* the adapter could not destroy all its objects */
	bool reachable;			/* a data queue pair may still reach regions */
	struct loop_work sweep;
	struct loop_timer deadline;	/* for HELLO, data queue pairs, closing, grace */
	struct loop_timer ping;
	struct loop_timer linger;	/* revokes the rkey of the first returned region */
	struct loop_timer evict;	/* revokes the rkey of the first overdue region */
	bool ping_waits;
	uint32_t ping_seq;
	uint64_t ping_ns;		/* when PING was sent */
	unsigned int ping_misses;
};

/* session.c */
extern struct list session_list;
void session_init(unsigned int max);
/* Stop lending and refuse new sessions. */
void session_leave(void);
bool session_leaving(void);
unsigned int session_count(void);
/* Are there as many sessions as there may be? For one that @resumes there may be more. */
bool session_is_full(bool resumes);
/* Accept a control connection and take @id over, or return the status to reject it with. */
int session_create(struct rdma_cm_id *id, const struct rdma_conn_param *param,
		   const struct farswap_connect *connect);
/* Accept a data connection of an existing session in the same way. */
int session_add_data(struct rdma_cm_id *id, const struct rdma_conn_param *param,
		     const struct farswap_connect *connect);
/* Format the address of the peer. */
void session_peer_name(struct rdma_cm_id *id, char name[SESSION_PEER_MAX]);
void session_established(struct conn *conn);
/* Log why, then tear down from the event loop: queue pairs first, then rkeys. Any state. */
void session_end(struct session *session, enum stats_counter reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Like session_end(), but the regions may be kept for a while: see grace.c. */
void session_lost(struct session *session, enum stats_counter reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define SESSION_REACHABLE	"its queue pairs could not be destroyed"
/* Destroy the queue pairs. Return true if nothing that the client sent can reach its regions. */
bool session_disconnect(struct session *session);
/* End the sessions of clients that may not connect any more with the keys that they have shown. */
void session_end_denied(void);
void session_end_all(enum stats_counter reason, const char *why);
/* Called when the worker has finished with all regions of the owner. */
void session_idle(struct region_owner *owner);
/* Destroy all objects on the device: its removal waits for that. */
void session_device_gone(struct ibv_context *device);
void session_device_failed(struct ibv_context *device);
/* The only writer of a session's state. Aborts on an illegal move. */
void session_set_state(struct session *session, enum session_state state);
const char *session_state_name(enum session_state state);
/* Number of regions lent to the client. */
unsigned int session_lent(const struct session *session);
/* Mapped regions of sessions that are ending, which return without an eviction. */
unsigned int session_dying(void);

/* grace.c: sessions without connections, and how they are resumed */
/* @anywhere: a client may resume from another address than its session had. */
void grace_init(unsigned int grace_ms, unsigned int max, bool anywhere);
void grace_init_session(struct session *session);
/* Keep the regions of a session whose connections failed. Return false if they can't be kept. */
bool grace_enter(struct session *session, const char *why);
/* Account for the end of a session in its grace period. */
void grace_leave(void);
unsigned int grace_count(void);
/* Does the request name a session that can be resumed from this address? */
bool grace_may_resume(const struct farswap_connect *connect, const struct sockaddr *from);
/* May a connection from this address belong to the session? */
bool grace_is_from(const struct session *session, const struct sockaddr *from);
/* Return the session that @hello names and may resume, or NULL. */
struct session *grace_find(const struct session *session, const struct farswap_hello *hello);
/* End @old and move its regions to @session, if possible; the client then claims them. */
void grace_adopt(struct session *session, struct session *old);
/*
 * Keep the regions that RESUME names, and set a bit in @gone for each that is lost. Return false
 * if a region is named twice, or more are named than were ever lent.
 */
bool grace_claim(struct session *session, const struct farswap_resume *resume, uint64_t *gone);
/* The last RESUME has been answered: continue the session. */
void grace_resumed(struct session *session);

/* control.c: messages on the control queue pair */
/* Called before the queue pair exists. After an error control_destroy() cleans up. */
int control_create(struct session *session);
int control_post_receives(struct session *session);
/* Handle the messages that arrived before the connection ended. */
void control_finish(struct session *session);
void control_stop(struct session *session);
void control_destroy(struct session *session);
/* Send a copy of @hdr's message. On failure the session is lost or ends. */
void control_send(struct session *session, const struct farswap_hdr *hdr, bool is_answer);
bool control_is_idle(const struct session *session);

/* message.c: handling of messages */
/* @idle is called whenever the pool has run out of work. */
/* @queues: most data queue pairs of a session. */
void message_init(const uint8_t *node, uint64_t instance, unsigned int queues,
		  void (*idle)(void));
void message_received(struct session *session, const void *msg, size_t len);
/* A send has completed, which may end a closing session. */
void message_sent(struct session *session);
/* The client lines have changed: answer a client that has joined if it has one now. */
void message_settle(void);
/* Drop the MAPs that wait. */
void message_stop(struct session *session);
/* Schedule the pool's work: regions may be free, or region_step() have work. */
void message_kick_pool(void);

/* peer-request.c: requests to clients */
/* Evict the region, within @evict_ms. */
void request_evict(struct region *region, uint64_t job, unsigned int evict_ms);
/* Return false if the client has too many pending requests, or is late with an answer. */
bool request_activity(struct session *session, uint64_t job, const uint64_t *regions,
		      unsigned int count);
void request_init(struct session *session);
void request_start(struct session *session);
void request_stop(struct session *session);
/* These return false if the message is not expected. */
bool request_unmap(struct session *session, uint64_t region);
bool request_done(struct session *session, uint64_t region, uint32_t seq);
bool request_activity_answer(struct session *session, const struct farswap_activity *answer);
bool request_pong(struct session *session, uint32_t seq);
/* Callback for region_listen(). */
void request_region_is_back(struct region *region, bool dead);
/* Reclaim one region of an ending session. Return false if it has none. */
bool request_reclaim(struct session *session);
/* Reclaim one region that was not claimed. Return false if there is none. */
bool request_sweep(struct session *session);
/*
 * Revoke one rkey because the device is gone; a lent region stays lent. Return false if there was
 * none left.
 */
bool request_unregister(struct session *session);
/* Return the current rkey of a region, or an error if the region is gone. */
int request_key(struct session *session, uint64_t region, uint32_t *rkey);
/* Restart the evictions that were pending when the connections failed. */
void request_adopt(struct session *session);
void request_send_evicts(struct session *session);
/* In the grace period only deadlines remain. */
void request_grace(struct session *session);
void request_alive(struct session *session);

/* The session has no queue pair, or is about to lose it. */
static inline bool session_is_over(const struct session *session)
{
	return session->state >= SESSION_GRACE;
}

/* Does the connect request name the session? The secret itself is sent only without keys. */
static inline bool session_is_named(const struct session *session,
				    const struct farswap_connect *connect)
{
	if (session->auth.on)
		return auth_is_named(&session->auth, connect);
	return session->secret == le64toh(connect->session);
}

static inline struct session *session_of(struct region_owner *owner)
{
	return container_of(owner, struct session, owner);
}

#endif
