/* SPDX-License-Identifier: GPL-2.0 */
/* The client: mm/ and rdma/. */

/* A message that nobody would look at is lost at once. */
inline tell_donor(_c, _type, _l)
{
	if
	:: peer[_c] == READY -> to_donor[_c]!_type(_l)
	:: else
	fi
}

/* farswap_rdma_conn_fail() */
inline fail(_c)
{
	if
	:: !dead[_c] ->
		dead[_c] = 1;
		session = FAILING;
		do
		:: len(to_client[_c]) > 0 -> to_client[_c]?_, _
		:: else -> break
		od
	:: else
	fi
}

/* store_end(), promote_done(), load_done() */
inline done(_s, _op, _data, _good)
{
	if
	:: _op == WRITE && _good ->
		remote[_s] = 1
	:: _op == READ && _good ->
		assert(_data == data[_s])	/* the last stored or an error */
	:: else
	fi;
	refs--;
	io[_s] = QUIET
}

inline post(_s, _op)
{
	i = 0;
	do
	:: wr[i].state != UNUSED -> i++
	:: else -> break
	od;
	wr[i].state = POSTED;
	wr[i].op = _op;
	wr[i].slot = _s;
	wr[i].conn = conn_of[region];
	wr[i].loan = region;
	wr[i].psn = psn_next[2 * conn_of[region] + _op];
	wr[i].data = (_op == WRITE -> data[_s] : 0);
	wr[i].held = 1;
	psn_next[2 * conn_of[region] + _op]++;
	out[conn_of[region]]++;
	io[_s] = OUT
}

/* farswap_rdma_io_submit(): the look and the post are one critical section */
inline submit(_s, _op)
{
	if
	:: dead[conn_of[region]] ->
#ifndef BREAK_REFUSED_REF
		done(_s, _op, 0, false)
#else
		io[_s] = QUIET
#endif
#ifdef BREAK_POST
	:: !dead[conn_of[region]] && io[_s] == STORE_BEGUN ->
		io[_s] = STORE_CHECKED
#endif
	:: else ->
		post(_s, _op)
	fi
}

inline io_done(_w)
{
	if
	:: wr[_w].state == FAILURE -> fail(wr[_w].conn)
	:: else
	fi;
	if
	:: wr[_w].held ->
		done(wr[_w].slot, wr[_w].op, wr[_w].data,
		     wr[_w].state == SUCCESS && !(wr[_w].op == WRITE && dead[wr[_w].conn]))
	:: else
	fi;
	wr_clear(_w)
}

inline drain_start(_state)
{
	if
	:: slab == MAPPED ->
		slab = _state;
		ref_live = 0
	:: else
	fi
}

inline store_bits(_s)
{
#ifndef BREAK_STALE_BIT
	remote[_s] = 0;
#endif
	data[_s]++
}

/* One slot; its folio's lock, or writeback, keeps two I/Os apart. */
proctype page(byte s)
{
	byte stores = STORES, loads = LOADS, promotions = PROMOTIONS;
end:	do
	/* farswap_store(). The device is written too, so that it has the last always. */
	:: d_step {
		io[s] == QUIET && stores && !calm && ref_live ->
		stores--;
		store_bits(s);
		refs++;
		io[s] = STORE_BEGUN
	   }
	/* No slab, no room, no request: the device alone. */
	:: d_step { io[s] == QUIET && stores && !calm -> stores--; store_bits(s) }
	/* promote_one() */
	:: d_step {
		io[s] == QUIET && promotions && !calm && data[s] && ref_live && !remote[s] ->
		promotions--;
		refs++;
		io[s] = STORE_BEGUN
	   }
	/* farswap_load(). Without the bit the device is read. */
	:: d_step {
		io[s] == QUIET && loads && !calm && ref_live && remote[s] ->
		loads--;
		refs++;
		io[s] = LOAD_BEGUN
	   }
	:: d_step { io[s] == STORE_BEGUN -> submit(s, WRITE) }
	:: d_step { io[s] == LOAD_BEGUN -> submit(s, READ) }
#ifdef BREAK_POST
	:: d_step { io[s] == STORE_CHECKED -> post(s, WRITE) }
#endif
	od
}

/* farswap_slab_map_work() */
proctype map_work()
{
	byte c, seen;
end:	do
	:: d_step { !stuck && maps && slab == UNMAPPED && donor_live -> maps--; slab = MAPPING }
	   /* farswap_donors_use() */
	   d_step { seen = epoch; c = (donor_live -> 0 : CONNS) }
	   /* farswap_rdma_region_map() */
	   d_step {
		if
		:: c == 0 && session == LIVE ->
			c = conn;
			tell_donor(c, MAP, 0);
			call = WAITING
		:: else
		fi
	   }
	   /* farswap_rdma_rpc_call() */
	   if
	   :: call == ANSWERED || call == NO_CALL
	   :: d_step { call == WAITING && dead[c] -> call = NO_CALL }
	   :: d_step {
		call == WAITING && !dead[c] && (slow || stuck) ->
		slow = (stuck -> slow : slow - 1);
		call = NO_CALL;
#ifndef BREAK_ABANDONED
		abandoned++
#endif
	      }
	   fi;
	   /* map_done(), or map_failed() */
	   d_step {
		if
		:: answer -> region = answer; answer = 0; ref_live = 1
		:: else
		fi;
		call = NO_CALL
	   }
	   /* I/O may have begun already. */
	   d_step {
		if
		:: !region -> slab = UNMAPPED
		:: region ->
			slab = MAPPED;
			if
#ifndef BREAK_EPOCH
			:: seen != epoch || !donor_live -> drain_start(LOST)
#else
			:: !donor_live -> drain_start(LOST)
#endif
#ifndef BREAK_EARLY
			:: seen == epoch && donor_live && early[region] -> drain_start(DRAINING)
#endif
			:: else
			fi
		fi;
		c = 0;
		seen = 0
	   }
	od
}

/* farswap_rdma_region_send_releases() */
inline give_back(_l)
{
	if
	:: !dead[conn_of[_l]] && evicted[_l] -> tell_donor(conn_of[_l], DONE, _l)
	:: !dead[conn_of[_l]] && !evicted[_l] -> tell_donor(conn_of[_l], UNMAP, _l)
	:: else
	fi
}

inline forget_slots()
{
	for (i : 0 .. SLOTS - 1) {
		remote[i] = 0
	}
}

#ifndef BREAK_DONE_EARLY
#define IO_ENDED	(refs == 0)
#else
#define IO_ENDED	true
#endif

/* map_release_work(), farswap_unmap_end(), and what lets them run: sweep_slab() */
proctype drain_work()
{
end:	do
	:: d_step { unmaps && slab == MAPPED -> unmaps--; drain_start(DRAINING) }
	:: d_step {
		!stuck && (slab == DRAINING || slab == LOST) && IO_ENDED ->
#ifndef BREAK_BITS
		forget_slots();
#endif
		skip
	   }
	   /* farswap_rdma_region_release() */
	   d_step { known[region] = 0; give_back(region) }
	   d_step {
#ifdef BREAK_BITS
		forget_slots();
#endif
		early[region] = 0;
		evicted[region] = 0;
		region = 0;
		slab = UNMAPPED
	   }
	od
}

/* farswap_rdma_message_received() */
proctype control()
{
	byte l;
end:	do
	/* farswap_rdma_rpc_answered() */
	:: d_step {
		!stuck && session == LIVE && to_client[conn]?[MR_INFO, _] ->
		to_client[conn]?MR_INFO(j);
		if
		:: abandoned ->
			abandoned--;
#ifndef BREAK_LATE_ANSWER
			if
			:: j -> give_back(j)
			:: else
			fi
#endif
		:: else ->
			assert(call == WAITING);	/* order of messages */
			call = ANSWERED;
			answer = j;
			known[j] = (j != 0)
		fi
	   }
	/* message_evict() */
	:: d_step {
		!stuck && session == LIVE && to_client[conn]?[EVICT, _] ->
		to_client[conn]?EVICT(j);
		if
		:: known[j] -> evicted[j] = 1; l = j
		:: else
		fi;
		handling = 1
	   }
	   /* farswap_evict_begin() */
	   d_step {
		if
		:: l && !dead[conn] && slab == MAPPED && region == l -> drain_start(DRAINING)
		:: l && !dead[conn] && !(slab == MAPPED && region == l) -> early[l] = 1
		:: else
		fi;
		handling = 0;
		l = 0
	   }
	od
}

/* session_work() and session_fail_work() */
proctype connection()
{
end:	do
	/* session_connect(): the donor has the session first */
	:: d_step {
		session == IDLE && conns < CONNS ->
		conn = conns;
		conns++;
		peer[conn] = READY;
		qp[conn] = RTS;
		session = LIVE;
		/* donor_up() */
#ifndef BREAK_EPOCH
		epoch++;
#endif
		for (i : 0 .. MAPS) {
			early[i] = 0
		}
		donor_live = 1
	   }
	/* It is hung up, or PING isn't answered. */
	:: d_step { session == LIVE && peer[conn] != READY -> fail(conn) }
	:: d_step { session == LIVE && blips -> blips--; fail(conn) }
	/* session_quiesce() */
	:: d_step { session == FAILING && qp[conn] == RTS -> qp[conn] = ERROR }
	:: d_step {
		session == FAILING && qp[conn] == ERROR && !out[conn] && !handling ->
		abandoned = 0;
		psn_next[2 * conn] = 0;
		psn_next[2 * conn + 1] = 0;
		qp[conn] = NONE;
		/* donor_down() */
#ifndef BREAK_EPOCH
		epoch++;
#endif
		donor_live = 0;
		drain_start(LOST)
	   }
	/* session_retire() */
	:: d_step { session == FAILING && qp[conn] == NONE -> session = IDLE }
	od
}
