// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the pool, the sessions and the counters. Changes nothing.
 */
#include <inttypes.h>

#include "drain.h"
#include "reclaim.h"
#include "session.h"
#include "status.h"

static const char *status_bytes(uint64_t bytes, char buf[32])
{
	static const char units[] = "BKMGT";
	int i = 0;

	while (bytes >= 1024 && bytes % 1024 == 0 && units[i + 1]) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, 32, "%" PRIu64 "%c", bytes, units[i]);
	return buf;
}

static unsigned int status_queues(const struct session *session)
{
	unsigned int i, up = 0;

	for (i = 0; i < FARSWAP_QUEUES_MAX; i++)
		up += session->data[i].state == CONN_UP;
	return up;
}

static void status_show_session(FILE *out, const struct session *session)
{
	int i;

	fprintf(out, "  %" PRIu64 "  %s  %s  %u of %u queues  %u regions", session->number,
		session->peer, session_state_name(session->state), status_queues(session),
		session->queues, session_lent(session));
	if (session->owner.nr[REGION_EVICT_WAIT] + session->owner.nr[REGION_EVICTING])
		fprintf(out, " (%u being evicted)", session->owner.nr[REGION_EVICT_WAIT] +
			session->owner.nr[REGION_EVICTING]);
	fprintf(out, "  node ");
	for (i = 0; i < FARSWAP_NODE_BYTES; i++)
		fprintf(out, "%02x", session->hello.node[i]);
	fprintf(out, "\n");
}

static void status_show_client(FILE *out, const struct client *client)
{
	char name[ADDRESS_NAME_MAX];

	address_name((const struct sockaddr *)&client->address, name);
	fprintf(out, "  %s  %u regions of %u to %u, share %u, weight %u, %u sessions\n", name,
		client->account.lent, client->min, client->max, client_fair(client),
		client->weight, client->sessions);
}

void status_show(FILE *out)
{
	static const char *const drained[] = {
		[DRAIN_NOT] = "",
		[DRAIN_RUNS] = "; draining",
		[DRAIN_DONE] = "; drained",
	};
	char memory[32], slab[32], left[32], held[32], headroom[32];
	struct list *pos;
	int i;

	fprintf(out, "memory   %s in %u regions of %s, %s held, %s can be lent, headroom %s%s\n",
		status_bytes(region_bytes() * region_total(), memory), region_total(),
		status_bytes(region_bytes(), slab), status_bytes(region_present_bytes(), held),
		status_bytes(region_free_bytes(), left), status_bytes(reclaim_headroom(), headroom),
		session_leaving() ? "; shutting down" : drained[drain_state()]);
	fprintf(out, "regions ");
	for (i = 0; i < REGION_STATES; i++)
		fprintf(out, " %u %s", region_count(i), region_state_name(i));
	fprintf(out, "\nsessions %u\n", session_count());
	list_for_each(pos, &session_list)
		status_show_session(out, container_of(pos, struct session, link));
	fprintf(out, "clients\n");
	list_for_each(pos, &client_list)
		status_show_client(out, container_of(pos, struct client, link));
	fprintf(out, "counters\n");
	stats_show(out);
}

static void status_gauge(FILE *out, const char *name, const char *help)
{
	fprintf(out, "# HELP farswapd_%s %s\n# TYPE farswapd_%s gauge\n", name, help, name);
}

static void status_client_metrics(FILE *out)
{
	static const char *const names[] = { "regions", "share", "min", "max", "weight" };
	static const char *const helps[] = {
		"Regions lent, by client",
		"Regions that are the client's part of the pool",
		"Regions reserved for the client",
		"Most regions for the client",
		"Weight of the client",
	};
	char name[ADDRESS_NAME_MAX], metric[32];
	struct list *pos;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(metric, sizeof(metric), "client_%s", names[i]);
		status_gauge(out, metric, helps[i]);
		list_for_each(pos, &client_list) {
			const struct client *client = container_of(pos, struct client, link);
			const unsigned int values[] = {
				client->account.lent, client_fair(client), client->min,
				client->max, client->weight,
			};

			address_name((const struct sockaddr *)&client->address, name);
			fprintf(out, "farswapd_%s{client=\"%s\"} %u\n", metric, name, values[i]);
		}
	}
	status_gauge(out, "sessions_half_open", "Sessions without HELLO");
	fprintf(out, "farswapd_sessions_half_open %u\n", client_nr_half_open());
}

void status_metrics(FILE *out)
{
	struct list *pos;
	int i;

	status_gauge(out, "memory_bytes", "Memory that may be lent");
	fprintf(out, "farswapd_memory_bytes %" PRIu64 "\n", region_bytes() * region_total());
	status_gauge(out, "held_bytes", "Memory taken from the machine");
	fprintf(out, "farswapd_held_bytes %" PRIu64 "\n", region_present_bytes());
	status_gauge(out, "free_bytes", "Memory that can still be lent");
	fprintf(out, "farswapd_free_bytes %" PRIu64 "\n", region_free_bytes());
	status_gauge(out, "headroom_bytes", "Memory left available to the machine");
	fprintf(out, "farswapd_headroom_bytes %" PRIu64 "\n", reclaim_headroom());
	status_gauge(out, "draining", "1 from farswapctl drain to undrain");
	fprintf(out, "farswapd_draining %d\n", drain_state() != DRAIN_NOT);
	status_gauge(out, "region_bytes", "Size of a region");
	fprintf(out, "farswapd_region_bytes %" PRIu64 "\n", region_bytes());
	status_gauge(out, "regions", "Regions by state");
	for (i = 0; i < REGION_STATES; i++)
		fprintf(out, "farswapd_regions{state=\"%s\"} %u\n", region_state_name(i),
			region_count(i));
	status_gauge(out, "sessions", "Current sessions");
	fprintf(out, "farswapd_sessions %u\n", session_count());
	status_gauge(out, "session_regions", "Regions lent, by session");
	list_for_each(pos, &session_list) {
		const struct session *session = container_of(pos, struct session, link);

		fprintf(out, "farswapd_session_regions{session=\"%" PRIu64 "\",peer=\"%s\"} %u\n",
			session->number, session->peer, session_lent(session));
	}
	status_client_metrics(out);
	stats_metrics(out);
}
