/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's adapter, the network and the donor's adapter: reliable connections
 * as InfiniBand has them. Packets are delayed at will, lost, and sent again. That
 * a WRITE sent twice is done once is all that an adapter knows of lateness.
 */

inline wr_clear(_w)
{
	out[wr[_w].conn]--;
	wr[_w].state = UNUSED;
	wr[_w].op = 0;
	wr[_w].slot = 0;
	wr[_w].conn = 0;
	wr[_w].loan = 0;
	wr[_w].psn = 0;
	wr[_w].data = 0;
	wr[_w].sends = 0;
	wr[_w].held = 0
}

inline net_move(_to, _from)
{
	net[_to].kind = net[_from].kind;
	net[_to].op = net[_from].op;
	net[_to].slot = net[_from].slot;
	net[_to].conn = net[_from].conn;
	net[_to].loan = net[_from].loan;
	net[_to].psn = net[_from].psn;
	net[_to].data = net[_from].data
}

/* The last takes its place: fewer states. */
inline net_clear(_p)
{
	flying--;
	net_move(_p, flying);
	net[flying].kind = NOTHING;
	net[flying].op = 0;
	net[flying].slot = 0;
	net[flying].conn = 0;
	net[flying].loan = 0;
	net[flying].psn = 0;
	net[flying].data = 0
}

/* The page is read whenever it is sent. */
inline transmit(_w)
{
	assert(wr[_w].held);		/* a page is handed back when nothing can touch it */
	assert(region == wr[_w].loan);	/* no request outlives its mapping */
	net[flying].kind = REQUEST;
	net[flying].op = wr[_w].op;
	net[flying].slot = wr[_w].slot;
	net[flying].conn = wr[_w].conn;
	net[flying].loan = wr[_w].loan;
	net[flying].psn = wr[_w].psn;
	net[flying].data = wr[_w].data;
#ifndef BREAK_SENDS
	wr[_w].sends++;
#endif
	flying++
}

/* It knows keys, and nothing of loans. */
inline execute(_p)
{
	if
	:: !key[net[_p].loan] ->
		net[_p].kind = NAK
	:: else ->
		assert(lent == BROKEN || IS_LENT && loan == net[_p].loan);	/* rule 7 */
		if
		:: net[_p].op == WRITE ->
			memory[net[_p].slot] = net[_p].data;
			psn_expected[net[_p].conn] = net[_p].psn + 1
		:: else ->
			net[_p].data = memory[net[_p].slot]
		fi;
		net[_p].kind = ACK
	fi
}

inline arrive(_p)
{
	if
	:: peer[net[_p].conn] == GONE ->
		net_clear(_p)
#ifndef BREAK_DUPLICATES
	:: peer[net[_p].conn] != GONE && net[_p].op == WRITE &&
	   net[_p].psn < psn_expected[net[_p].conn] ->
		net[_p].kind = ACK
	:: peer[net[_p].conn] != GONE && net[_p].op == WRITE &&
	   net[_p].psn > psn_expected[net[_p].conn] ->
		net_clear(_p)
#endif
	:: else ->
		execute(_p)
	fi
}

/* A queue pair in error takes nothing. */
inline take_answer(_p)
{
	for (i : 0 .. WRS - 1) {
		if
		:: wr[i].state == POSTED && wr[i].conn == net[_p].conn &&
		   wr[i].op == net[_p].op && wr[i].psn == net[_p].psn &&
		   qp[net[_p].conn] == RTS ->
			assert(wr[i].held);	/* a READ writes into no page handed back */
			wr[i].state = (net[_p].kind == ACK -> SUCCESS : FAILURE);
			wr[i].data = net[_p].data
		:: else
		fi
	}
	net_clear(_p)
}

proctype network(byte p)
{
end:	do
	:: d_step { net[p].kind == REQUEST -> arrive(p) }
	:: d_step { net[p].kind == ACK || net[p].kind == NAK -> take_answer(p) }
	:: d_step { net[p].kind != NOTHING -> net_clear(p) }
	od
}

proctype adapter(byte w)
{
end:	do
	:: d_step {
		wr[w].state == POSTED && qp[wr[w].conn] == RTS &&
		wr[w].sends < SENDS && flying < PACKETS ->
		transmit(w)
	   }
	/* The flush. */
	:: d_step {
		wr[w].state == POSTED && qp[wr[w].conn] == ERROR ->
		wr[w].state = FAILURE
	   }
	:: d_step { wr[w].state == SUCCESS || wr[w].state == FAILURE -> io_done(w) }
	/* watch_io(): nothing is left that could answer it */
	:: d_step {
		wr[w].state == POSTED && wr[w].sends == SENDS && !flying && !dead[wr[w].conn] ->
		fail(wr[w].conn)
	   }
#ifdef BREAK_FLUSH
	:: d_step {
		wr[w].state == POSTED && wr[w].held ->
		wr[w].held = 0;
		done(wr[w].slot, wr[w].op, 0, false)
	   }
#endif
#ifdef BREAK_FLUSH_READ
	:: d_step {
		wr[w].state == POSTED && wr[w].held && wr[w].op == READ && wr[w].sends == SENDS ->
		wr[w].held = 0;
		done(wr[w].slot, wr[w].op, 0, false)
	   }
#endif
	od
}
