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

proctype page(byte me)
{
	byte stores;

	do
	:: stores < STORES ->
		stores++;
		/* farswap_forget_object() */
		if
		:: atomic { entry[me] -> entry[me] = false; kept[me] = false }
#ifdef BREAK_FREE
			used = false;
			remote = false
#else
			remote = false;
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
				remote = false;
				entry[me] = true;
				/* The write, which may fail. */
				if
				:: atomic { mapped -> refs++ }
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
		users--
#endif
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
			:: else ->
				assert(!kept[me])	/* what a region has is found */
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
	bool claimed;

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
		do
		:: i < PAGES ->
			if
			:: atomic { entry[i] -> entry[i] = false }
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

init {
	atomic {
		run page(0);
		run page(1);
		run loss()
	}
}
