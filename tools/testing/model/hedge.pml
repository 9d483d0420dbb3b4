/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One page whose READ is hedged, for Spin: mm/io/hedge.c, what mm/io/load.c and the hook do with
 * it, a task that waits for the page, and a swapoff. check.sh says what is searched;
 * Documentation/mm/farswap/testing.rst, what is left out.
 *
 * A step under hedge_lock, or that is one atomic operation in the code, is one step here.
 */

#define NOTHING	0	/* contents of a page that has not been read */

mtype:given = { KEPT, GIVING, GIVEN, HELD };
mtype:hedge = { NONE, READING, HAS, FAILED, PARKED, OVER };

/* The slot. Its contents change when it is freed and stored again. */
byte data = 1;
bit used = 1;			/* by the task's page table */

/* The folio: of the swap cache, locked, with references of its cache and of the task. */
bit cached = 1;
bit locked = 1;
bit uptodate;
byte refs = 2;
byte contents = NOTHING;
bit reused;			/* the memory is somebody else's */

/* struct farswap_race */
mtype:given given = KEPT;
bit arrived;
bit waiting;
bit attached;			/* race->hedge and hedge->request */
byte unlocks;

/* struct farswap_hedge */
mtype:hedge hedge = NONE;
byte page = NOTHING;
bit kept;			/* in the list, with @page */

bit writeok = 1;

inline put()
{
	refs--;
	reused = refs == 0
}

/* folio_end_read(), folio_unlock() */
inline unlock()
{
	assert(locked);			/* the folio is unlocked once */
	locked = 0
}

/* hedge_finish() */
inline finish()
{
	if
	:: atomic { given == HELD -> contents = page; uptodate = 1; unlock() }
	:: else
	fi;
#ifndef BREAK_PIN
	d_step { put() };
#endif
	skip
}

/* The adapter and the donor; then the completion, load_done(). */
proctype reader()
{
	bit good;

	/* It may write to the folio at any time. */
	atomic {
#ifndef BREAK_CACHED
		assert(!reused && (locked || !cached));	/* a READ writes to nobody else's memory */
#endif
		contents = (given == KEPT -> 1 : NOTHING)
	}
	if
	:: good = 1
	:: good = 0
	fi;
	/* farswap_hedge_read_ended() */
	if
#ifndef BREAK_ARRIVED
	:: atomic { given == GIVING -> arrived = 1 } -> goto out
	:: atomic { given == GIVEN || given == HELD -> arrived = 1 } -> finish(); goto out
#endif
	:: atomic {
#ifndef BREAK_ARRIVED
		given == KEPT ->
#endif
		arrived = 1
	   }
	fi;
	/* load_open(), and farswap_hedge_settle() */
	if
	:: atomic { !good && attached && hedge != PARKED -> waiting = 1 } -> goto out
	:: atomic { !good && attached && hedge == PARKED ->
		attached = 0;
		hedge = OVER;
		contents = page
	   }
	   good = 1
	:: atomic { (good || !attached) ->
		attached = 0;
		hedge = (hedge == PARKED -> OVER : hedge)
	   }
	fi;
	/* Otherwise load_fallback() reads it elsewhere. */
	atomic {
		contents = (good -> contents : data);
		uptodate = 1;
		unlock()
	}
out:
	skip
}

/* The scan, the second read, and hedge_work_fn() */
proctype hedger()
{
	bit unlocked, finishes;

	/* hedge_claim() */
	if
	:: atomic { !arrived -> attached = 1; hedge = READING }
	:: arrived -> goto out
	fi;
	/* The slot may have been stored to, if the load has ended. */
	if
	:: atomic { page = data; hedge = HAS }
	:: hedge = FAILED
	fi;
	/* hedge_bad() */
	if
	:: atomic { hedge == FAILED && attached && waiting -> attached = 0; hedge = OVER } ->
		atomic { contents = data; uptodate = 1; unlock() };
		goto out
	:: atomic { hedge == FAILED && !(attached && waiting) -> attached = 0; hedge = OVER } ->
		goto out
	/* hedge_good() */
	:: atomic { hedge == HAS && !attached -> hedge = OVER } -> goto out
	:: atomic { hedge == HAS && attached && waiting -> attached = 0 } ->
		atomic { contents = page; uptodate = 1; hedge = OVER; unlock() };
		goto out
	:: atomic {
		hedge == HAS && attached && !waiting &&
#ifndef BREAK_CLAIM
		(arrived || !writeok) -> hedge = PARKED
#else
		false
#endif
	   } -> goto out
	:: atomic {
		hedge == HAS && attached && !waiting &&
#ifndef BREAK_CLAIM
		!arrived && writeok
#else
		writeok
#endif
		-> attached = 0; given = GIVING
	   }
	fi;
	/* hedge_give() */
#ifdef BREAK_COPY
	atomic { contents = page; uptodate = 1; unlock() };
	goto out;
#endif
#ifndef BREAK_PIN
	refs++;
#endif
	kept = 1;
	/* farswap_hook_abandon() */
#ifndef BREAK_CACHED
	atomic { cached = 0; put() };
#endif
#ifndef BREAK_SWAPOFF
	unlocked = writeok;
#else
	unlocked = 1;
#endif
	if
	:: atomic { unlocked -> unlock() }
	:: else
	fi;
	atomic { given = (unlocked -> GIVEN : HELD); finishes = arrived };
	if
	:: finishes -> finish()
	:: else
	fi;
out:
	skip
}

/* A fault that waits for the folio, or is killed; the page may be stored again after it. */
proctype task()
{
	bit again;

	if
	:: !locked
	:: skip -> goto killed
	fi;
	if
	:: atomic {
		cached ->
		assert(uptodate && contents == data)	/* a fault finds its page */
	   }
	   goto killed
	:: else -> again = 1
	fi;
	/* A new folio: farswap_hedge_load(), or a load without a hedge */
	if
	:: atomic { kept -> kept = 0; assert(page == data) }	/* a kept page is the slot's */
	:: !kept
	fi;
killed:
	skip;
	d_step { put() };
	/* The folio leaves the swap cache with its slot, or without. */
	if
	:: atomic { cached && !locked -> cached = 0; put() }
	:: !cached
	fi;
	/* farswap_invalidate(), and then another store of the slot */
	atomic {
		used = 0;
#ifndef BREAK_DROP
		kept = 0;
#endif
		data = 2
	};
	/* Its load */
	if
	:: atomic { kept -> kept = 0; assert(page == data) }	/* a kept page is the slot's */
	:: !kept
	fi
}

/* try_to_unuse() of a slot that is in use */
proctype swapoff()
{
	writeok = 0;
	if
	:: atomic { cached && used -> refs++ }
		!locked;
		if
		:: used -> assert(uptodate)	/* a swapoff finds what it waits for */
		:: !used
		fi;
		d_step { put() }
	:: !cached || !used
	fi
}

init {
	atomic {
		run reader();
		run hedger();
		run task();
#ifdef SWAPOFF
		run swapoff()
#endif
	}
}
