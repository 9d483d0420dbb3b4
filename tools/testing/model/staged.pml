/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One slot's staging copies, for Spin: table.c, backup.c and staging.c in mm/backup, and
 * mm/migrate/evacuate-fetch.c, and what they are to stores, loads, promotions, rebuilding, leaving,
 * drains and the death of donors. Copies between regions are replica.pml's. check.sh says what is
 * searched; Documentation/mm/farswap/testing.rst, what is left out.
 *
 * As in replica.pml; but backups->lock is held over several steps, for others look without it,
 * and a donor's death is in two: its session's end, and the loss of its slabs.
 */

/* At most so many, in a run: */
#ifndef STORES
#define STORES 2
#endif
#ifndef PROMOTIONS
#define PROMOTIONS 0
#endif
#ifndef FREES
#define FREES 0
#endif
#ifndef REBUILDS
#define REBUILDS 0
#endif
#ifndef NO_ROOM
#define NO_ROOM 0
#endif
#ifndef FAILS
#define FAILS 1	/* writes of the device */
#endif
#ifndef RETRIES
#define RETRIES 1
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#ifndef EVICTS
#define EVICTS 1
#endif
#ifndef UNMAPS
#define UNMAPS 0
#endif
#ifndef MAPS
#define MAPS 0
#endif
#ifndef START
#define START 2		/* mappings, at first */
#endif
/* backup= */
#define DISK 0
#define REPLICA 1
#define SOLELY 2
#ifndef POLICY
#define POLICY DISK
#endif
#define COPIES 3	/* there can be at once */
#define NONE 2

mtype:slab = { UNMAPPED, MAPPED, DRAINING, ENDING };
mtype:link = { UP, CUT, SUSPECT, GONE };
mtype:write = { NO_WRITE, BEGUN, POSTED, LANDED, GOOD, BAD };
mtype:copy = { FREE, FETCHING, HELD, QUEUED, INFLIGHT, KEPT };
mtype:mode = { SOLE, STAGED, UNSTAGED };

/* A mapping, its region, its donor and a store's write to it: see replica.pml. */
bit there[2];
bit missing[2];
bit leaving[2];
bit working[2];			/* leave_work */
bit storing[2];			/* stores in mapping->counts: a store or promotion */
bit rstoring[2];		/* the rebuilding */
bit fetching[2];
bit losing[2];			/* its session has ended, its slabs are not lost yet */
byte memory[2];
mtype:link link[2] = UP;
mtype:write write[2] = NO_WRITE;
bit has[2];

mtype:slab slab = MAPPED;
bit remote;
bit unbacked;
bit sole;			/* slab->sole */
byte device;

/* struct farswap_backup */
mtype:copy copy[COPIES] = FREE;
bit stale[COPIES];
bit owned[COPIES];		/* adopted by a store */
bit landed[COPIES];
byte cdata[COPIES];
bit locked;			/* backups->lock */

/* The folio */
byte data;			/* of the last store; 0: the slot is free */
byte versions;
bit busy;			/* an I/O is on its way */
bit dirty;			/* it is in memory, for it could not be written */
bit owned_error;
bit failed;			/* the device did, since the last store */
byte reading = NONE;
mtype:mode mode = UNSTAGED;

/* struct farswap_guard_run of a rebuild, and its only slot */
bit rebuilding;
bit rebuilt_stale;
bit rebuild_writes;
bit rebuild_locked;
byte rebuild_to = NONE;
mtype:write rebuilt = NO_WRITE;

/* Events that may still happen. */
byte stores = STORES;
byte promotions = PROMOTIONS;
byte frees = FREES;
byte rebuilds = REBUILDS;
byte no_room = NO_ROOM;
byte fails = FAILS;
byte retries = RETRIES;
byte cuts = CUTS;
byte deaths = DEATHS;
byte evicts = EVICTS;
byte unmaps = UNMAPS;
byte maps = MAPS;
bit calm;			/* nothing that needn't */

/* For use within a step. */
hidden byte i, j;

#define ANY(w)	(w(0) || w(1))
#define COUNT(w) (w(0) + w(1))
#define OTHER(m, w) (m == 0 && w(1) || m == 1 && w(0))
#define LOSING(m) losing[m]
#define THERE(m) there[m]
#define STAYS(m) (there[m] && !leaving[m])
#define HOLDS(m) (there[m] && !missing[m])
#define KEEPS(m) (HOLDS(m) && !leaving[m] && link[m] != SUSPECT)
#define BEGINS(m) (write[m] == BEGUN)
#define FLIES(m) (write[m] == POSTED || write[m] == LANDED)
#define WELL(m)	(write[m] == GOOD)
#define WROTE(m) (write[m] != NO_WRITE)
#define WORKS(m) working[m]
#define GOT(m)	has[m]
#define STORES_TO(m) (storing[m] || rstoring[m])
#define STORED_TO(m) (there[m] && STORES_TO(m))
#define IN_USE(m) (STORES_TO(m) || reading == m || working[m] || fetching[m])
#define USABLE(m) (there[m] && (slab == MAPPED || slab == DRAINING))
#define SERVES(m) (USABLE(m) && !missing[m] && link[m] != SUSPECT)
#define WAITS(m) (USABLE(m) && !missing[m] && link[m] == SUSPECT)
#define REBUILD_FLIES(m) (rebuild_to == m && (rebuilt == POSTED || rebuilt == LANDED))
#define FOUND(n) (copy[n] != FREE && !stale[n])
#define HELDS(n) (FOUND(n) && copy[n] != FETCHING)
#define COMING(n) (FOUND(n) && copy[n] == FETCHING)
#ifndef BREAK_STALE
#define READS(n) HELDS(n)
#else
#define READS(n) (copy[n] != FREE && copy[n] != FETCHING)
#endif
#define ANYC(w)	(w(0) || w(1) || w(2))
#define FLYING(n) (copy[n] == INFLIGHT)
#define OWNED(n) owned[n]
#define UNUSED(n) (copy[n] == FREE)
#define USED(n)	(copy[n] != FREE)

#define HAS_ONLY(m) (remote && !missing[m] && !OTHER(m, KEEPS))
#define WOULD_LOSE(m) (sole && remote && unbacked && !missing[m] && !OTHER(m, HOLDS) && !ANYC(HELDS))

inline clear(_n)
{
	copy[_n] = FREE;
	stale[_n] = 0;
	owned[_n] = 0;
	landed[_n] = 0;
	cdata[_n] = 0
}

/* backup_retire() of the slot's, within a step, unlocked */
inline retire()
{
	for (i : 0 .. COPIES - 1) {
		if
		:: FOUND(i) && (copy[i] == FETCHING || copy[i] == INFLIGHT) -> stale[i] = 1
		:: FOUND(i) && !(copy[i] == FETCHING || copy[i] == INFLIGHT) -> clear(i)
		:: else
		fi
	}
}

/* backups->nr is 0, as far as it counts copies of this slot */
#define NO_COPIES (!ANYC(USED))

inline forget()
{
	if
	:: d_step { !unbacked -> skip }
	:: d_step { unbacked && NO_COPIES -> skip }
	   unbacked = 0;
	   if
	   :: d_step { NO_COPIES -> skip }
	   :: d_step { !NO_COPIES && !locked -> retire(); skip }
	   fi
	:: d_step { unbacked && !locked -> retire(); unbacked = 0 }
	fi
}

/* farswap_backup_settle() */
inline settle()
{
	forget();
#ifndef BREAK_SETTLE
	!locked && !ANYC(FLYING);
#endif
	skip
}

/* farswap_backup_queue(), within a step */
inline queue(_n)
{
	if
#ifndef BREAK_HELD
	:: ANYC(FLYING) -> copy[_n] = HELD
	:: else -> copy[_n] = QUEUED
#else
	:: copy[_n] = QUEUED
#endif
	fi
}

inline pick_copy(_n)
{
	if
	:: UNUSED(0) -> _n = 0
	:: !UNUSED(0) && UNUSED(1) -> _n = 1
	:: else -> _n = 2
	fi
}

/* Stale: whoever is held is next */
inline ended(_n)
{
	for (i : 0 .. COPIES - 1) {
		if
#ifndef BREAK_NEXT
		:: i != _n && FOUND(i) && copy[i] == HELD -> copy[i] = QUEUED
#endif
		:: else
		fi
	}
	clear(_n)
}

/* backup_is_remote(), under the lock, in steps */
inline is_remote()
{
	skip;
#ifndef BREAK_SOLE
	sole = 1;
#endif
	if
	:: slab == MAPPED ->
		m = 0;
		do
		:: m < 2 -> stay1 = STAYS(m);
		   d_step {
#ifndef BREAK_WORKS
			stay1 = stay1 && (link[m] == UP || link[m] == CUT);
#else
			stay1 = stay1 && link[m] != SUSPECT;
#endif
			assert(!(stay1 && !missing[m] && remote && link[m] == GONE))	/* nothing is let go for the dead */
		   }
		   d_step { ok = ok || (stay1 && there[m] && !missing[m]); m++ }
		:: m == 2 -> break
		od;
		skip;
		d_step { ok = ok && remote; m = 0; stay1 = 0 }
	:: slab != MAPPED -> skip
	fi
}

proctype writer(byte n)
{
	byte m;
	bit stay1, ok;
end:	do
	:: d_step { copy[n] == QUEUED && !locked -> copy[n] = INFLIGHT; landed[n] = 0 }
	:: d_step { copy[n] == INFLIGHT && !landed[n] -> device = cdata[n]; landed[n] = 1 }
	:: d_step {
		copy[n] == INFLIGHT && landed[n] && !locked ->
		if
		:: stale[n] -> ended(n)
		:: else -> unbacked = 0; clear(n)
		fi
	   }
	:: d_step { fails && copy[n] == INFLIGHT && !locked -> fails--; locked = 1 }
	   if
	   :: d_step { stale[n] -> ended(n); locked = 0 }
	   :: d_step { !stale[n] && owned[n] -> owned_error = 1; failed = 1; clear(n); locked = 0 }
	   :: d_step { !stale[n] && !owned[n] -> failed = 1 }
	      is_remote();
	      d_step {
		if
		:: ok -> clear(n)
		:: else -> copy[n] = KEPT; landed[n] = 0
		fi;
		ok = 0;
		locked = 0
	      }
	   fi
	/* backup_retry() */
	:: d_step { retries && copy[n] == KEPT && !locked -> retries--; locked = 1 }
	   is_remote();
	   d_step {
		if
		:: ok -> clear(n)
		:: else -> queue(n)
		fi;
		ok = 0;
		locked = 0
	   }
	od
}

/* farswap_guard_look() */
inline look()
{
	d_step {
		!rebuild_locked ->
		rebuilt_stale = rebuilt_stale || rebuilding;
		avoid = (rebuild_writes -> rebuild_to : NONE)
	}
}

inline mark()
{
	n = COUNT(THERE);
	m = 0;
	do
	:: m < 2 -> d_step {
		if
		:: there[m] && n > 1 -> missing[m] = 1
		:: else
		fi;
		m++
	   }
	:: m == 2 -> break
	od;
	skip;
	d_step { m = 0; n = 0 }
}

inline begin_one(_m, _sole)
{
	if
	:: d_step { USABLE(_m) -> storing[_m] = 1 }
	   if
	   :: _sole -> sole = 1
	   :: !_sole
	   fi;
	   skip;
	   d_step {
		if
		:: slab == MAPPED && there[_m] && !leaving[_m] && link[_m] != SUSPECT -> write[_m] = BEGUN
		:: else -> storing[_m] = 0
		fi
	   }
	:: d_step { !USABLE(_m) -> skip }
	fi
}

inline submit()
{
	d_step {
		for (i : 0 .. 1) {
			if
			:: write[i] == BEGUN -> write[i] = (link[i] == UP -> POSTED : BAD)
			:: else
			fi
		}
	}
}

/* A write from the folio */
inline write_device()
{
	if
	:: d_step { device = data; bad = 0 }
	:: d_step { fails -> fails--; bad = 1; failed = 1 }
	:: d_step { fails -> device = data; fails--; bad = 1; failed = 1 }
	fi
}

inline finish()
{
	d_step {
		for (i : 0 .. 1) {
			write[i] = NO_WRITE
		}
		busy = 0;
		bad = 0;
		owned_error = 0;
		excluded = 0;
		avoid = NONE;
		m = 0;
		n = 0
	}
	storing[0] = 0;
	storing[1] = 0
}

inline store()
{
	look();
	remote = 0;
	look();
	if
	:: avoid != 0 -> begin_one(0, POLICY != DISK)
	:: avoid == 0
	fi;
	if
	:: avoid != 1 -> begin_one(1, POLICY != DISK)
	:: avoid == 1
	fi;
	if
	:: no_room && !calm -> d_step { no_room--; write[0] = NO_WRITE }; storing[0] = 0
	:: skip
	fi;
	if
	:: !ANY(BEGINS) ->
		d_step { mode = UNSTAGED };
		settle();
		write_device();
		dirty = bad
	:: ANY(BEGINS) ->
		if
		:: POLICY == SOLELY || POLICY == REPLICA && COUNT(BEGINS) == 2 -> mode = SOLE; forget()
		:: !(POLICY == SOLELY || POLICY == REPLICA && COUNT(BEGINS) == 2) && ANYC(UNUSED) -> mode = STAGED
		:: !(POLICY == SOLELY || POLICY == REPLICA && COUNT(BEGINS) == 2) -> mode = UNSTAGED; settle()
		fi;
		mark();
		if
		:: d_step {
			mode == STAGED && !locked && ANYC(UNUSED) ->
			retire();
			pick_copy(j);
			cdata[j] = data;
			queue(j);
			unbacked = 1
		   }
		:: d_step { mode == STAGED && !locked && !ANYC(UNUSED) -> mode = UNSTAGED }
		   settle()
		:: mode == SOLE -> unbacked = 1
		:: mode == UNSTAGED
		fi;
		submit();
		if
		:: mode == UNSTAGED -> write_device()
		:: mode != UNSTAGED
		fi;
		!ANY(FLIES);
		if
		:: mode == UNSTAGED || !(POLICY == REPLICA && (write[0] == BAD || write[1] == BAD)) && ANY(WELL)
		:: mode == STAGED && ((POLICY == REPLICA && (write[0] == BAD || write[1] == BAD)) || !ANY(WELL)) ->
			d_step {
				!locked ->
				for (i : 0 .. COPIES - 1) {
					if
					:: FOUND(i) && copy[i] == KEPT -> bad = 1
					:: FOUND(i) && copy[i] != KEPT -> owned[i] = 1
					:: else
					fi
				}
			}
			!ANYC(OWNED);
			bad = bad || owned_error
		:: mode == SOLE && ((POLICY == REPLICA && (write[0] == BAD || write[1] == BAD)) || !ANY(WELL)) ->
			settle();
			write_device()
		fi;
		/* store_end() */
		if
		:: bad -> forget(); dirty = 1
		:: !bad && ANY(WELL) ->
			d_step {
				remote = 1;
				for (i : 0 .. 1) {
					has[i] = (write[i] == GOOD && link[i] != GONE)
				}
			}
		:: !bad && !ANY(WELL)
		fi
	fi;
	finish()
}

inline from_device()
{
	assert(device == data)			/* the device has what it must */
}

#define STAGED_DATA	cdata[(READS(0) -> 0 : (READS(1) -> 1 : 2))]

inline from_copy()
{
	assert(STAGED_DATA == data)		/* what is staged is what the slot holds */
}

inline load_locally()
{
	if
	:: d_step { !unbacked -> from_device() }
	:: unbacked ->
		!locked && !ANYC(COMING);
		if
		:: d_step { !locked && ANYC(READS) -> from_copy() }
		:: !locked && !ANYC(READS) ->
			if
			:: d_step { !unbacked -> from_device() }
			:: d_step { unbacked -> assert(!ANY(GOT) && (mode == SOLE || failed)) }	/* lost only with its donors */
			fi
		fi
	fi
}

inline load()
{
	if
	:: d_step { !locked && ANYC(READS) -> from_copy() }
	:: !locked && !ANYC(READS) ->
	   trusts = remote;
	   do
	   :: d_step { trusts && reading == NONE && SERVES(0) -> reading = 0 }
	   :: d_step { trusts && reading == NONE && SERVES(1) -> reading = 1 }
	   :: d_step {
		reading == NONE && (!trusts || !unbacked || !ANY(SERVES) && !ANY(WAITS)) ->
		skip
	      }
	      load_locally();
	      break
	   :: d_step {
		reading != NONE && link[reading] == UP ->
		assert(memory[reading] == data);	/* never an old page */
		reading = NONE
	      }
	      break
	   :: d_step {
		reading != NONE && (link[reading] == SUSPECT || link[reading] == GONE) ->
		reading = NONE;
		trusts = trusts && remote
	      }
	   od
	fi;
	skip;
	d_step { trusts = 0; busy = 0 }
}

inline promote()
{
	if
	:: unbacked -> skip
	:: !unbacked ->
		if
		:: d_step { remote && ANY(SERVES) -> excluded = 1 }
		:: d_step { remote && !ANY(SERVES) && !ANY(WAITS) -> remote = 0 }
		:: d_step { remote && !ANY(SERVES) && ANY(WAITS) -> skip }
		:: d_step { !remote -> skip }
		fi;
		if
		:: !excluded -> look()
		:: excluded
		fi;
		if
		:: !excluded ->
			if
			:: avoid != 0 -> begin_one(0, false)
			:: avoid == 0
			fi;
			if
			:: !ANY(BEGINS) && avoid != 1 -> begin_one(1, false)
			:: else
			fi;
			if
			:: ANY(BEGINS) && !remote -> mark()
			:: else
			fi;
			submit();
			!ANY(FLIES);
			if
			:: ANY(WELL) -> d_step {
				assert(device == data);	/* the device has what it must */
				remote = 1;
				for (i : 0 .. 1) {
					has[i] = has[i] || (write[i] == GOOD && link[i] != GONE)
				}
			   }
			:: !ANY(WELL)
			fi
		:: excluded
		fi
	fi;
	finish()
}

proctype page()
{
	byte m, n;
	byte avoid = NONE;
	bit excluded, trusts, bad;
end:	do
	:: d_step {
		stores && !calm ->
		stores--;
		versions++;
		data = versions;
		has[0] = 0;
		has[1] = 0;
		busy = 1;
		dirty = 0;
		failed = 0
	   }
	   store()
	:: d_step { promotions && !calm && data && !dirty -> promotions--; busy = 1 }
	   promote()
	/* farswap_invalidate() */
	:: d_step {
		frees && !calm && data ->
		frees--;
		data = 0;
		dirty = 0;
		has[0] = 0;
		has[1] = 0
	   }
	   look();
	   remote = 0;
	   look();
	   forget();
	   avoid = NONE
	:: d_step { !calm && data && !dirty -> busy = 1 }
	   load()
	od
}

inline drain_start()
{
	slab = DRAINING;
	slab = (sole -> DRAINING : ENDING)
}

inline removed(_m)
{
	there[_m] = 0;
	j = has[_m] && remote && unbacked && !ANYC(HELDS);
	has[_m] = 0;
	assert(!j || ANY(GOT))			/* who leaves takes nothing along */
}

inline get_region(_m)
{
	maps--;
	there[_m] = 1;
	missing[_m] = 1;
	leaving[_m] = 0;
	memory[_m] = 0;
	link[_m] = UP;
	has[_m] = 0;
	slab = MAPPED
}

proctype donor(byte m)
{
end:	do
	:: d_step { write[m] == POSTED -> write[m] = LANDED; memory[m] = data }
	:: d_step { write[m] == LANDED && link[m] == UP -> missing[m] = 0; write[m] = GOOD }
	:: d_step { FLIES(m) && link[m] != UP -> write[m] = BAD }
	:: d_step { cuts && there[m] && link[m] == UP -> cuts--; link[m] = CUT }
	:: d_step { link[m] == CUT && !FLIES(m) && !REBUILD_FLIES(m) -> link[m] = SUSPECT }
	:: d_step { link[m] == SUSPECT -> link[m] = UP }
	:: d_step {
		link[m] == SUSPECT && deaths ->
		deaths--;
		link[m] = GONE;
		has[m] = 0;
		losing[m] = 1
	   }
	/* farswap_slabs_lose() */
	:: d_step {
		losing[m] ->
		losing[m] = 0;
		if
		:: there[m] && slab == MAPPED && OTHER(m, THERE) -> there[m] = 0
		:: there[m] && slab == MAPPED && !OTHER(m, THERE) -> slab = ENDING
		:: else
		fi
	   }
	/* farswap_unmap_end() */
	:: d_step {
		there[m] && slab == ENDING && !IN_USE(m) && !locked ->
		removed(m);
		j = !ANY(THERE);
		if
		:: j -> remote = 0; sole = 0; slab = UNMAPPED
		:: else
		fi
	   }
	:: d_step { maps && !ANY(LOSING) && slab == UNMAPPED && !there[m] && !IN_USE(m) -> get_region(m) }
	:: d_step { maps && !ANY(LOSING) && slab == MAPPED && !there[m] && !IN_USE(m) -> get_region(m) }
	od
}

#define TO_FETCH(m) (remote && unbacked && (leaving[m] && slab == MAPPED -> HAS_ONLY(m) : !missing[m]))

/* farswap_fetch_mapping() */
inline fetch(_m)
{
	do
	:: TO_FETCH(_m) && link[_m] != GONE && !ANYC(UNUSED) -> ANYC(UNUSED)
	:: TO_FETCH(_m) && link[_m] != GONE && ANYC(UNUSED) ->
		d_step { !locked -> locked = 1 }
		/* backup_is_unbacked() */
		go = unbacked;
		go = go && remote;
		go = go && there[_m];
		go = go && !missing[_m];
		if
		:: d_step { go && !ANYC(FOUND) && ANYC(UNUSED) ->
			pick_copy(c); copy[c] = FETCHING }
#ifndef BREAK_AGAIN
		   go = unbacked;
		   go = go && remote;
		   go = go && there[_m];
		   go = go && !missing[_m];
#endif
		   if
		   :: d_step { !go -> clear(c); c = 0; locked = 0 }
		      break
		   :: d_step { go -> locked = 0; go = 0 }
		   fi;
		   if
		   :: d_step { link[_m] == UP -> cdata[c] = memory[_m] }
		      d_step { !locked -> if :: stale[c] -> clear(c) :: else -> queue(c) fi; c = 0 }
		   :: link[_m] != UP -> d_step { !locked -> clear(c); c = 0 }
		   fi;
		   link[_m] == UP || link[_m] == GONE
		:: d_step { !(go && !ANYC(FOUND) && ANYC(UNUSED)) -> locked = 0; go = 0 }
		   break
		fi
	:: !(TO_FETCH(_m) && link[_m] != GONE) -> break
	od
}

#define LEAVES_ONE(m) (there[m] && slab == MAPPED && OTHER(m, THERE))

proctype leave(byte m)
{
	byte c;
	bit go;
end:	do
	:: d_step {
		evicts && !ANY(LOSING) && there[m] && slab == MAPPED && !leaving[m] ->
		evicts--;
		leaving[m] = 1;
		working[m] = 1
	   }
	:: d_step {
		evicts && !ANY(LOSING) && there[m] && slab == MAPPED && !leaving[m] &&
		!OTHER(m, STAYS) ->
		evicts--;
		drain_start()
	   }
	:: working[m] ->
		!STORES_TO(m);
		do
		:: if
		   :: sole -> fetch(m)
		   :: !sole
		   fi;
		   /* leave_mapping_end() */
		   if
		   :: d_step { !locked && !ANY(LOSING) && !(LEAVES_ONE(m) && WOULD_LOSE(m) && link[m] != GONE) ->
			if
			:: LEAVES_ONE(m) -> removed(m)
			:: !LEAVES_ONE(m) && there[m] && slab == MAPPED -> drain_start()
			:: else
			fi;
			working[m] = 0
		      }
		      break
		   :: d_step { !locked && !ANY(LOSING) && LEAVES_ONE(m) && WOULD_LOSE(m) && link[m] != GONE -> skip }
		   fi
		od
	od
}

proctype drain()
{
	byte m, c;
	bit go;
end:	do
	:: d_step { unmaps && !ANY(LOSING) && slab == MAPPED -> unmaps--; drain_start() }
	:: slab == DRAINING && !ANY(WORKS) && !ANY(STORED_TO) ->
		do
		:: m < 2 && there[m] && sole -> fetch(m); m++
		:: m < 2 && !(there[m] && sole) -> m++
		:: d_step { m == 2 -> m = 0; slab = ENDING }
		   break
		od
	od
}

proctype rebuild()
{
	byte m, n, read;
	bit want;
end:	do
	:: d_step { rebuilds && slab == MAPPED -> rebuilds--; rebuilding = 1; rebuilt_stale = 0 }
	   /* farswap_rebuild_is_wanted() */
	   want = (data && !busy && !dirty);
#ifndef BREAK_OWED
	   want = want && !unbacked;
#endif
	   want = want && !(remote && ANY(SERVES));
	   if
	   :: want ->
		read = device;
		do
		:: m < 2 && rebuild_to == NONE ->
			if
			:: d_step { USABLE(m) -> rstoring[m] = 1 }
			   d_step {
				if
				:: slab == MAPPED && there[m] && !leaving[m] && link[m] != SUSPECT ->
					rebuild_to = m
				:: else -> rstoring[m] = 0
				fi
			   }
			:: d_step { !USABLE(m) -> skip }
			fi;
			m++
		:: else -> break
		od;
		skip;
		/* farswap_guard_write() */
		d_step {
			m = 0;
			rebuild_writes = (rebuild_to != NONE && !rebuilt_stale);
			if
			:: rebuild_writes && !remote ->
				for (i : 0 .. 1) {
					missing[i] = missing[i] || there[i] && COUNT(THERE) > 1
				}
			:: else
			fi
		}
	   :: !want
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
	   skip;
	   d_step {
		rebuild_writes = 0;
		rebuilt = NO_WRITE;
		rebuild_to = NONE;
		read = 0;
		want = 0;
		rstoring[0] = 0;
		rstoring[1] = 0
	   }
	od
}

#if defined(REACH_LET_GO)
#define REACHED	(unbacked && remote && failed && !ANYC(FOUND) && POLICY == DISK && !busy)
#elif defined(REACH_FETCH_HELD)
#define REACHED	(ANYC(FLYING) && (FOUND(0) && copy[0] == HELD || FOUND(1) && copy[1] == HELD) && ANY(WORKS) && !busy)
#elif defined(REACH_ADOPT_FAILS)
#define REACHED	owned_error
#elif defined(REACH_FETCH_STALE)
#define REACHED	(copy[0] == FETCHING && stale[0])
#else
#define REACHED	false
#endif

proctype reach()
{
end:	do
	:: d_step { REACHED -> assert(false) }	/* it happens */
	od
}

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
		fails = 0;
		cuts = 0;
		deaths = 0;
		evicts = 0;
		unmaps = 0;
		maps = 0
	   }
	od
}

inline settled()
{
	assert(!busy && !ANY(WORKS) && slab != DRAINING && slab != ENDING && !locked);	/* all that has begun ends */
	for (i : 0 .. COPIES - 1) {
		assert(copy[i] == FREE || copy[i] == KEPT)	/* what is staged is written */
	}
}

init
{
	atomic {
		for (i : 0 .. START - 1) {
			there[i] = 1;
			missing[i] = 1
		}
		for (i : 0 .. 1) {
			run donor(i);
			run leave(i)
		}
		for (i : 0 .. COPIES - 1) {
			run writer(i)
		}
		run page();
		run drain();
		run rebuild();
		run fate();
		run reach()
	}
	d_step { timeout -> settled() }
}
