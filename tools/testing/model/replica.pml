/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One slot of a slab with backup=replica, for Spin: stores, loads, copies between its
 * mappings, rebuilding from the device, donors that fall silent and resume, die, or want
 * their region back, and new mappings. check.sh says what is searched; Documentation/mm/farswap/testing.rst,
 * what is left out.
 *
 * A page's data is the number of its store. A step is a critical section or an access
 * of the modules, or an act of an adapter. As in slab.pml, how often what need not
 * happen does is bounded, an assertion's comment is its name, and each BREAK_ macro
 * takes one precaution away.
 */

/* At most so many, in a run: */
#ifndef STORES
#define STORES		2
#endif
#ifndef PROMOTIONS
#define PROMOTIONS	0
#endif
#ifndef FREES
#define FREES		0	/* of the slot, which is used again */
#endif
#ifndef REBUILDS
#define REBUILDS	0	/* of the slot, from the device */
#endif
#ifndef NO_ROOM
#define NO_ROOM		0	/* stores that find no request, or no room at a donor */
#endif
#ifndef CUTS
#define CUTS		1	/* donors that fall silent */
#endif
#ifndef DEATHS
#define DEATHS		1	/* and don't resume */
#endif
#ifndef EVICTS
#define EVICTS		1	/* by a donor */
#endif
#ifndef UNMAPS
#define UNMAPS		0	/* of the whole slab, because the client wants */
#endif
#ifndef MAPS
#define MAPS		0	/* regions lent after the first two */
#endif
#ifndef MAPPINGS
#define MAPPINGS	2	/* places for mappings */
#endif
#define REPLICAS	2	/* that are wanted */
#define NONE		MAPPINGS

mtype:slab = { UNMAPPED, MAPPED, DRAINING, ENDING };
mtype:link = { UP, CUT, SUSPECT, GONE };
/* WRITTEN: it waits for the device */
mtype:write = { NO_WRITE, BEGUN, POSTED, LANDED, GOOD, BAD, WRITTEN };

/* A mapping, its region, its donor and a store's write to it. */
bit there[MAPPINGS];		/* among the slab's */
bit missing[MAPPINGS];
bit leaving[MAPPINGS];
bit working[MAPPINGS];		/* leave_work */
byte memory[MAPPINGS];
mtype:link link[MAPPINGS] = UP;	/* CUT: I/O fails, and the core isn't told yet */
mtype:write write[MAPPINGS] = NO_WRITE;

#ifdef BREAK_LATE_CLEAR
bit late[MAPPINGS];
#endif
#ifdef REACH_MOVED
bit moves[MAPPINGS];		/* it was the only one */
bit moved;
#endif

mtype:slab slab = MAPPED;
bit remote;
bit unbacked;
byte device;			/* what it holds, or a staging copy */
bit fetching;			/* such a copy, from a region */
bit fetch_stale;

/*
 * struct farswap_guard_run of a copy, one at a time for each that is copied to, and its only
 * slot. BEGUN: the page was read. It is aimed when a store has to avoid the mapping.
 */
bit copying[MAPPINGS];
byte copy_from[MAPPINGS] = NONE;
bit stale[MAPPINGS];
bit aimed[MAPPINGS];
mtype:write copy[MAPPINGS] = NO_WRITE;
byte copied[MAPPINGS];

/* struct farswap_guard_run of a rebuild, and its only slot */
bit rebuilding;
bit rebuilt_stale;
bit rebuild_writes;
bit rebuild_locked;		/* guard_lock, where it matters */
byte rebuild_to = NONE;
mtype:write rebuilt = NO_WRITE;

/* The folio's lock, or writeback, keeps two I/Os apart. */
byte data;			/* of the last store; 0: the slot is free */
byte versions;
bit busy;			/* an I/O is on its way */
bit written_well;		/* a store, and it is not known yet */
byte reading = NONE;

/* The donors that have the last store, whatever the client assumes. */
bit has[MAPPINGS];

/* Events that may still happen. */
byte stores = STORES;
byte promotions = PROMOTIONS;
byte frees = FREES;
byte rebuilds = REBUILDS;
byte no_room = NO_ROOM;
byte cuts = CUTS;
byte deaths = DEATHS;
byte evicts = EVICTS;
byte unmaps = UNMAPS;
byte maps = MAPS;
bit calm;			/* nothing that needn't */

/* For use within a step. */
hidden byte i, j;

#if MAPPINGS == 2
#define ANY(what)	(what(0) || what(1))
#define COUNT(what)	(what(0) + what(1))
#define OTHER(m, what)	(m != 0 && what(0) || m != 1 && what(1))
#else
#define ANY(what)	(what(0) || what(1) || what(2))
#define COUNT(what)	(what(0) + what(1) + what(2))
#define OTHER(m, what)	(m != 0 && what(0) || m != 1 && what(1) || m != 2 && what(2))
#endif

#define THERE(m)	there[m]
#define STAYS(m)	(there[m] && !leaving[m])
#define HOLDS(m)	(there[m] && !missing[m])
#define KEEPS(m)	(HOLDS(m) && !leaving[m] && link[m] != SUSPECT)
#define FLIES(m)	(write[m] == POSTED || write[m] == LANDED)
#define STORED_TO(m)	(there[m] && STORES_TO(m))
#define STORES_TO(m)	(write[m] != NO_WRITE && write[m] != WRITTEN || rebuild_to == m || \
			 copy[m] != NO_WRITE)
#define REBUILD_FLIES(m) (rebuild_to == m && (rebuilt == POSTED || rebuilt == LANDED))
#define WELL(m)		(write[m] == GOOD)
#define BADLY(m)	(write[m] == BAD)
#define BEGINS(m)	(write[m] == BEGUN)
#define WORKS(m)	working[m]
#define GOT(m)		has[m]
#define IN_VAIN(m)	(copy[m] == GOOD && stale[m])
#if MAPPINGS == 2
#define COPIED_FROM(m)	(copy_from[0] == m || copy_from[1] == m)
#else
#define COPIED_FROM(m)	(copy_from[0] == m || copy_from[1] == m || copy_from[2] == m)
#endif

/* farswap_mapping_get() */
#define USABLE(m)	(there[m] && (slab == MAPPED || slab == DRAINING))
#define SERVES(m)	(USABLE(m) && !missing[m] && link[m] != SUSPECT)
#define WAITS(m)	(USABLE(m) && !missing[m] && link[m] == SUSPECT)

/* mapping->counts */
#define IN_USE(m)	(write[m] != NO_WRITE || rebuild_to == m || reading == m || copying[m] || \
			 COPIED_FROM(m) || working[m])

/* farswap_unmap_is_only(); and farswap_unmap_would_lose(), of what the device lacks */
#define HAS_ONLY(m)	(remote && !missing[m] && !OTHER(m, KEEPS))
#define WOULD_LOSE(m)	(remote && unbacked && !missing[m] && !OTHER(m, HOLDS))

/* farswap_mapping_make() */
inline get_region(_m, _missing)
{
	maps--;
	there[_m] = 1;
	missing[_m] = _missing;
	leaving[_m] = 0;
	memory[_m] = 0;
	link[_m] = UP;
	has[_m] = 0;
	slab = MAPPED
}

/* A fetched copy is of no use any more: farswap_backup_forget() */
inline forget_copy()
{
	fetch_stale = fetching;
	unbacked = 0
}

/* farswap_guard_look() */
inline look()
{
#ifndef BREAK_REBUILD_STALE
	rebuilt_stale = rebuilt_stale || rebuilding;
#endif
	avoid = 0;
	for (i : 0 .. MAPPINGS - 1) {
#if !defined(BREAK_STALE) && !defined(BREAK_TELL)
		stale[i] = stale[i] || copying[i];
#elif defined(BREAK_TELL)
		stale[i] = stale[i] || aimed[i];
#endif
#ifndef BREAK_EXCLUDE
		avoid = avoid | (aimed[i] << i);
#endif
#ifndef BREAK_REBUILD_EXCLUDE
		avoid = avoid | ((rebuild_writes && rebuild_to == i) << i);
#endif
		skip
	}
}

/* farswap_guard_invalidate(), what comes after the first look */
inline invalidate()
{
	d_step { remote = 0 }
#ifndef BREAK_AFTER
	d_step { !rebuild_locked -> look() }
#endif
}

#ifndef BREAK_BEFORE
#define LOOK_BEFORE()	look()
#define LOCKED		rebuild_locked
#else
#define LOOK_BEFORE()	skip
#define LOCKED		false
#endif
#define AVOIDED(m)	(avoid >> m & 1)

/* farswap_write_begin(), what comes after stores++ */
inline store_check(_m)
{
	if
	:: slab == MAPPED && there[_m] && !leaving[_m] && link[_m] != SUSPECT
	:: else -> write[_m] = NO_WRITE
	fi
}

/* farswap_write_mark() */
inline store_mark()
{
	j = COUNT(THERE);
	for (i : 0 .. MAPPINGS - 1) {
		if
		:: there[i] && j > 1 ->
#ifndef BREAK_MARK
			missing[i] = 1;
#endif
			skip
		:: else
		fi
	}
}

/* store_written(), promote_done() */
inline store_written(_promotes)
{
	/* store_fall_back() */
	if
	:: unbacked && (ANY(BADLY) || !ANY(WELL)) -> forget_copy(); device = data
	:: else
	fi;
	j = _promotes || unbacked;
	written_well = ANY(WELL);
#ifdef BREAK_WRITTEN
	remote = remote || j && written_well && !unbacked;
#else
	remote = remote || j && written_well;
#endif
	for (i : 0 .. MAPPINGS - 1) {
		has[i] = (write[i] == GOOD && link[i] != GONE);
#ifdef BREAK_LATE_CLEAR
		late[i] = (write[i] == GOOD);
#endif
		write[i] = (j || write[i] == NO_WRITE -> NO_WRITE : WRITTEN)
	}
}

/* store_end(), perhaps when the device has the page */
inline store_ended()
{
	remote = remote || written_well;
	written_well = 0;
	for (i : 0 .. MAPPINGS - 1) {
		write[i] = NO_WRITE
	}
	busy = 0
}

inline forget_donors()
{
	for (i : 0 .. MAPPINGS - 1) {
		has[i] = 0
	}
}

/* From farswap_write_begin() to the end of the writeback */
inline write_all(_promotes)
{
	do
	:: m < MAPPINGS && !(_promotes && ANY(BEGINS)) ->
		if
		:: d_step { USABLE(m) && !AVOIDED(m) -> write[m] = BEGUN }
		   if
		   :: d_step { store_check(m); m++ }
		   :: d_step { no_room -> no_room--; write[m] = NO_WRITE; m++ }
		   fi
		:: d_step { !USABLE(m) || AVOIDED(m) -> m++ }
		fi
	:: d_step {
		m == MAPPINGS || _promotes && ANY(BEGINS) ->
		if
		:: _promotes
		:: !_promotes && COUNT(BEGINS) >= REPLICAS -> forget_copy(); unbacked = 1
		:: !_promotes && COUNT(BEGINS) < REPLICAS -> forget_copy(); device = data
		fi;
		if
		:: ANY(BEGINS) -> store_mark()
		:: else
		fi;
		m = 0
	   }
	   break
	od;
	/* farswap_write_submit() */
	atomic {
		for (i : 0 .. MAPPINGS - 1) {
			if
#ifndef BREAK_REFUSED
			:: write[i] == BEGUN -> write[i] = (link[i] == UP -> POSTED : BAD)
#else
			:: write[i] == BEGUN && link[i] == UP -> write[i] = POSTED
#endif
			:: else
			fi
		}
	}
	d_step { !ANY(FLIES) && !ANY(BEGINS) -> store_written(_promotes) }
	d_step { store_ended() }
}

/* Without the region */
inline load_locally()
{
	if
	:: unbacked -> assert(!ANY(GOT))		/* lost only with its donors */
	:: else -> assert(device == data)		/* the device has what it must */
	fi;
	reading = NONE;
	busy = 0
}

/* Is the remote bit looked at before it is asked who has the slot, or after that? */
#ifndef BREAK_ORDER
#define TRUSTED	true
#else
#define TRUSTED	remote
#endif

/* Stores, promotions, loads and the freeing of the slot */
proctype page()
{
	byte m;
	byte avoid;
	bit trusts;
end:	do
	/* farswap_store() */
	:: d_step {
		stores && !calm && !LOCKED ->
		stores--;
		versions++;
		data = versions;
		forget_donors();
		busy = 1;
		LOOK_BEFORE()
	   }
	   invalidate();
	   if
	   :: write_all(false)
	   :: d_step {
		no_room ->
		no_room--;
		forget_copy();
		device = data;
		busy = 0
	      }
	   fi;
	   avoid = 0
	/* promote_one() */
	:: d_step {
		promotions && !calm && data && !unbacked && !(remote && ANY(HOLDS)) &&
		!LOCKED ->
		promotions--;
		busy = 1;
		LOOK_BEFORE()
	   }
	   invalidate();
	   write_all(true);
	   avoid = 0
	/* farswap_invalidate() */
	:: d_step {
		frees && !calm && data && !rebuild_locked ->
		frees--;
		forget_donors();
		forget_copy();
		look();
		remote = 0;
		avoid = 0;
		data = 0
	   }
	/* farswap_load() */
	:: d_step { !calm && data -> busy = 1 }
	   /* load_remotely() */
#ifndef BREAK_ORDER
	   trusts = remote;
#else
	   trusts = 1;
#endif
	   do
	   /* farswap_mapping_find() */
	   :: d_step { trusts && reading == NONE && SERVES(0) -> reading = 0 }
	   :: d_step { trusts && reading == NONE && SERVES(1) -> reading = 1 }
#if MAPPINGS > 2
	   :: d_step { trusts && reading == NONE && SERVES(2) -> reading = 2 }
#endif
	   :: d_step {
		reading == NONE && !fetching &&
		(!trusts || !unbacked || !ANY(SERVES) && !ANY(WAITS)) ->
		load_locally()
	      }
	      break
#ifdef BREAK_ORDER
	   :: d_step { reading != NONE && !TRUSTED && !fetching -> load_locally() }
	      break
#endif
	   /* load_done() */
	   :: d_step {
		reading != NONE && TRUSTED && link[reading] == UP ->
		assert(memory[reading] == data);	/* never an old page */
		reading = NONE;
		busy = 0
	      }
	      break
	   /* load_again() */
	   :: d_step {
		reading != NONE && (link[reading] == SUSPECT || link[reading] == GONE) ->
		reading = NONE;
		trusts = trusts && remote
	      }
	   od
	od
}

#define COPY_FLIES(m)	(copying[m] && (copy[m] == POSTED || copy[m] == LANDED))

inline gone(_m)
{
	link[_m] = GONE;
	has[_m] = 0
}

/* It is the slab's no more, though its donor lives. */
inline removed(_m)
{
	there[_m] = 0;
	j = has[_m] && (remote || written_well) && unbacked;
	has[_m] = 0;
	assert(!j || ANY(GOT))			/* who leaves takes nothing along */
}

/* The donor, its connection, and the region's beginning and end */
proctype donor(byte m)
{
end:	do
	:: d_step { write[m] == POSTED -> write[m] = LANDED; memory[m] = data }
	/* write_done() */
	:: d_step {
		write[m] == LANDED && link[m] == UP ->
#ifndef BREAK_LATE_CLEAR
		missing[m] = 0;
#endif
		write[m] = GOOD
	   }
	:: d_step { FLIES(m) && link[m] != UP -> write[m] = BAD }
#ifdef BREAK_LATE_CLEAR
	:: d_step { late[m] -> missing[m] = 0; late[m] = 0 }
#endif
	:: d_step { cuts && there[m] && link[m] == UP -> cuts--; link[m] = CUT }
	/* The session's end is told after that of its I/O: donor_suspended() */
	:: d_step {
		link[m] == CUT && !FLIES(m) && !COPY_FLIES(m) && !REBUILD_FLIES(m) ->
		link[m] = SUSPECT
	   }
	/* donor_resumed() */
	:: d_step {
		link[m] == SUSPECT ->
#ifdef BREAK_RESUME
		missing[m] = 0;
#endif
		link[m] = UP
	   }
	/* farswap_slabs_lose() */
	:: d_step {
		link[m] == SUSPECT && deaths ->
		deaths--;
		gone(m);
		if
		:: there[m] && slab == MAPPED && OTHER(m, THERE) -> there[m] = 0
		:: there[m] && slab == MAPPED && !OTHER(m, THERE) -> slab = ENDING
		:: else
		fi
	   }
	/* farswap_unmap_end() */
	:: d_step {
		there[m] && slab == ENDING && !IN_USE(m) ->
		removed(m);
		if
		:: !ANY(THERE) -> remote = 0; slab = UNMAPPED
		:: else
		fi
	   }
	/* map_done() */
	:: d_step {
		maps && slab == UNMAPPED && !there[m] && !IN_USE(m) ->
#ifndef BREAK_FIRST
		get_region(m, 1)
#else
		get_region(m, 0)
#endif
	   }
	/* replica_link() */
	:: d_step {
		maps && slab == MAPPED && !there[m] && !IN_USE(m) && COUNT(STAYS) < REPLICAS ->
#ifndef BREAK_NEW
		get_region(m, 1)
#else
		get_region(m, 0)
#endif
	   }
	od
}

#define WANTED(to)	(remote && missing[to])
#define CAN_GET(to)	(slab == MAPPED && STAYS(to) && link[to] != SUSPECT)

inline copy_begin(_to)
{
	copying[_to] = 1;
#ifdef BREAK_LOOK
	wanted = WANTED(_to);
	copying[_to] = 0;
#endif
	stale[_to] = 0
}

#define SOURCE(m, from)	(wanted && SERVES(m) && (from == NONE || from == m))

inline copy_end(_to)
{
	if
	:: copy[_to] == GOOD && !stale[_to] ->
		missing[_to] = 0;
		has[_to] = remote && slab == MAPPED && there[_to] && ANY(GOT)
	:: else
	fi;
	copy[_to] = NO_WRITE;
	aimed[_to] = 0;
	copied[_to] = 0;
	copy_from[_to] = NONE;
#ifdef BREAK_END
	copying[_to] = stale[_to];
#else
	copying[_to] = 0;
#endif
	_to = 0;
	wanted = 0
}

/* copy_one_run(), of one slot, after copy_begin() */
inline copy_one(_to, _from)
{
#ifndef BREAK_LOOK
	wanted = WANTED(_to);
#else
	copying[_to] = 1;
#endif
	atomic {
		if
		:: SOURCE(0, _from) -> copy_from[_to] = 0
		:: SOURCE(1, _from) -> copy_from[_to] = 1
#if MAPPINGS > 2
		:: SOURCE(2, _from) -> copy_from[_to] = 2
#endif
		:: else
		fi
	}
	/* farswap_mover_read() */
	d_step {
		if
		:: copy_from[_to] == NONE
		:: copy_from[_to] != NONE && link[copy_from[_to]] == UP ->
			copied[_to] = memory[copy_from[_to]];
			copy[_to] = BEGUN
		:: else
		fi
	}
	/* farswap_write_begin_any() */
	d_step {
		if
		:: copy[_to] == BEGUN && !CAN_GET(_to) -> copy[_to] = NO_WRITE
		:: else
		fi
	}
	/* farswap_guard_write() */
	d_step {
		if
		:: copy[_to] == BEGUN && !(rebuild_writes && rebuild_to == _to) && !stale[_to] ->
			aimed[_to] = 1;
			copy[_to] = (link[_to] == UP -> POSTED : BAD)
		:: else -> copy[_to] = NO_WRITE
		fi
	}
	do
	:: d_step { copy[_to] == POSTED -> copy[_to] = LANDED; memory[_to] = copied[_to] }
	:: d_step { copy[_to] == LANDED && link[_to] == UP -> copy[_to] = GOOD }
	:: d_step { COPY_FLIES(_to) && link[_to] != UP -> copy[_to] = BAD }
	:: d_step { !COPY_FLIES(_to) -> copy_end(_to) }
	   break
	od
}

#define REPAIRS(m)	(!copying[m] && CAN_GET(m) && WANTED(m) && COUNT(STAYS) > 1)

/* farswap_replica_work() */
proctype repair()
{
	byte m;
	bit wanted;
end:	do
	:: d_step { REPAIRS(0) -> m = 0; copy_begin(m) }
	   copy_one(m, NONE)
	:: d_step { REPAIRS(1) -> m = 1; copy_begin(m) }
	   copy_one(m, NONE)
#if MAPPINGS > 2
	:: d_step { REPAIRS(2) -> m = 2; copy_begin(m) }
	   copy_one(m, NONE)
#endif
	od
}

/* farswap_rebuild_is_wanted(): what is in the swap cache isn't. */
#define REBUILD_WANTS	(data && !busy && !unbacked && !(remote && ANY(SERVES)))

/* farswap_write_begin_any() */
inline rebuild_begin(_m)
{
	if
	:: d_step { USABLE(_m) -> rebuild_to = _m }
	   d_step {
		if
		:: slab == MAPPED && there[_m] && !leaving[_m] && link[_m] != SUSPECT
		:: else -> rebuild_to = NONE
		fi
	   }
	:: d_step { !USABLE(_m) -> skip }
	fi
}

/* rebuild_one_run() */
proctype rebuild()
{
	byte m;
	byte read;
end:	do
	:: d_step {
		rebuilds && slab == MAPPED ->
		rebuilds--;
		rebuilding = 1;
		rebuilt_stale = 0
	   }
	   if
	   :: d_step { REBUILD_WANTS -> read = device }
	      do
	      :: m < MAPPINGS && rebuild_to == NONE -> rebuild_begin(m); m++
	      :: else -> break
	      od;
	      m = 0;
	      /* farswap_guard_write() */
	      d_step {
		if
		:: rebuild_to != NONE && !rebuilt_stale && !aimed[rebuild_to] ->
			rebuild_writes = 1;
			if
#ifndef BREAK_REBUILD_MARK
			:: !remote -> store_mark()
#endif
			:: else
			fi
		:: else
		fi
	      }
	   :: d_step { !REBUILD_WANTS -> skip }
	   fi;
	   if
	   :: rebuild_writes ->
		d_step { rebuilt = (link[rebuild_to] == UP -> POSTED : BAD) }
		do
		:: d_step { rebuilt == POSTED -> rebuilt = LANDED; memory[rebuild_to] = read }
		:: d_step { rebuilt == LANDED && link[rebuild_to] == UP -> rebuilt = GOOD }
		:: d_step { REBUILD_FLIES(rebuild_to) && link[rebuild_to] != UP -> rebuilt = BAD }
		:: !REBUILD_FLIES(rebuild_to) -> break
		od;
		/* farswap_guard_end() */
		if
		:: d_step { rebuilt == GOOD && !rebuilt_stale -> missing[rebuild_to] = 0; rebuild_locked = 1 }
		   d_step {
			remote = 1;
			has[rebuild_to] = (there[rebuild_to] && link[rebuild_to] != GONE);
			rebuild_locked = 0;
			rebuilding = 0
		   }
		:: d_step { rebuilt != GOOD || rebuilt_stale -> rebuilding = 0 }
		fi
	   :: else -> rebuilding = 0
	   fi;
	   d_step {
		rebuild_writes = 0;
		rebuilt = NO_WRITE;
		rebuild_to = NONE;
		read = 0
	   }
	od
}

/* home_is_here() */
#define TO_FETCH(m)	(remote && unbacked && \
			 (leaving[m] && slab == MAPPED -> HAS_ONLY(m) : !missing[m]))

#ifndef BREAK_FETCH
#define STILL_THERE(m)	!missing[m]
#else
#define STILL_THERE(m)	true
#endif

/* farswap_fetch_mapping() */
inline fetch(_m)
{
	do
	:: TO_FETCH(_m) && link[_m] != GONE ->
		/* farswap_backup_fetch_begin() */
		if
		:: d_step {
			remote && unbacked && !fetching && STILL_THERE(_m) ->
			fetching = 1
		   }
		   /* farswap_backup_fetch_end() */
		   d_step {
			if
			:: link[_m] == UP && !fetch_stale ->
				device = memory[_m];
				unbacked = 0
			:: else
			fi;
			fetching = 0;
			fetch_stale = 0
		   }
		   link[_m] == UP || link[_m] == GONE
		:: d_step { !(remote && unbacked && !fetching && STILL_THERE(_m)) -> skip }
		   break
		fi
	:: !(TO_FETCH(_m) && link[_m] != GONE) -> break
	od
}

#define LEAVES_FOR(to, m) (m != to && !copying[to] && CAN_GET(to) && HAS_ONLY(m))
#define LEAVES_ONE(m)	(there[m] && slab == MAPPED && OTHER(m, THERE))

#if !defined(BREAK_ONLY) && !defined(BREAK_AGAIN)
#define LEAVES_TOO_MUCH(m) (LEAVES_ONE(m) && WOULD_LOSE(m))
#else
#define LEAVES_TOO_MUCH(m) false
#endif

inline leave_end(_m)
{
	if
	:: LEAVES_ONE(_m) ->
		removed(_m);
#ifdef REACH_MOVED
		moved = moved || moves[_m] && !WOULD_LOSE(_m) && remote && unbacked && ANY(HOLDS)
#endif
	:: !LEAVES_ONE(_m) && there[_m] && slab == MAPPED -> slab = DRAINING
	:: else
	fi;
	working[_m] = 0
}

/* farswap_evict_begin(), farswap_evacuate_mapping_work() */
proctype leave(byte m)
{
	byte to;
	bit wanted;
end:	do
	:: d_step {
		evicts && there[m] && slab == MAPPED && !leaving[m] ->
		evicts--;
		leaving[m] = 1;
		working[m] = 1;
#ifdef REACH_MOVED
		moves[m] = !OTHER(m, STAYS)
#endif
	   }
	/* The slab's only one, and not worth moving */
	:: d_step {
		evicts && there[m] && slab == MAPPED && !leaving[m] && !OTHER(m, STAYS) ->
		evicts--;
		slab = DRAINING
	   }
	:: working[m] ->
#ifndef BREAK_WAIT
		!STORES_TO(m);
#endif
		do
#ifndef BREAK_ONLY
		:: d_step { LEAVES_FOR(0, m) -> to = 0; copy_begin(to) }
		   copy_one(to, m)
		:: d_step { LEAVES_FOR(1, m) -> to = 1; copy_begin(to) }
		   copy_one(to, m)
#if MAPPINGS > 2
		:: d_step { LEAVES_FOR(2, m) -> to = 2; copy_begin(to) }
		   copy_one(to, m)
#endif
		/* There need not be time for that. */
		:: fetch(m);
#else
		::
#endif
		   /* leave_mapping_end() */
		   if
		   :: d_step { !LEAVES_TOO_MUCH(m) -> leave_end(m) }
		      break
		   :: d_step { LEAVES_TOO_MUCH(m) -> skip }
		   fi
		od
	od
}

/* farswap_evacuate_work() */
proctype drain()
{
	byte m;
end:	do
	:: d_step { unmaps && slab == MAPPED -> unmaps--; slab = DRAINING }
	:: slab == DRAINING && !ANY(WORKS) && !ANY(STORED_TO) ->
		do
		:: m < MAPPINGS && there[m] -> fetch(m); m++
		:: m < MAPPINGS && !there[m] -> m++
		:: d_step { m == MAPPINGS -> m = 0; slab = ENDING }
		   break
		od
	od
}

/* Optional events need not happen, and required ones must not depend on them. */
proctype fate()
{
end:	do
	:: d_step {
		!calm ->
		calm = 1;
		stores = 0;
		promotions = 0;
		frees = 0;
		rebuilds = 0;
		no_room = 0;
		cuts = 0;
		deaths = 0;
		evicts = 0;
		unmaps = 0;
		maps = 0
	   }
	od
}

/* Each search reaches the state that it is about. */
#if defined(REACH_STALE)
#define REACHED	(ANY(IN_VAIN) && remote)
#elif defined(REACH_REPAIRED)
#define REACHED	(!calm && !deaths && !maps && remote && unbacked && HOLDS(0) && HOLDS(1))
#elif defined(REACH_SILENT)
#define REACHED	(remote && unbacked && ANY(WAITS) && !ANY(SERVES) && busy)
#elif defined(REACH_BOTH)
#define REACHED	(working[0] && working[1] && there[2] && fetching)
#elif defined(REACH_LATE)
#define REACHED	(WELL(0) && !there[0] && there[1] && !maps && !calm && slab == MAPPED)
#elif defined(REACH_MOVED)
#define REACHED	moved
#elif defined(REACH_REBUILT)
#define REACHED	(REBUILDS && !rebuilds && remote && !unbacked && HOLDS(0) && !HOLDS(1) && busy)
#else
#define REACHED	false
#endif

proctype reach()
{
end:	do
	:: d_step { REACHED -> assert(false) }				/* it happens */
	od
}

#define LEFT(m)		(there[m] && leaving[m] && slab == MAPPED)
#define LACKS(m)	(there[m] && WANTED(m) && slab == MAPPED)

inline settled()
{
	assert(!busy && !ANY(WORKS) && !ANY(LEFT) && slab != DRAINING && slab != ENDING);	/* all that has begun ends */
	assert(!ANY(LACKS) || !ANY(HOLDS));	/* what is missed is copied */
}

init
{
	atomic {
		/* The second is a replica that was just added. */
		for (i : 0 .. 1) {
			there[i] = 1;
			missing[i] = 1
		}
		for (i : 0 .. MAPPINGS - 1) {
			run donor(i);
			run leave(i)
		}
		run page();
		run repair();
		run drain();
		run rebuild();
		run fate();
		run reach()
	}
	d_step { timeout -> settled() }
}
