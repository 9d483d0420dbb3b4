/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session that is resumed, for Spin: its connections fail, and the next ones go over the
 * donor's same device or over another one, with other keys (grace.c and peer-request.c in daemon/,
 * resume.c in rdma/). check.sh says what is searched; slab.pml has the life of a region.
 *
 * It begins with a live connection and with regions that are mapped. A device can go and come
 * again, or another one is reached. How often anything may happen is bounded, and what must have happened in
 * the end is asked where nothing can happen any more: settled(). An assertion's comment is what
 * check.sh calls it. Each BREAK_ macro takes one precaution away.
 */

/* At most so many, in a run: */
#ifndef REGIONS
#define REGIONS		1
#endif
#ifndef CONNS
#define CONNS		3	/* connections, one after the other */
#endif
#ifndef STORES
#define STORES		1	/* to a region */
#endif
#ifndef LOADS
#define LOADS		1	/* from a region */
#endif
#ifndef BLIPS
#define BLIPS		2	/* connections ended for no good reason */
#endif
#ifndef MOVES
#define MOVES		1	/* the donor's other device answers from then on */
#endif
#ifndef LOSSES
#define LOSSES		0	/* the device goes, and comes again */
#endif
#ifndef EVICTS
#define EVICTS		0	/* by the donor */
#endif
#ifndef UNMAPS
#define UNMAPS		0	/* because the client wants */
#endif
#ifndef OTHERS
#define OTHERS		1	/* loans to another client */
#endif
#ifndef REFUSALS
#define REFUSALS	0	/* regions that can't be registered */
#endif
#ifndef SENDS
#define SENDS		1	/* of one work request; the second is a repetition */
#endif

#define PACKETS		2	/* under way at once, at most */
#define KEYS		(REGIONS * CONNS)
#define NOBODY		CONNS
#define OTHERS_DATA	255

#define SAME_KEYS	1
#define NEW_KEYS	2

mtype:message = { HELLO, WELCOME, RESUME, RESUMED, KEY, KEYED, EVICT, DONE, UNMAP };
mtype:session = { IDLE, CONNECTING, LIVE, FAILING };
mtype:qp = { NONE, RTS, ERROR };
mtype:peer = { ABSENT, GREETING, READY, GRACE, ENDING, GONE };
mtype:region = { LENT, EVICT_WAIT, EVICTING, RETURNED, REVOKING, DIRTY, FREE, ELSEWHERE };
mtype:wr = { UNUSED, POSTED, SUCCESS, FAILURE };

#define WRITE		0
#define READ		1

typedef work_request {
	mtype:wr state = UNUSED;
	bit op;
	byte conn;
	byte key;
	byte psn;
	byte data;
	byte sends;
};

typedef packet {
	bit op;
	byte slot;
	byte conn;
	byte key;
	byte psn;
	byte data;
};

/* The control connections, both ways; deep enough never to be full. */
chan to_donor[CONNS] = [REGIONS + 3] of { mtype:message, byte };
chan to_client[CONNS] = [2 * REGIONS + 3] of { mtype:message, byte, byte };

/* The data connections. Each region has one page, with one I/O at a time. */
work_request wr[REGIONS];
packet net[PACKETS];
byte flying;			/* packets in net */

/* The client. A page's data is the number of its last store. */
byte data[REGIONS];
bit remote[REGIONS];
bit known[REGIONS];		/* in conn->regions */
byte conn_of[REGIONS];		/* region->conn */
byte rkey[REGIONS];
bit evicted[REGIONS];
bit draining[REGIONS];
bit released[REGIONS];		/* in conn->releases */
mtype:session session = LIVE;
byte conn;
byte conns = 1;
bit held;			/* session->held */
bit dead[CONNS];
bit open[CONNS];
mtype:qp qp[CONNS] = NONE;
byte psn_next[CONNS];
bit asked_data[CONNS];		/* a connect request of a data queue is on its way */
bit accepted[CONNS];

/* The donor. */
byte device;			/* by which it is reached; one that comes again has a new number */
byte dev[CONNS];		/* of a connection */
mtype:peer peer[CONNS] = ABSENT;
bit unreached[CONNS];		/* its end of the queue pairs is destroyed */
bit resumable[CONNS];		/* it has the secret that the client knows */
bit resuming[CONNS];
bit sweeping[CONNS];
bit rekeyed[CONNS];
byte psn_expected[CONNS];	/* of a WRITE */
mtype:region lent[REGIONS] = LENT;
byte owner[REGIONS];
bit claimed[REGIONS];
byte mr[REGIONS];		/* its key, or 0 */
bit unasked[REGIONS];		/* taken back before EVICT was sent */
byte memory[REGIONS];

/* The keys there ever were. */
byte keys;
byte key_region[KEYS + 1];
byte key_device[KEYS + 1];
bit key_alive[KEYS + 1];

/* Events that may still happen. */
byte blips = BLIPS;
byte moves = MOVES;
byte losses = LOSSES;
byte evicts = EVICTS;
byte unmaps = UNMAPS;
byte others = OTHERS;
byte refusals = REFUSALS;

#define IS_LENT(_r)	(lent[_r] == LENT || lent[_r] == EVICT_WAIT || lent[_r] == EVICTING)
#define IS_USABLE(_r)	(known[_r] && !draining[_r] && open[conn_of[_r]] && !dead[conn_of[_r]])

#define IS_OURS(_r)	(lent[_r] == LENT && owner[_r] == conn)
#define IS_OVER(_c)	(peer[_c] == GRACE || peer[_c] == ENDING || peer[_c] == GONE)

/* For use within a step. */
hidden byte i, j, k, old;

inline tell_donor(_c, _type, _what)
{
	if
	:: peer[_c] == GREETING || peer[_c] == READY -> to_donor[_c]!_type(_what)
	:: else
	fi
}

inline tell_client(_c, _type, _what, _more)
{
	if
	:: !dead[_c] -> to_client[_c]!_type(_what, _more)
	:: else
	fi
}

/* farswap_rdma_conn_fail() */
inline fail(_c)
{
	if
	:: !dead[_c] ->
		dead[_c] = 1;
		session = (session == LIVE -> FAILING : session);
		do
		:: len(to_client[_c]) > 0 -> to_client[_c]?_, _, _
		:: else -> break
		od
	:: else
	fi
}

/* The core is told that it is lost, or it was given back. */
inline forget(_r)
{
	assert(wr[_r].state == UNUSED);		/* no I/O outlives its mapping */
	known[_r] = 0;
	remote[_r] = 0;
	draining[_r] = 0
}

/* farswap_rdma_io_submit(), io_post() */
inline post(_r, _op)
{
	assert(key_region[rkey[_r]] == _r);			/* a region's own key */
	assert(key_device[rkey[_r]] == dev[conn_of[_r]]);	/* a key of this device */
	wr[_r].state = POSTED;
	wr[_r].op = _op;
	wr[_r].conn = conn_of[_r];
	wr[_r].key = rkey[_r];
	wr[_r].psn = psn_next[conn_of[_r]];
	wr[_r].data = (_op == WRITE -> data[_r] : 0);
	psn_next[conn_of[_r]]++
}

inline io_done(_r)
{
	if
	:: wr[_r].state == FAILURE -> fail(wr[_r].conn)
	:: wr[_r].state == SUCCESS && wr[_r].op == WRITE ->
		remote[_r] = !dead[wr[_r].conn]
	:: wr[_r].state == SUCCESS && wr[_r].op == READ ->
		assert(wr[_r].data == data[_r])			/* the last stored or an error */
	fi;
	wr[_r].state = UNUSED;
	wr[_r].op = 0;
	wr[_r].conn = 0;
	wr[_r].key = 0;
	wr[_r].psn = 0;
	wr[_r].data = 0;
	wr[_r].sends = 0
}

proctype page(byte r)
{
	byte stores = STORES, loads = LOADS;
end:	do
	/* The device is written too, so that it has the last always. */
	:: d_step {
		wr[r].state == UNUSED && stores && IS_USABLE(r) ->
		stores--;
		remote[r] = 0;
		data[r]++;
		post(r, WRITE)
	   }
	:: d_step {
		wr[r].state == UNUSED && stores && !IS_USABLE(r) ->
		stores--;
		remote[r] = 0;
		data[r]++
	   }
	:: d_step {
		wr[r].state == UNUSED && loads && remote[r] && IS_USABLE(r) ->
		loads--;
		post(r, READ)
	   }
	/* mapping_work_fn(), and the release that follows it */
	:: d_step { unmaps && IS_USABLE(r) -> unmaps--; draining[r] = 1 }
	:: d_step {
		draining[r] && wr[r].state == UNUSED && session != FAILING ->
		forget(r);
		released[r] = !dead[conn_of[r]];
		evicted[r] = (released[r] -> evicted[r] : 0)
	   }
	/* farswap_rdma_region_send_releases() */
	:: d_step {
		released[r] && open[conn_of[r]] && !dead[conn_of[r]] ->
		if
		:: evicted[r] -> tell_donor(conn_of[r], DONE, r)
		:: else -> tell_donor(conn_of[r], UNMAP, r)
		fi;
		evicted[r] = 0;
		released[r] = 0
	   }
	:: d_step { released[r] && dead[conn_of[r]] -> released[r] = 0; evicted[r] = 0 }
	/* The adapter sends; its queue pair is flushed; a completion is handled. */
	:: d_step {
		wr[r].state == POSTED && qp[wr[r].conn] == RTS &&
		wr[r].sends < SENDS && flying < PACKETS ->
		net[flying].op = wr[r].op;
		net[flying].slot = r;
		net[flying].conn = wr[r].conn;
		net[flying].key = wr[r].key;
		net[flying].psn = wr[r].psn;
		net[flying].data = wr[r].data;
		flying++;
		wr[r].sends++
	   }
	:: d_step { wr[r].state == POSTED && qp[wr[r].conn] == ERROR -> wr[r].state = FAILURE }
	:: d_step { wr[r].state == SUCCESS || wr[r].state == FAILURE -> io_done(r) }
	/* watch_io(): nothing is left that could answer it */
	:: d_step {
		wr[r].state == POSTED && wr[r].sends == SENDS && !flying && !dead[wr[r].conn] ->
		fail(wr[r].conn)
	   }
	od
}

/* The last takes its place: fewer states. */
inline net_clear(_p)
{
	flying--;
	net[_p].op = net[flying].op;
	net[_p].slot = net[flying].slot;
	net[_p].conn = net[flying].conn;
	net[_p].key = net[flying].key;
	net[_p].psn = net[flying].psn;
	net[_p].data = net[flying].data;
	net[flying].op = 0;
	net[flying].slot = 0;
	net[flying].conn = 0;
	net[flying].key = 0;
	net[flying].psn = 0;
	net[flying].data = 0
}

/* A queue pair in error takes no answer. */
inline answer(_p, _state, _data)
{
	i = net[_p].slot;
	if
	:: wr[i].state == POSTED && wr[i].conn == net[_p].conn && wr[i].op == net[_p].op &&
	   wr[i].psn == net[_p].psn && qp[net[_p].conn] == RTS ->
		wr[i].state = _state;
		wr[i].data = _data
	:: else
	fi
}

/* The donor's adapter knows its own keys, and nothing of loans. */
inline execute(_p)
{
	j = net[_p].key;
	k = key_region[j];
	if
	:: !key_alive[j] || key_device[j] != dev[net[_p].conn] ->
		answer(_p, FAILURE, 0)
	:: else ->
		assert(IS_LENT(k) || lent[k] == RETURNED || lent[k] == REVOKING);	/* rule 7 */
		if
		:: net[_p].op == WRITE -> memory[k] = net[_p].data
		:: else
		fi;
		/* The answer may be lost. */
		if
		:: answer(_p, SUCCESS, memory[k])
		:: skip
		fi
	fi
}

/* Packets are delayed at will, lost, and sent again; what is sent twice is done once. */
proctype network(byte p)
{
end:	do
	:: d_step {
		p < flying ->
		if
		:: unreached[net[p].conn] || net[p].psn > psn_expected[net[p].conn]
		:: !unreached[net[p].conn] && net[p].psn < psn_expected[net[p].conn] &&
		   net[p].op == WRITE -> answer(p, SUCCESS, 0)
		:: !unreached[net[p].conn] && net[p].psn < psn_expected[net[p].conn] &&
		   net[p].op == READ -> execute(p)
		:: !unreached[net[p].conn] && net[p].psn == psn_expected[net[p].conn] ->
			psn_expected[net[p].conn]++;
			execute(p)
		fi;
		net_clear(p)
	   }
	:: d_step { p < flying -> net_clear(p) }
	od
}

/* session_connect() and session_fail_work() */
proctype connection()
{
	byte r, resumed, asked, got;

	goto end_live;
end_again:
	if
	:: d_step {
		session == IDLE && conns < CONNS ->
		conn = conns;
		conns++;
		dev[conn] = device;
		peer[conn] = GREETING;
		qp[conn] = RTS;
		session = CONNECTING;
		tell_donor(conn, HELLO, 0)
	   }
	fi;
	/* farswap_rdma_resume_claim(): resume_take(), resume_claim() */
	if
	:: d_step {
		!dead[conn] && to_client[conn]?[WELCOME, _, _] ->
		to_client[conn]?WELCOME(resumed, _);
		asked = 0;
		for (i : 0 .. REGIONS - 1) {
			if
			:: held && known[i] && !resumed -> forget(i)
			:: held && known[i] && resumed ->
				conn_of[i] = conn;
				evicted[i] = 0;
				asked = asked + (1 << i)
			:: else
			fi
		}
		held = (resumed -> held : 0);
		if
		:: resumed -> tell_donor(conn, RESUME, asked)
		:: else
		fi
	   }
	:: dead[conn] -> goto failed
	fi;
	if
	:: !resumed -> goto connect
	:: else
	fi;
	if
	:: d_step {
		!dead[conn] && to_client[conn]?[RESUMED, _, _] ->
		to_client[conn]?RESUMED(got, _);
		for (i : 0 .. REGIONS - 1) {
			if
#ifndef BREAK_GONE
			:: got & (1 << i) && known[i] -> forget(i)
			:: got & (1 << i) && !known[i] -> released[i] = 0
#endif
			:: else
			fi
		}
		got = 0
	   }
	:: dead[conn] -> goto failed
	fi;
#ifdef BREAK_OPEN
	d_step { open[conn] = 1; session = LIVE; held = 0 }
#endif
	/* resume_key(), one after the other */
#ifndef BREAK_OLD_KEY
	if
	:: resumed == NEW_KEYS -> r = 0
	:: else -> r = REGIONS
	fi;
	do
	:: r == REGIONS -> break
	:: r < REGIONS && (!known[r] || conn_of[r] != conn) -> r++
	:: d_step { r < REGIONS && known[r] && conn_of[r] == conn -> tell_donor(conn, KEY, r) }
	   if
	   :: d_step {
		!dead[conn] && to_client[conn]?[KEYED, _, _] ->
		to_client[conn]?KEYED(j, got);
		assert(j == r);						/* order of messages */
		if
		:: got && known[r] -> rkey[r] = got
#ifndef BREAK_LOST
		:: !got && known[r] -> forget(r)
		:: !got && !known[r] -> released[r] = 0
#endif
		:: else
		fi;
		got = 0
	      }
	   :: dead[conn] -> goto failed
#ifdef BREAK_LATE
	   :: !dead[conn] && r == 0 -> skip
#endif
	   fi;
	   r++
	od;
#endif
connect: /* session_try(); session_up() */
	if
	:: d_step { r = 0; resumed = 0; asked = 0; asked_data[conn] = 1 }
	fi;
	if
	:: d_step { !dead[conn] && accepted[conn] -> open[conn] = 1; session = LIVE; held = 0 }
	:: dead[conn] -> goto failed
	fi;
end_live:
	if
	:: d_step { session == FAILING -> skip }
	fi;
failed:	/* session_quiesce(), farswap_rdma_resume_suspend() */
	if
	:: d_step { r = 0; resumed = 0; asked = 0; got = 0; qp[conn] = ERROR }
	fi;
	d_step {
#ifndef BREAK_QUIESCE
		wr[0].state == UNUSED && wr[REGIONS - 1].state == UNUSED ->
#endif
		held = 0;
		for (i : 0 .. REGIONS - 1) {
			held = held || known[i]
		}
		session = IDLE;
		qp[conn] = NONE;
		open[conn] = 0;
		accepted[conn] = 0;
		asked_data[conn] = 0;
		psn_next[conn] = 0
	}
	goto end_again
}

/* Whatever ends a connection, or what is held of it; and what the donor asks for. */
proctype watch()
{
end:	do
	:: d_step { session != IDLE && !dead[conn] && blips -> blips--; fail(conn) }
	:: d_step { session != IDLE && !dead[conn] && IS_OVER(conn) -> fail(conn) }
	/* resume_grace_over(); in the end it is over */
	:: d_step {
		held && (session == IDLE || session == CONNECTING) ->
		for (i : 0 .. REGIONS - 1) {
			if
			:: known[i] -> forget(i)
			:: else
			fi
		}
		held = 0;
		if
		:: session == CONNECTING -> fail(conn)
		:: else
		fi
	   }
	/* message_evict() */
	:: d_step {
		(session == LIVE || session == CONNECTING) && !dead[conn] &&
		to_client[conn]?[EVICT, _, _] ->
		to_client[conn]?EVICT(j, _);
		if
		:: known[j] && conn_of[j] == conn -> evicted[j] = 1; draining[j] = 1
		:: else
		fi
	   }
	od
}

/* The worker has it. */
inline region_return(_r)
{
	lent[_r] = REVOKING
}

inline kill(_r)
{
	key_alive[mr[_r]] = 0;
	mr[_r] = 0
}

/* message_hello(), grace_adopt() */
inline adopt(_c)
{
#ifndef BREAK_DISCONNECT
	unreached[old] = 1;
#endif
#ifndef BREAK_REKEYED
	rekeyed[_c] = rekeyed[old] || dev[old] != dev[_c];
#else
	rekeyed[_c] = dev[old] != dev[_c];
#endif
	for (i : 0 .. REGIONS - 1) {
		if
		:: owner[i] == old && lent[i] == RETURNED && dev[old] != dev[_c] ->
			region_return(i)
		:: owner[i] == old && (IS_LENT(i) || lent[i] == RETURNED) ->
			owner[i] = _c;
			claimed[i] = 0;
			lent[i] = (lent[i] == EVICTING -> EVICT_WAIT : lent[i]);
			if
#ifndef BREAK_UNREGISTER
			:: dev[old] != dev[_c] -> kill(i)
#endif
			:: else
			fi
		:: else
		fi
	}
	resumable[_c] = 1;
	resumable[old] = 0;
	resuming[_c] = 1;
	session_over(old);
	tell_client(_c, WELCOME, (rekeyed[_c] -> NEW_KEYS : SAME_KEYS), 0)
}

/* A session has no connections any more: grace_enter(), session_end(). */
inline session_over(_c)
{
	peer[_c] = ENDING;
	resuming[_c] = 0;
	sweeping[_c] = 0;
	do
	:: len(to_donor[_c]) > 0 -> to_donor[_c]?_, _
	:: else -> break
	od;
	skip
}

inline session_lost(_c)
{
	session_over(_c);
	if
	:: resumable[_c] -> peer[_c] = GRACE
	:: else
	fi
}

/* A session of the client's, at the donor. */
proctype client(byte c)
{
	byte r, gone;
end:	do
	:: d_step {
		peer[c] == GREETING && to_donor[c]?[HELLO, _] ->
		to_donor[c]?HELLO(_);
		peer[c] = READY;
		old = NOBODY;
		for (i : 0 .. CONNS - 1) {
			if
			:: i != c && resumable[i] && (peer[i] == READY || peer[i] == GRACE) ->
				old = i
			:: else
			fi
		}
		if
		:: old == NOBODY -> tell_client(c, WELCOME, 0, 0)
		:: else -> adopt(c)
		fi;
		old = 0
	   }
	/* grace_claim() */
	:: d_step {
		peer[c] == READY && to_donor[c]?[RESUME, _] ->
		to_donor[c]?RESUME(j);
		for (i : 0 .. REGIONS - 1) {
			if
			:: j & (1 << i) && owner[i] == c && IS_LENT(i) -> claimed[i] = 1
			:: j & (1 << i) && !(owner[i] == c && IS_LENT(i)) -> gone = gone + (1 << i)
			:: else
			fi
		}
		tell_client(c, RESUMED, gone, 0);
		gone = 0;
		resuming[c] = 0;
		sweeping[c] = 1
	   }
	/* grace_sweep() */
	:: d_step {
		peer[c] == READY && sweeping[c] ->
		for (i : 0 .. REGIONS - 1) {
			if
#ifndef BREAK_SWEEP
			:: owner[i] == c && IS_LENT(i) && !claimed[i] -> region_return(i)
#endif
			:: else
			fi
		}
		sweeping[c] = 0
	   }
	/* request_key() */
	:: d_step {
		peer[c] == READY && to_donor[c]?[KEY, _] ->
		to_donor[c]?KEY(r);
		assert(rekeyed[c] || dead[c]);				/* order of KEY */
		if
#ifndef BREAK_OWNER
		:: !(owner[r] == c && IS_LENT(r)) -> tell_client(c, KEYED, r, 0)
		:: owner[r] == c && IS_LENT(r) && refusals && !mr[r] ->
			refusals--;
			region_return(r);
			tell_client(c, KEYED, r, 0)
#endif
		:: else ->
			if
			:: !mr[r] ->
				keys++;
				mr[r] = keys;
				key_region[keys] = r;
				key_device[keys] = dev[c];
				key_alive[keys] = 1
			:: else
			fi;
#ifndef BREAK_NAME
			tell_client(c, KEYED, r, mr[r])
#else
			tell_client(c, KEYED, r, mr[0])
#endif
		fi;
#ifdef BREAK_HEARD
		rekeyed[c] = 0;
#endif
		r = 0
	   }
	/* session_add_data(), session_established() */
	:: d_step {
		peer[c] == READY && !resuming[c] && asked_data[c] ->
		asked_data[c] = 0;
		accepted[c] = 1
	   }
	:: d_step { peer[c] == READY && accepted[c] && rekeyed[c] -> rekeyed[c] = 0 }
	:: d_step {
		peer[c] == READY && (to_donor[c]?[UNMAP, _] || to_donor[c]?[DONE, _]) ->
		to_donor[c]?_, j;
		if
		:: owner[j] == c && IS_LENT(j) -> lent[j] = RETURNED
		:: else
		fi
	   }
	/* session_lost(): the client has hung up; grace_enter() */
	:: d_step { peer[c] == READY && dead[c] -> session_lost(c) }
	:: d_step { peer[c] == READY && blips -> blips--; session_lost(c) }
	:: d_step { peer[c] == GREETING && dead[c] -> session_over(c) }
	/* session_teardown(); in its grace period it loses only the queue pairs */
	:: d_step { IS_OVER(c) && !unreached[c] -> unreached[c] = 1; psn_expected[c] = 0 }
	/* session_deadline() */
	:: d_step { peer[c] == GRACE && unreached[c] -> peer[c] = ENDING; resumable[c] = 0 }
	:: d_step {
		peer[c] == ENDING && unreached[c] ->
		for (i : 0 .. REGIONS - 1) {
			if
			:: owner[i] == c && (IS_LENT(i) || lent[i] == RETURNED) -> region_return(i)
			:: else
			fi
		}
		peer[c] = GONE
	   }
	od
}

proctype pool(byte r)
{
end:	do
	/* request_evict(): a client in its grace period is not asked */
	:: d_step {
		evicts && lent[r] == LENT && (peer[owner[r]] == READY || peer[owner[r]] == GRACE) ->
		evicts--;
		lent[r] = (peer[owner[r]] == READY -> EVICT_WAIT : REVOKING)
	   }
	/* request_send_evicts() */
	:: d_step {
		lent[r] == EVICT_WAIT && peer[owner[r]] == READY && !resuming[owner[r]] &&
		!sweeping[owner[r]] ->
		lent[r] = EVICTING;
		tell_client(owner[r], EVICT, r, 0)
	   }
	/* request_kill_overdue() */
	:: d_step {
		(lent[r] == EVICT_WAIT || lent[r] == EVICTING) &&
		(peer[owner[r]] == READY || peer[owner[r]] == GRACE) ->
		unasked[r] = (lent[r] == EVICT_WAIT);
		region_return(r)
	   }
	/* request_linger_over() */
	:: d_step { lent[r] == RETURNED -> region_return(r) }
	/* The worker: region_run_kill(), region_killed() */
#ifndef BREAK_KEY_LATE
	:: d_step { lent[r] == REVOKING -> kill(r); lent[r] = DIRTY }
#else
	:: d_step { lent[r] == REVOKING -> lent[r] = DIRTY }
	:: d_step { lent[r] != REVOKING && !IS_LENT(r) && lent[r] != RETURNED && mr[r] -> kill(r) }
#endif
	:: d_step { lent[r] == DIRTY -> memory[r] = 0; lent[r] = FREE }
	/* Another client, of whom no more is seen than that. */
	:: d_step { lent[r] == FREE && others -> others--; memory[r] = OTHERS_DATA; lent[r] = ELSEWHERE }
	od
}

/* How the donor is reached. */
proctype fate()
{
end:	do
	:: d_step { moves -> moves--; device = device ^ 1 }
	/* device_gone(): keys and queue pairs go with it */
	:: d_step {
		losses ->
		losses--;
		for (i : 0 .. CONNS - 1) {
			if
			:: peer[i] != ABSENT && dev[i] == device ->
				unreached[i] = 1;
				if
				:: peer[i] == READY -> session_lost(i)
				:: peer[i] == GREETING -> session_over(i)
				:: else
				fi
			:: else
			fi
		}
		for (i : 0 .. REGIONS - 1) {
			if
			:: mr[i] && key_device[mr[i]] == device -> kill(i)
			:: else
			fi
		}
		device = device + 2
	   }
	od
}

/*
 * These searches reach the events that the others are about: I/O with a new key; a region that its donor
 * took between RESUMED and KEY; a key given for a second time, as the first was not heard of; a
 * WRITE of an old connection on its way while the session is resumed.
 */
#if defined(REACH_REKEYED)
#define REACHED	(wr[0].state == SUCCESS && wr[0].op == WRITE && key_device[wr[0].key])
#elif defined(REACH_REVOKED)
#define REACHED	(session == CONNECTING && claimed[0] && !IS_LENT(0) && known[0] && rekeyed[conn])
#elif defined(REACH_AGAIN)
#define REACHED	(conn == 2 && session == LIVE && known[0] && mr[0] == 2 && rkey[0] == 2 && dev[1])
#elif defined(REACH_LATE)
#define REACHED	(conn == 1 && session == LIVE && flying && net[0].conn == 0 && known[0])
#else
#define REACHED	false
#endif

proctype reach()
{
end:	do
	:: d_step { REACHED -> assert(false) }				/* it happens */
	od
}

/* The two agree on what is lent, and on the keys. */
inline settled()
{
	for (i : 0 .. REGIONS - 1) {
		if
		:: known[i] ->
			assert(session == LIVE && (unasked[i] || IS_OURS(i)));	/* still lent */
			assert(unasked[i] || mr[i] == rkey[i])		/* both have one key */
		:: else ->
			assert(!IS_LENT(i))				/* no leak */
		fi
	}
}

/* Optional events need not happen. */
inline may(_what)
{
	do
	:: break
	:: _what -> _what--
	od
}

init
{
	atomic {
		may(blips);
		may(moves);
		may(losses);
		may(evicts);
		may(unmaps);
		may(others);
		may(refusals);
		peer[0] = READY;
		qp[0] = RTS;
		open[0] = 1;
		accepted[0] = 1;
		resumable[0] = 1;
		for (i : 0 .. REGIONS - 1) {
			keys++;
			mr[i] = keys;
			rkey[i] = keys;
			key_region[keys] = i;
			key_alive[keys] = 1;
			known[i] = 1;
			claimed[i] = 1
		}
		for (i : 0 .. REGIONS - 1) {
			run page(i);
			run pool(i)
		}
		for (i : 0 .. PACKETS - 1) {
			run network(i)
		}
		for (i : 0 .. CONNS - 1) {
			run client(i)
		}
		run connection();
		run watch();
		run fate();
		run reach()
	}
	d_step { timeout -> settled() }
}
