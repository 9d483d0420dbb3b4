// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of messages about clients: one address cannot hide what is said about another.
 */
#define clock_gettime	fake_clock
#include "log.c"
#undef clock_gettime

#include "tap.h"

static time_t now = 1000;

int fake_clock(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = (struct timespec){ .tv_sec = now };
	return 0;
}

/* Number of messages about the peer that may be printed now. */
static unsigned int may(const char *peer)
{
	unsigned int i = 0;

	while (i < 10000 && log_peer_ok(peer))
		i++;
	return i;
}

int main(void)
{
	unsigned int i, sum = 0;
	char peer[64];

	ok(may("10.0.0.1:1000") == LOG_PEER_BURST, "an address may cause some messages");
	ok(!may("10.0.0.1:2000"), "and gets no more by another port");
	ok(may("10.0.0.2:1000") == LOG_PEER_BURST, "others have their own");
	ok(may("[fe80::1]:1000") == LOG_PEER_BURST && !may("[fe80::1]:2"), "so has an IPv6 address");
	now++;
	ok(may("10.0.0.1:1000") == LOG_PEER_PER_SECOND, "a second later there are a few more");
	ok(!state.suppressed || state.told == now, "and the suppressed ones are counted");
	now += 1000000;
	ok(may("10.0.0.1:1000") == LOG_PEER_BURST, "after a long time not more than at first");
	now += 1000000;
	for (i = 0; i < 1000; i++) {
		snprintf(peer, sizeof(peer), "10.1.%u.%u:1", i / 250, i % 250);
		sum += may(peer);
	}
	ok(sum == LOG_ALL_BURST, "all together have a limit too");
	return tap_done();
}
