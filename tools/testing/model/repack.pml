/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A unit of a packed slab that is emptied, a unit of another one, and the two pages that want
 * them, for Spin: mm/migrate/repack.c and mm/slab/pack.c, and what stores, loads and frees in
 * mm/io do with them. pack.pml has one slab that is lost and rebuilt. check.sh says what is
 * searched; Documentation/mm/farswap/testing.rst, what is left out.
 *
 * A page is stored, and loaded or freed, by one task at a time: the kernel locks its folio. A
 * step that is one atomic operation in the code is one step here.
 */

#ifndef STORES
#define STORES 2	/* of the first page, at most */
#endif
#ifndef OTHERS
#define OTHERS 1	/* of the second one */
#endif
#ifndef MOVES
#define MOVES 1		/* pages that the repack looks at */
#endif
#ifndef ENDS
#define ENDS 1		/* the emptied slab gives its region back or loses it */
#endif

#define PAGES 2
#define FROM 0		/* the unit of the slab that is emptied */
#define TO 1
#define UNITS 2
#define NOWHERE UNITS
#define NOTHING PAGES	/* contents that no page has any more */

byte entry[PAGES] = NOWHERE;	/* the unit that the page's place is */
bool device[PAGES];	/* the device has the page as it was last stored */
bool used[UNITS];	/* the unit is in use */
bool remote[UNITS];	/* its remote bit */
bool unbacked[UNITS];	/* its unbacked bit */
byte region[UNITS] = NOTHING;	/* the page whose last contents it has in the region */
byte copy = NOTHING;	/* that which the repack has read */
bool mapped[UNITS] = true;
bool closed;		/* the slab that is emptied is */
byte users[UNITS];
byte refs[UNITS];	/* I/O in flight */

/* The page gets other contents. */
inline change()
{
	atomic {
		device[me] = false;
		if
		:: region[FROM] == me -> region[FROM] = NOTHING
		:: else
		fi;
		if
		:: region[TO] == me -> region[TO] = NOTHING
		:: else
		fi;
		if
		:: copy == me -> copy = NOTHING
		:: else
		fi
	}
}

/* pack_take_units(): @unit, or NOWHERE, and a user of it */
inline take(unit)
{
	users[unit]++;
	taken = NOWHERE;
	if
	:: mapped[unit] ->
		if
		:: atomic { !used[unit] -> used[unit] = true };
			taken = unit;
#ifndef BREAK_CLOSED
			if
			:: unit == FROM && closed -> used[unit] = false; taken = NOWHERE
			:: else
			fi
#endif
		:: else
		fi
	:: else
	fi;
	if
	:: taken == NOWHERE -> users[unit]--
	:: else -> remote[unit] = false
	fi
}

/* The device gets the page, from a staging copy. */
inline back_up(unit)
{
	atomic {
		entry[me] == unit && unbacked[unit] -> device[me] = true; unbacked[unit] = false
	}
}

proctype page(byte me)
{
	byte stores = (me -> OTHERS : STORES), at = NOWHERE, taken = NOWHERE;

	do
	:: stores > 0 ->
		stores--;
		change();
		/* farswap_forget_object() */
		atomic { at = entry[me]; entry[me] = NOWHERE };
		if
		:: at != NOWHERE ->
			remote[at] = false;
			unbacked[at] = false;
			used[at] = false;
			at = NOWHERE
		:: else
		fi;
		if
		:: take(FROM)
		:: take(TO)
		fi;
		if
		:: taken != NOWHERE ->
			entry[me] = taken;
			unbacked[taken] = true;
			if
			:: atomic { mapped[taken] -> refs[taken]++ }
				region[taken] = me;
				remote[taken] = true;
				refs[taken]--
			:: !mapped[taken]
			fi;
			users[taken]--;
			if
			:: back_up(taken)
			:: skip		/* later, or by end() */
			fi;
			taken = NOWHERE
		:: else -> device[me] = true
		fi
	:: entry[me] != NOWHERE ->
		/* farswap_object_get() */
		at = entry[me];
		if
		:: at != NOWHERE ->
			users[at]++;
			if
			:: entry[me] == at ->
				if
				:: remote[at] ->
					/* farswap_mapping_find() */
					if
					:: atomic { mapped[at] -> refs[at]++ }
						assert(region[at] == me);	/* what a load returns is the page */
						refs[at]--
					:: !mapped[at]
					fi
				:: !remote[at] ->
					if
					:: entry[me] == at && unbacked[at]	/* a staging copy */
					:: else ->
						assert(device[me])	/* the device has what moves */
					fi
				fi
			:: else
			fi;
			users[at]--;
			at = NOWHERE
		:: else
		fi
	:: back_up(FROM)
	:: stores == 0 -> break
	od
}

/* repack_object() */
proctype repack()
{
	byte moves, i, taken = NOWHERE;
	bool moved;

	do
	:: moves < MOVES ->
		moves++;
		/* repack_work_fn() */
		if
		:: mapped[FROM] -> closed = true
		:: else
		fi;
		if
		:: i = 0
		:: i = 1
		fi;
		if
		:: entry[i] == FROM ->
#ifndef BREAK_USER
			users[FROM]++;
#endif
			if
			:: entry[i] == FROM && mapped[FROM] ->
				/* farswap_pack_is_closed() */
				if
				:: closed ->
				if
				:: remote[FROM] ->
					if
#ifndef BREAK_BACKED
					:: unbacked[FROM]
#endif
					:: atomic { mapped[FROM] && (!unbacked[FROM]
#ifdef BREAK_BACKED
						|| true
#endif
						) -> refs[FROM]++ };
						copy = region[FROM];
						refs[FROM]--;
						moved = false;
						take(TO);
						if
						:: taken == TO ->
							region[TO] = copy;
							remote[TO] = true;
							/* farswap_object_move() */
							remote[FROM] = false;
							if
#ifdef BREAK_COMPARE
							:: entry[i] = TO; moved = true
#else
							:: atomic { entry[i] == FROM -> entry[i] = TO; moved = true }
#endif
							:: entry[i] != FROM
							fi;
							if
							:: moved -> used[FROM] = false
							:: else -> remote[TO] = false; used[TO] = false
							fi;
							users[TO]--;
							taken = NOWHERE;
							moved = false
						:: else
						fi;
						copy = NOTHING
					:: !mapped[FROM]
					fi
				:: else
				fi
				:: else
				fi
			:: else
			fi;
#ifndef BREAK_USER
			users[FROM]--
#endif
		:: else
		fi
	:: moves == MOVES -> break
	od
}

/* The emptied slab's region goes, and the slab is mapped again. */
proctype end()
{
	byte ends, i;
	bool claimed;

	do
	:: ends < ENDS ->
		ends++;
		mapped[FROM] = false;
		refs[FROM] == 0;
		/* evacuate-fetch.c */
		atomic {
			i = 0;
			do
			:: i < PAGES ->
				if
				:: entry[i] == FROM && unbacked[FROM] ->
					device[i] = true;
					unbacked[FROM] = false
				:: else
				fi;
				i++
			:: else -> break
			od
		};
		region[FROM] = NOTHING;
		remote[FROM] = false;
		/* pack_open() */
#ifndef BREAK_OPEN
		users[FROM] == 0;
#endif
		closed = false;
		/* pack_empty() */
		claimed = false;
		i = 0;
		do
		:: i < PAGES ->
			if
			:: atomic { entry[i] == FROM && !unbacked[FROM] -> entry[i] = NOWHERE };
				claimed = true
			:: else
			fi;
			i++
		:: else -> break
		od;
#ifndef BREAK_OPEN
		users[FROM] == 0;
#endif
		if
		:: claimed -> used[FROM] = false; claimed = false
		:: else
		fi;
		i = 0;
		mapped[FROM] = true
	:: ends == ENDS -> break
	od
}

init {
	atomic {
		run page(0);
		run page(1);
		run repack();
		run end()
	}
}
