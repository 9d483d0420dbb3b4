/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One client: its control queue pair, its data queue pairs, its protection
 * domain, what it owes answers to and what regions it has.
 */
#ifndef SESSION_H
#define SESSION_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "loop.h"
#include "region.h"
#include "stats.h"
#include "wire.h"

/* A client has this long to connect, to say HELLO and to bring data queue pairs. */
#define SESSION_CONNECT_MS	7000
#define SESSION_HELLO_MS	5000
#define SESSION_DATA_MS		10000
/* To take a refusal before it is disconnected. */
#define SESSION_CLOSE_MS	1000
#define SESSION_PING_MS		5000
#define SESSION_PING_MISSES	3

/* Sends in flight: answers, and the donor's own requests. */
#define SESSION_SENDS		64
#define SESSION_ANSWERS_MAX	(SESSION_SENDS - FARSWAP_CREDITS)
/* Evictions settled by other than DONE, for which a DONE may still come. */
#define SESSION_SETTLED		256

enum session_state {
	SESSION_CONNECTING,	/* accepted */
	SESSION_GREETING,	/* connected, HELLO awaited */
	SESSION_READY,		/* WELCOME sent */
	SESSION_CLOSING,	/* refused; its last message is on its way */
	SESSION_LIMBO,		/* its connections failed; its regions are kept */
	SESSION_DEAD,		/* being taken apart */
	SESSION_STATES
};

enum conn_state {
	CONN_NONE,
	CONN_ACCEPTED,
	CONN_UP,
};

/* A queue pair and its CM id, whose context this is. */
struct conn {
	struct session *session;
	struct rdma_cm_id *id;
	enum conn_state state;
	bool left;			/* the client has disconnected it */
	struct loop_timer timer;	/* for it to come up */
};

/* Something the donor asked, and its credit. Free: type 0. */
struct session_request {
	uint16_t type;
	uint16_t count;
	uint32_t seq;
	uint64_t job;
	uint64_t sent_ns;
	uint64_t region[FARSWAP_ACTIVITY_REGIONS];
};

/* A MAP that waits for a region to be zeroed. Free: session NULL. */
struct session_map {
	struct list link;
	struct session *session;
	uint32_t seq;
	uint64_t until_ms;	/* not answered later with a region */
};

/* "address:port" */
#define SESSION_PEER_MAX	64

struct session {
	struct list link;
	uint64_t number;		/* for people; counts from 1 */
	uint64_t secret;		/* what data connections present, and who resumes */
	enum session_state state;
	char peer[SESSION_PEER_MAX];
	struct farswap_hello hello;
	uint16_t queues;		/* granted */
	uint32_t attempt;		/* to connect, the client's number */

	struct conn control;
	struct conn data[FARSWAP_QUEUES_MAX];
	struct ibv_context *device;
	struct ibv_pd *pd;		/* the control queue pair's */
	struct ibv_pd *lend_pd;		/* the regions' and the data queue pairs' */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *buffers_mr;
	struct session_buffers *buffers;
	struct loop_fd channel_fd;
	struct loop_work poll;		/* completions left for the next turn */
	struct loop_work teardown;

	uint8_t free_sends[SESSION_SENDS];
	unsigned int nr_free_sends;
	bool send_is_answer[SESSION_SENDS];
	unsigned int nr_answers;	/* sends that are answers */
	uint64_t answers;		/* there were so far, WELCOME aside; resumed ones too */
	enum stats_counter close_reason;

	uint32_t seq;
	struct session_request requests[FARSWAP_CREDITS];
	unsigned int nr_requests;
	uint64_t asks_since_ms;
	unsigned int nr_asks;		/* regions asked about since then */
	unsigned int nr_maps;
	struct session_map maps[FARSWAP_CREDITS];
	struct {
		uint64_t region;
		uint32_t seq;		/* 0: no EVICT had been sent */
	} settled[SESSION_SETTLED];
	unsigned int next_settled;

	struct region_owner owner;
	bool has_owner;
	bool resuming;			/* RESUME is to come before anything else */
	unsigned int nr_claims;		/* regions that were named in it */
	unsigned int nr_gone;		/* of those, the ones it has no more */
	bool rekeyed;			/* another device: the client has to ask for all keys */
	bool device_gone;
	bool sweeping;			/* what was not claimed is being taken back */
	bool killed;			/* a key, before the client had given the region back */
	bool lives_on;			/* the adapter did not destroy all that it has of it */
	bool reached;			/* nor what the client reaches regions by */
	struct loop_work sweep;
	struct loop_timer deadline;	/* HELLO, data queue pairs, closing */
	struct loop_timer ping;
	struct loop_timer linger;	/* kills the key of the first region that was given back */
	struct loop_timer evict;	/* kills the key of the first overdue region */
	bool ping_waits;
	uint32_t ping_seq;
	uint64_t ping_ns;		/* when it was sent */
	unsigned int ping_misses;
};

/* session.c */
extern struct list session_list;
void session_init(unsigned int max);
/* No more regions for anybody, no more sessions. */
void session_leave(void);
bool session_leaving(void);
unsigned int session_count(void);
/* A control connection: takes @id over, or returns the status to reject it with. */
int session_create(struct rdma_cm_id *id, const struct rdma_conn_param *param,
		   const struct farswap_connect *connect);
/* The same for a data connection of an existing session. */
int session_add_data(struct rdma_cm_id *id, const struct rdma_conn_param *param,
		     const struct farswap_connect *connect);
/* Who asks for @id. */
void session_peer_name(struct rdma_cm_id *id, char name[SESSION_PEER_MAX]);
void session_established(struct conn *conn);
/* Logs why, kills the queue pairs, then all keys, from the event loop. Any state. */
void session_end(struct session *session, enum stats_counter reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, but its regions may be kept for a while: see limbo.c. */
void session_lost(struct session *session, enum stats_counter reason, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define SESSION_REACHED	"its queue pairs can't be destroyed"
/* Destroys its queue pairs. True: nothing that the client sent to regions arrives any more. */
bool session_disconnect(struct session *session);
void session_end_all(enum stats_counter reason, const char *why);
/* The worker has none of its regions any more. */
void session_idle(struct region_owner *owner);
/* Its objects are to be destroyed: the removal waits for that. */
void session_device_gone(struct ibv_context *device);
void session_device_failed(struct ibv_context *device);
const char *session_state_name(enum session_state state);
/* Regions that it has and knows of. */
unsigned int session_lent(const struct session *session);
/* Mapped regions of sessions that have ended, which come back without being asked for. */
unsigned int session_dying(void);

/* limbo.c: sessions without connections, and how they go on */
void limbo_init(unsigned int grace_ms, unsigned int max);
void limbo_init_session(struct session *session);
/* A session's connections failed. False: its regions are not to be kept. */
bool limbo_enter(struct session *session, const char *why);
/* One that is in limbo ends. */
void limbo_leave(void);
unsigned int limbo_count(void);
/* Is there a session of that secret to be resumed? */
bool limbo_may_resume(uint64_t secret);
/* The session that @hello may and wants to resume, or NULL. */
struct session *limbo_find(const struct session *session, const struct farswap_hello *hello);
/* Ends @old; its regions are @session's, which is to claim them, if they can be. */
void limbo_adopt(struct session *session, struct session *old);
/*
 * Keeps what RESUME names; a bit for each that it has no more. False: one was named twice, or
 * more than were ever lent.
 */
bool limbo_claim(struct session *session, const struct farswap_resume *resume, uint64_t *gone);
/* The last RESUME has been answered. */
void limbo_resumed(struct session *session);

/* queue.c: the control queue pair's messages */
/* Before the queue pair exists; what is missing afterwards, destroy ignores. */
int queue_create(struct session *session);
int queue_post_receives(struct session *session);
/* Takes what came before the connection ended. */
void queue_finish(struct session *session);
void queue_stop(struct session *session);
void queue_destroy(struct session *session);
/* Copies @hdr's message and sends it; the session is lost, or ends, if it can't. */
void queue_send(struct session *session, const struct farswap_hdr *hdr, bool is_answer);
bool queue_is_idle(const struct session *session);

/* message.c: what messages mean */
void message_init(const uint8_t *node, uint64_t instance);
void message_received(struct session *session, const void *msg, size_t len);
/* What was sent has left; a session that is closing may be done. */
void message_sent(struct session *session);
/* Forgets what it waits for. */
void message_stop(struct session *session);
/* There may be free regions, or work for region_step(). */
void message_kick_pool(void);

/* request.c: what the donor asks clients */
/* Takes the region back, at the latest when evict_ms are over. */
void request_evict(struct region *region, uint64_t job, unsigned int evict_ms);
/* False: not now. The client has too much to answer already, or is late with it. */
bool request_activity(struct session *session, uint64_t job, const uint64_t *regions,
		      unsigned int count);
void request_init(struct session *session);
void request_start(struct session *session);
void request_stop(struct session *session);
/* Each: false if the message does not belong here. */
bool request_unmap(struct session *session, uint64_t region);
bool request_done(struct session *session, uint64_t region, uint32_t seq);
bool request_activity_answer(struct session *session, const struct farswap_activity *answer);
bool request_pong(struct session *session, uint32_t seq);
/* For region_listen(). */
void request_region_is_back(struct region *region, bool dead);
/* One region of a dying session; false if it has none. */
bool request_reclaim(struct session *session);
/* The same of what was not claimed. */
bool request_sweep(struct session *session);
/* Kills all keys, as the device is gone; what is lent stays so. */
void request_unregister(struct session *session);
/* The key that a region has now; else it is gone. */
int request_key(struct session *session, uint64_t region, uint32_t *rkey);
/* Evictions under way when the connections failed begin anew. */
void request_adopt(struct session *session);
void request_send_evicts(struct session *session);
/* In limbo there are deadlines and nothing else. */
void request_limbo(struct session *session);
void request_alive(struct session *session);

/* It has no queue pair any more, or won't have soon. */
static inline bool session_is_over(const struct session *session)
{
	return session->state >= SESSION_LIMBO;
}

static inline struct session *session_of(struct region_owner *owner)
{
	return container_of(owner, struct session, owner);
}

#endif
