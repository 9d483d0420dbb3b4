/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One unit of a packed slab and the two pages that want it, for Spin: mm/slab/pack.c, and what
 * stores, loads and frees in mm/io do with it. Copies between regions are replica.pml's: a unit is
 * a slot there. check.sh says what is searched; Documentation/mm/farswap/testing.rst, what is
 * left out.
 *
 * A page is stored, and loaded or freed, by one task at a time: the kernel locks its folio. A
 * step that is one atomic operation in the code is one step here.
 */

#ifndef STORES
#define STORES 2	/* of each page, at most */
#endif
#ifndef LOSSES
#define LOSSES 1	/* the slab loses its region */
#endif
#ifndef REBUILDS
#define REBUILDS 0	/* runs of rebuild.c; with some, a lost slab may keep its objects */
#endif

#define PAGES 2
#define NOBODY PAGES

bool entry[PAGES];	/* the page's place is the unit */
bool used;		/* the unit is in use */
bool remote;		/* the unit's remote bit */
bool kept[PAGES];	/* for the assertions: the region has the page, and nobody took it away */
bool mapped = true;
byte users;
bool missing = true;	/* the region does not have the unit */
byte refs;		/* I/O in flight */
byte region = NOBODY;	/* whose contents the unit has in the region */
bool cached[PAGES];	/* the page's folio is in the swap cache, to be stored */
bool run_begun;		/* the run of guard.c */
bool run_stale;
byte run_writes = NOBODY;	/* the page that the run is writing */

/* farswap_guard_look() */
inline look()
{
	atomic {
		if
#ifndef BREAK_STALE
		:: run_begun -> run_stale = true
#endif
		:: else
		fi;
		avoid = run_writes != NOBODY
	}
}

proctype page(byte me)
{
	byte stores;
	bool avoid;

	do
	:: stores < STORES ->
		stores++;
		cached[me] = true;
		/* farswap_forget_object() */
		if
		:: atomic { entry[me] -> entry[me] = false; kept[me] = false }
#ifdef BREAK_FREE
			used = false;
			remote = false
#else
			look();
			remote = false;
			look();
			used = false
#endif
		:: else
		fi;
		/* pack_take_units() */
#ifndef BREAK_TAKE
		users++;
#endif
		if
		:: mapped ->
			if
			:: atomic { !used -> used = true }
				look();
				remote = false;
				look();
				entry[me] = true;
				/* The write, which may fail. */
				if
				:: atomic { mapped && !avoid -> refs++ }
					region = me;
					missing = false;
					atomic { remote = true; kept[me] = mapped };
					refs--
				:: skip
				fi
			:: else
			fi
		:: else
		fi;
#ifndef BREAK_TAKE
		users--;
#endif
		cached[me] = false
	:: entry[me] ->
		/* farswap_object_get() */
#ifndef BREAK_USERS
		users++;
#endif
#ifndef BREAK_AGAIN
		if
		:: entry[me] ->
#else
		if
		:: true ->
#endif
			if
			:: remote ->
				/* farswap_mapping_find() */
				if
				:: atomic { mapped && !missing -> refs++ }
					assert(region == me);	/* never another page's bytes */
					refs--
				:: else
				fi
			:: atomic { !remote ->
				assert(!kept[me])	/* what a region has is found */
			}
			fi
		:: else
		fi;
#ifndef BREAK_USERS
		users--
#endif
	:: stores == STORES -> break
	od
}

proctype loss()
{
	byte losses, i;
	bool claimed, avoid;

	do
	:: losses < LOSSES ->
		losses++;
		/* The mapping ends with its last I/O, and the remote bits are cleared. */
		atomic { mapped = false; kept[0] = false; kept[1] = false };
		refs == 0;
		region = NOBODY;
		remote = false;
		/* farswap_pack_prepare() */
		claimed = false;
		i = 0;
#if REBUILDS
		if
		:: i = PAGES	/* they keep their places */
		:: skip
		fi;
#endif
		do
		:: i < PAGES ->
			if
			:: atomic { entry[i] -> entry[i] = false }
#ifndef BREAK_EMPTY
				look();
#endif
				claimed = true
			:: else
			fi;
			i++
		:: else -> break
		od;
#ifndef BREAK_SETTLE
		users == 0;
#endif
		if
		:: claimed -> used = false
		:: else
		fi;
		missing = true;
		mapped = true
	:: losses == LOSSES -> break
	od
}

/* rebuild_one_run() */
proctype rebuild()
{
	byte runs, i;

	do
	:: runs < REBUILDS ->
		runs++;
		run_stale = false;
		run_begun = true;
		i = 0;
		do
		:: i < PAGES && entry[i] && !cached[i] -> break
		:: i < PAGES -> i++
		:: i == PAGES -> break
		od;
		if
		:: i < PAGES && !remote ->
			/* The device is read, then the write begins. */
			if
			:: atomic { mapped -> refs++ };
				atomic {
					if
					:: !run_stale -> run_writes = i
					:: else
					fi
				};
				if
				:: run_writes != NOBODY ->
					region = run_writes;
					/* farswap_guard_end() */
					atomic {
						if
						:: !run_stale ->
#ifndef BREAK_STALE
							assert(used);	/* the bit is of a unit in use */
#endif
							missing = false;
							remote = true;
							kept[run_writes] = mapped && entry[run_writes]
						:: else
						fi;
						run_writes = NOBODY;
						run_begun = false
					}
				:: else
				fi;
				refs--
			:: skip
			fi
		:: else
		fi;
		run_begun = false
	:: runs == REBUILDS -> break
	od
}

init {
	atomic {
		run page(0);
		run page(1);
		run loss();
		run rebuild()
	}
}
