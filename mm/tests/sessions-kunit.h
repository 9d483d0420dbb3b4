/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sessions: every order of events that the transport may report, and of what an operator
 * does, for two addresses of one daemon, until no new state is reached. Never may both be
 * used, nor neither while one could be.
 */
#include <kunit/test.h>

#define TWINS	2

/* The transport's state: donor->io without a session, and with one. */
enum twin_session {
	TWIN_CLOSED,
	TWIN_TRIES,
	TWIN_WORKS,
	TWIN_SUSPENDED,
	TWIN_SESSIONS,
};

enum twin_event {
	TWIN_OPEN,
	TWIN_UP,
	TWIN_SUSPEND,
	TWIN_LOSE,
	TWIN_RESUME,
	TWIN_DOWN,
	TWIN_LEAVE,
	TWIN_STAY,
	TWIN_CLOSE,
	TWIN_EVENTS,
};

static const char *const twin_event_names[] = {
	[TWIN_OPEN]	= "open",
	[TWIN_UP]	= "up",
	[TWIN_SUSPEND]	= "suspended",
	[TWIN_LOSE]	= "without a region",
	[TWIN_RESUME]	= "resumed",
	[TWIN_DOWN]	= "down",
	[TWIN_LEAVE]	= "leaving",
	[TWIN_STAY]	= "not leaving after all",
	[TWIN_CLOSE]	= "closed",
};

/* State of one address. */
struct twin {
	enum farswap_donor_state state;
	enum farswap_donor_io io;
	enum twin_session session;
};

/* Number of possible states. */
#define TWINS_MOMENTS	(TWIN_SESSIONS * FARSWAP_DONOR_STATES * \
			 TWIN_SESSIONS * FARSWAP_DONOR_STATES)

/**
 * struct twins - two addresses of one daemon
 * @donors:	both
 * @sessions:	the transport's state of each
 * @others:	live donors of other tests
 * @moments:	states of both, seen so far
 * @nr:		number of @moments
 * @seen:	whether a state is among them
 * @steps:	number of events tried
 */
struct twins {
	struct farswap_donor *donors[TWINS];
	enum twin_session sessions[TWINS];
	unsigned int others;
	struct twin moments[TWINS_MOMENTS][TWINS];
	unsigned int nr;
	bool seen[TWIN_SESSIONS][FARSWAP_DONOR_STATES][TWIN_SESSIONS][FARSWAP_DONOR_STATES];
	unsigned int steps;
};

static void twin_set_state(struct farswap_donor *donor, enum farswap_donor_state state)
{
	spin_lock(&farswap_state_lock);
	if (state == FARSWAP_DONOR_LEAVING)
		session_retire(donor, state);
	else
		farswap_donor_set_state(donor, state);
	spin_unlock(&farswap_state_lock);
}

/* Returns false if the event is impossible now. */
static bool twin_happens(struct twins *twins, unsigned int i, enum twin_event event)
{
	static const struct farswap_peer daemon = { .instance = 1 };
	struct farswap_donor *donor = twins->donors[i];
	enum twin_session *session = &twins->sessions[i];
	bool leaving = donor->state == FARSWAP_DONOR_LEAVING;

	switch (event) {
	case TWIN_OPEN:
		if (*session != TWIN_CLOSED)
			return false;
		twin_set_state(donor, FARSWAP_DONOR_CONNECTING);
		*session = TWIN_TRIES;
		return true;
	case TWIN_UP:
		if (*session != TWIN_TRIES)
			return false;
		session_ops.up(donor, &daemon);
		*session = TWIN_WORKS;
		return true;
	case TWIN_SUSPEND:
		if (*session != TWIN_WORKS)
			return false;
		session_ops.suspended(donor, -ETIMEDOUT);
		*session = TWIN_SUSPENDED;
		return true;
	case TWIN_LOSE:
		if (*session != TWIN_SUSPENDED)
			return false;
		session_ops.lost(donor, 4711);
		return true;
	case TWIN_RESUME:
		if (*session != TWIN_SUSPENDED)
			return false;
		session_ops.resumed(donor);
		*session = TWIN_WORKS;
		return true;
	case TWIN_DOWN:
		if (*session == TWIN_CLOSED)
			return false;
		session_ops.down(donor, -ECONNRESET);
		*session = TWIN_TRIES;
		return true;
	case TWIN_LEAVE:
		if (*session == TWIN_CLOSED || leaving)
			return false;
		twin_set_state(donor, FARSWAP_DONOR_LEAVING);
		return true;
	case TWIN_STAY:
		if (*session == TWIN_CLOSED || !leaving)
			return false;
		spin_lock(&farswap_state_lock);
		session_stay(donor);
		spin_unlock(&farswap_state_lock);
		return true;
	default:
		if (*session == TWIN_CLOSED || !leaving)
			return false;
		WRITE_ONCE(donor->io, FARSWAP_DONOR_IO_NONE);
		*session = TWIN_CLOSED;
		return true;
	}
}

/* Returns the error, or NULL. */
static const char *twins_complaint(const struct twins *twins)
{
	static const enum farswap_donor_io good_for[] = {
		[TWIN_CLOSED]		= FARSWAP_DONOR_IO_NONE,
		[TWIN_TRIES]		= FARSWAP_DONOR_IO_NONE,
		[TWIN_WORKS]		= FARSWAP_DONOR_IO_WORKS,
		[TWIN_SUSPENDED]	= FARSWAP_DONOR_IO_SUSPENDED,
	};
	unsigned int i, nr_live = 0, nr_suspect = 0, nr_usable = 0;

	for (i = 0; i < TWINS; i++) {
		const struct farswap_donor *donor = twins->donors[i];

		nr_live += donor->state == FARSWAP_DONOR_LIVE;
		nr_suspect += donor->state == FARSWAP_DONOR_SUSPECT;
		nr_usable += donor->state != FARSWAP_DONOR_LEAVING &&
			     twins->sessions[i] == TWIN_WORKS;
		if (donor->io != good_for[twins->sessions[i]])
			return "what I/O is told";
		if (donor->state == FARSWAP_DONOR_LIVE && twins->sessions[i] != TWIN_WORKS)
			return "live without a session that works";
		if (donor->state == FARSWAP_DONOR_SUSPECT && twins->sessions[i] != TWIN_SUSPENDED)
			return "suspect without a session that may go on";
	}
	if (nr_live + nr_suspect > 1)
		return "one daemon is used by two addresses";
	if (nr_usable && !nr_live && !nr_suspect)
		return "a session that works is not used";
	if (farswap_donors_nr_live != twins->others + nr_live)
		return "the count of live donors";
	return NULL;
}

/* Record a new state. */
static void twins_note(struct twins *twins)
{
	bool *seen = &twins->seen[twins->sessions[0]][twins->donors[0]->state]
				 [twins->sessions[1]][twins->donors[1]->state];
	unsigned int i;

	if (*seen)
		return;
	*seen = true;
	for (i = 0; i < TWINS; i++)
		twins->moments[twins->nr][i] = (struct twin) {
			twins->donors[i]->state, twins->donors[i]->io, twins->sessions[i]
		};
	twins->nr++;
}

static void twins_restore(struct twins *twins, const struct twin *moment)
{
	unsigned int nr_live = twins->others, i;

	spin_lock(&farswap_state_lock);
	for (i = 0; i < TWINS; i++) {
		twins->donors[i]->state = moment[i].state;
		WRITE_ONCE(twins->donors[i]->io, moment[i].io);
		twins->sessions[i] = moment[i].session;
		nr_live += moment[i].state == FARSWAP_DONOR_LIVE;
	}
	WRITE_ONCE(farswap_donors_nr_live, nr_live);
	spin_unlock(&farswap_state_lock);
}

/* Try all events in one state. Returns false on an error. */
static bool twins_step(struct kunit *test, struct twins *twins, const struct twin *moment)
{
	unsigned int i, event;
	const char *wrong;

	for (i = 0; i < TWINS; i++)
		for (event = 0; event < TWIN_EVENTS; event++) {
			twins_restore(twins, moment);
			if (!twin_happens(twins, i, event))
				continue;
			twins->steps++;
			wrong = twins_complaint(twins);
			if (wrong) {
				KUNIT_FAIL(test, "%s and %s, then %u %s: %s",
					   farswap_donor_state_names[moment[0].state],
					   farswap_donor_state_names[moment[1].state], i,
					   twin_event_names[event], wrong);
				return false;
			}
			twins_note(twins);
		}
	return true;
}

static void sessions_test_twins(struct kunit *test)
{
	struct twins *twins = kunit_kzalloc(test, sizeof(*twins), GFP_KERNEL);
	unsigned int i, moment;

	KUNIT_ASSERT_NOT_NULL(test, twins);
	mutex_lock(&farswap_main_lock);
	for (i = 0; i < TWINS; i++) {
		twins->donors[i] = farswap_donor_alloc(i ? "192.0.2.2" : "192.0.2.1");
		if (!twins->donors[i])
			goto out_remove;
		farswap_donors_append(twins->donors[i]);
	}
	twins->others = farswap_donors_nr_live;
	twins_note(twins);
	for (moment = 0; moment < twins->nr; moment++)
		if (!twins_step(test, twins, twins->moments[moment]))
			break;
	twins_restore(twins, twins->moments[0]);
out_remove:
	while (i--)
		farswap_donors_remove(twins->donors[i]);
	mutex_unlock(&farswap_main_lock);
	kunit_info(test, "%u steps from %u moments", twins->steps, twins->nr);
	KUNIT_EXPECT_GT(test, twins->steps, 100);
}

static struct kunit_case sessions_cases[] = {
	KUNIT_CASE(sessions_test_twins),
	{}
};

static struct kunit_suite sessions_suite = {
	.name		= "farswap_sessions",
	.test_cases	= sessions_cases,
};

kunit_test_suite(sessions_suite);
