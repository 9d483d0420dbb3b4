/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The life of a slab between a client and a donor, for Spin: mapping, eviction,
 * the death of connections and of the daemon, packets that come late or twice,
 * keys killed, and the region lent again. check.sh says what is searched;
 * Documentation/mm/farswap/testing.rst, what is left out.
 *
 * A step is a critical section of the modules, a turn of the daemon's loop or an
 * act of an adapter. How often anything may happen is bounded, so every run ends,
 * and what must happen in the end is asked where nothing can any more: settled().
 *
 * An assertion's comment is what check.sh calls it. Each BREAK_ macro takes one
 * precaution away, for check.sh to see that an assertion fails.
 */

/* At most so many, in a run: */
#ifndef STORES
#define STORES		1	/* of a slot */
#endif
#ifndef LOADS
#define LOADS		1	/* of a slot */
#endif
#ifndef PROMOTIONS
#define PROMOTIONS	0	/* of a slot */
#endif
#ifndef MAPS
#define MAPS		2	/* attempts of the client's */
#endif
#ifndef CONNS
#define CONNS		2	/* connections, one after the other */
#endif
#ifndef EVICTS
#define EVICTS		1	/* by the donor */
#endif
#ifndef UNMAPS
#define UNMAPS		0	/* because the client wants */
#endif
#ifndef OTHERS
#define OTHERS		0	/* loans to another client */
#endif
#ifndef SENDS
#define SENDS		1	/* of one work request; the second is a repetition */
#endif
#ifndef BLIPS
#define BLIPS		1	/* connections ended for no good reason */
#endif
#ifndef DEATHS
#define DEATHS		0	/* of the daemon */
#endif
#ifndef SLOW
#define SLOW		0	/* MAPs for whose answer the client doesn't wait */
#endif
#ifndef STUCK
#define STUCK		0	/* clients that cease to handle messages */
#endif
#ifndef STUBBORN
#define STUBBORN	0	/* keys that can't be killed */
#endif
#ifndef SLOTS
#define SLOTS		1	/* in the slab; each has a page, which has data */
#endif

#define PACKETS		2	/* under way at once, at most */
#define WRS		(SLOTS + 1)
#define OTHERS_DATA	255

mtype:message = { MAP, MR_INFO, UNMAP, EVICT, DONE };
mtype:slab = { UNMAPPED, MAPPING, MAPPED, DRAINING, LOST };
mtype:session = { IDLE, LIVE, FAILING };
mtype:qp = { NONE, RTS, ERROR };
mtype:peer = { ABSENT, READY, ENDING, GONE };
mtype:region = { DIRTY, FREE, LENT, EVICT_WAIT, EVICTING, ELSEWHERE, BROKEN };
mtype:packet = { NOTHING, REQUEST, ACK, NAK };
mtype:wr = { UNUSED, POSTED, SUCCESS, FAILURE };
mtype:io = { QUIET, STORE_BEGUN, STORE_CHECKED, LOAD_BEGUN, OUT };
mtype:call = { NO_CALL, WAITING, ANSWERED };

#define WRITE		0
#define READ		1

typedef work_request {
	mtype:wr state = UNUSED;
	bit op;
	byte slot;
	byte conn;
	byte loan;
	byte psn;
	byte data;		/* the page's */
	byte sends;
	bit held;		/* the page is not handed back */
};

typedef packet {
	mtype:packet kind = NOTHING;
	bit op;
	byte slot;
	byte conn;
	byte loan;
	byte psn;
	byte data;
};

/* The control connections, both ways; deep enough never to be full. */
chan to_donor[CONNS] = [MAPS + 2] of { mtype:message, byte };
chan to_client[CONNS] = [MAPS + 2] of { mtype:message, byte };

/* The data connections: the client's adapter, and the network. */
work_request wr[WRS];
packet net[PACKETS];
byte flying;			/* packets in net */

/* The client's core. A page's data is the number of its last store. */
byte data[SLOTS];
bit remote[SLOTS];
mtype:io io[SLOTS] = QUIET;
mtype:slab slab = UNMAPPED;
byte region;			/* slab->region: a loan, or 0 */
bit ref_live;			/* slab->ref */
byte refs;
byte epoch;
bit donor_live;
bit early[MAPS + 1];

/* The client's transport. */
mtype:session session = IDLE;
byte conn;			/* session->conn */
byte conns;			/* how many there were */
bit dead[CONNS];		/* conn->error */
mtype:qp qp[CONNS] = NONE;
byte out[CONNS];		/* work requests not completed */
byte psn_next[2 * CONNS];
bit handling;			/* a message, in more than one step */
mtype:call call = NO_CALL;
byte answer;
byte abandoned;			/* calls that nobody waits for */
byte conn_of[MAPS + 1];		/* region->conn; the donor's session too */
bit known[MAPS + 1];		/* in conn->regions */
bit evicted[MAPS + 1];
bit stuck;

/* The donor, of one region. A loan stands for its name, and for its key. */
mtype:peer peer[CONNS] = ABSENT;
byte psn_expected[CONNS];	/* of a WRITE */
mtype:region lent = DIRTY;
byte loan;			/* the client's, or 0 */
byte loans;
byte memory[SLOTS];
bit key[MAPS + 1];
bit request[MAPS + 1];		/* EVICT without an answer */
bit unasked[MAPS + 1];		/* settled: key killed before EVICT was sent */
#ifdef BREAK_KEY_LATE
byte key_late;
#endif

/* Events that may still happen. */
byte maps = MAPS;
byte evicts = EVICTS;
byte unmaps = UNMAPS;
byte others = OTHERS;
byte blips = BLIPS;
byte deaths = DEATHS;
byte slow = SLOW;
byte hangs = STUCK;
byte stubborn = STUBBORN;
bit balky;			/* the next key to be killed */
bit calm;			/* nothing that needn't */

#define IS_LENT		(lent == LENT || lent == EVICT_WAIT || lent == EVICTING)

/* For use within a step. */
hidden byte i, j, k;

#include "client.pml"
#include "network.pml"
#include "donor.pml"

/* Optional events need not happen, and required ones must not depend on them. */
proctype fate()
{
end:	do
	:: d_step {
		!calm ->
		calm = 1;
		maps = 0;
		evicts = 0;
		unmaps = 0;
		others = 0;
		blips = 0;
		deaths = 0;
		slow = 0;
		hangs = 0;
		stubborn = 0
	   }
	:: d_step { hangs && slab == MAPPED -> hangs--; stuck = 1 }
	:: d_step { stubborn && IS_LENT -> stubborn--; balky = 1 }
	od
}

/*
 * These searches reach the events that the others are about. The first three: EVICT before
 * the core knows the slab; a WRITE on its way to a region that is the client's
 * again, and to one that is another's; then a READ after a second mapping.
 */
#if defined(REACH_EARLY)
#define REACHED	(early[1] && slab == MAPPING)
#elif defined(REACH_LATE)
#define REACHED	(net[0].kind == REQUEST && net[0].op == WRITE && loan > net[0].loan)
#elif defined(REACH_LATE_ELSEWHERE)
#define REACHED	(net[0].kind == REQUEST && net[0].op == WRITE && lent == ELSEWHERE)
#elif defined(REACH_AGAIN)
#define REACHED	(wr[0].state == SUCCESS && wr[0].op == READ && wr[0].loan == 2)
#elif defined(REACH_TWICE)
#define REACHED	(net[1].kind == REQUEST && psn_expected[0] > net[1].psn)
#elif defined(REACH_CROSSED)
#define REACHED	(len(to_client[0]) > 0 && lent == EVICTING && loan == 1 && !known[1] && slab == UNMAPPED)
#elif defined(REACH_BROKEN)
#define REACHED	(lent == BROKEN && memory[0] == 1 && slab == UNMAPPED && !maps)
#else
#define REACHED	false
#endif

proctype reach()
{
end:	do
	:: d_step { REACHED -> assert(false) }				/* it happens */
	od
}

/*
 * Every I/O has ended; no region is on its way back, whatever the client does;
 * and the two agree on what is lent.
 */
inline settled()
{
	for (i : 0 .. SLOTS - 1) {
		assert(io[i] == QUIET)					/* I/O ends */
	}
	assert(lent == FREE || lent == LENT || lent == BROKEN);		/* regions come back */
	if
	:: !stuck ->
		assert(slab == UNMAPPED || slab == MAPPED);		/* slabs drain */
		assert(lent != LENT || slab == MAPPED && region == loan);	/* no leak */
		assert(slab == UNMAPPED || !dead[conn_of[region]]);	/* lost with its session */
		assert(slab == UNMAPPED || !evicted[region]);		/* EVICT is obeyed */
		assert(slab == UNMAPPED || lent == LENT || unasked[region])	/* still lent */
	:: else
	fi
}

init
{
	atomic {
		for (i : 0 .. SLOTS - 1) {
			run page(i)
		}
		for (i : 0 .. WRS - 1) {
			run adapter(i)
		}
		for (i : 0 .. PACKETS - 1) {
			run network(i)
		}
		for (i : 0 .. CONNS - 1) {
			run client(i)
		}
		run map_work();
		run drain_work();
		run control();
		run connection();
		run pool();
		run fate();
		run reach()
	}
	d_step { timeout -> settled() }
}
