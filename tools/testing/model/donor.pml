/* SPDX-License-Identifier: GPL-2.0 */
/* The donor: daemon/, of one thread. */

#define IS_MINE(_c)	(IS_LENT && conn_of[loan] == _c)

inline tell_client(_c, _type, _l)
{
	if
	:: !dead[_c] -> to_client[_c]!_type(_l)
	:: else
	fi
}

inline region_return()
{
	if
	:: balky ->
		balky = 0;
		lent = BROKEN
	:: else ->
#ifndef BREAK_KEY_LATE
		key[loan] = 0;
#else
		key_late = loan;
#endif
		lent = DIRTY
	fi;
	loan = 0
}

inline session_end(_c)
{
	peer[_c] = ENDING;
	for (k : 1 .. MAPS) {
		if
		:: conn_of[k] == _c -> request[k] = 0; unasked[k] = 0
		:: else
		fi
	}
	do
	:: len(to_donor[_c]) > 0 -> to_donor[_c]?_, _
	:: else -> break
	od;
	skip
}

/* The proof for it must go before the region does. */
inline given_back(_l)
{
	for (i : 0 .. SLOTS - 1) {
		assert(region != _l || !remote[i])	/* rule 3 */
	}
	if
	:: IS_LENT && loan == _l -> region_return()
	:: else
	fi
}

/* A session of the client's. */
proctype client(byte c)
{
end:	do
	/* message_map(); it waits while the region is dirty */
	:: d_step {
		peer[c] == READY && to_donor[c]?[MAP, _] && lent == FREE ->
		to_donor[c]?MAP(_);
		for (i : 0 .. SLOTS - 1) {
			assert(!memory[i])		/* zeroed */
		}
		loans++;
		loan = loans;
		conn_of[loan] = c;
		key[loan] = 1;
		lent = LENT;
		tell_client(c, MR_INFO, loan)
	   }
	:: d_step {
		peer[c] == READY && to_donor[c]?[MAP, _] && lent != FREE && lent != DIRTY ->
		to_donor[c]?MAP(_);
		tell_client(c, MR_INFO, 0)
	   }
	/* request_unmap() */
	:: d_step {
		peer[c] == READY && to_donor[c]?[UNMAP, _] ->
		to_donor[c]?UNMAP(j);
#ifdef BREAK_SETTLED
		unasked[j] = 0;
#endif
		assert(request[j] || IS_LENT && loan == j || unasked[j]);	/* order of UNMAP */
		request[j] = 0;
		unasked[j] = 0;
		given_back(j)
	   }
	/* request_done() */
	:: d_step {
		peer[c] == READY && to_donor[c]?[DONE, _] ->
		to_donor[c]?DONE(j);
		assert(request[j]);					/* order of DONE */
		request[j] = 0;
		given_back(j)
	   }
	/* request_send_evicts() */
	:: d_step {
		peer[c] == READY && lent == EVICT_WAIT && IS_MINE(c) ->
		lent = EVICTING;
		request[loan] = 1;
		tell_client(c, EVICT, loan)
	   }
#ifndef BREAK_DEADLINE
	/* request_kill_overdue() */
	:: d_step {
		peer[c] == READY && (lent == EVICT_WAIT || lent == EVICTING) && IS_MINE(c) ->
#ifndef BREAK_UNASKED
		unasked[loan] = (lent == EVICT_WAIT);
#endif
#ifdef BREAK_CREDIT
		request[loan] = 0;
#endif
		region_return()
	   }
#endif
	/* session_end(): the client has hung up, or isn't heard of */
	:: d_step { peer[c] == READY && dead[c] -> session_end(c) }
	:: d_step { peer[c] == READY && !dead[c] && blips -> blips--; session_end(c) }
	/* session_teardown(): queue pairs, then regions */
	:: d_step { peer[c] == ENDING -> peer[c] = GONE; psn_expected[c] = 0 }
	:: d_step { peer[c] == GONE && IS_MINE(c) -> region_return() }
	od
}

proctype pool()
{
end:	do
	/* request_evict() */
	:: d_step {
		evicts && lent == LENT && peer[conn_of[loan]] == READY ->
		evicts--;
		lent = EVICT_WAIT
	   }
	/* fill_zero_step() */
	:: d_step {
		lent == DIRTY ->
#ifndef BREAK_ZERO
		for (i : 0 .. SLOTS - 1) {
			memory[i] = 0
		}
#endif
		lent = FREE
	   }
	/* Another client, of whom no more is seen than that. */
	:: d_step {
		others && lent == FREE ->
		others--;
		for (i : 0 .. SLOTS - 1) {
			memory[i] = OTHERS_DATA
		}
		lent = ELSEWHERE
	   }
	:: d_step { lent == ELSEWHERE -> lent = DIRTY }
#ifdef BREAK_KEY_LATE
	:: d_step { key_late -> key[key_late] = 0; key_late = 0 }
#endif
	/* The daemon dies with its queue pairs and keys, and another one starts. */
	:: d_step {
		deaths ->
		deaths--;
		for (i : 0 .. CONNS - 1) {
			if
			:: peer[i] == READY -> session_end(i)
			:: else
			fi;
			if
			:: peer[i] != ABSENT -> peer[i] = GONE; psn_expected[i] = 0
			:: else
			fi
		}
		for (i : 1 .. MAPS) {
			key[i] = 0
		}
		loan = 0;
		lent = DIRTY
	   }
	od
}
