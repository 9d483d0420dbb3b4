// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the pool, the sessions and the counters. Changes nothing.
 */
#include <inttypes.h>

#include "drain.h"
#include "json.h"
#include "metrics.h"
#include "reclaim.h"
#include "release.h"
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

	client_name(client, name);
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

static void status_json_session(struct json *json, const struct session *session)
{
	char node[2 * FARSWAP_NODE_BYTES + 1];
	int i;

	for (i = 0; i < FARSWAP_NODE_BYTES; i++)
		snprintf(node + (size_t)2 * i, 3, "%02x", session->hello.node[i]);
	json_object(json, NULL);
	json_number(json, "session", session->number);
	json_string(json, "peer", session->peer);
	json_string(json, "state", session_state_name(session->state));
	json_number(json, "queues_up", status_queues(session));
	json_number(json, "queues", session->queues);
	json_number(json, "regions", session_lent(session));
	json_number(json, "regions_evicted_now", session->owner.nr[REGION_EVICT_WAIT] +
		    session->owner.nr[REGION_EVICTING]);
	json_string(json, "node", node);
	json_end(json);
}

static void status_json_client(struct json *json, const struct client *client)
{
	char name[ADDRESS_NAME_MAX];

	client_name(client, name);
	json_object(json, NULL);
	json_string(json, "address", name);
	json_number(json, "regions", client->account.lent);
	json_number(json, "share", client_fair(client));
	json_number(json, "min", client->min);
	json_number(json, "max", client->max);
	json_number(json, "weight", client->weight);
	json_number(json, "sessions", client->sessions);
	json_end(json);
}

void status_json(FILE *out)
{
	static const char *const drain[] = {
		[DRAIN_NOT] = "no",
		[DRAIN_RUNS] = "draining",
		[DRAIN_DONE] = "drained",
	};
	struct list *pos;
	struct json json;
	int i;

	json_init(&json, out);
	json_object(&json, NULL);
	json_string(&json, "version", FARSWAP_RELEASE);
	json_number(&json, "memory_bytes", region_bytes() * region_total());
	json_number(&json, "held_bytes", region_present_bytes());
	json_number(&json, "free_bytes", region_free_bytes());
	json_number(&json, "headroom_bytes", reclaim_headroom());
	json_number(&json, "region_bytes", region_bytes());
	json_string(&json, "drain", drain[drain_state()]);
	json_bool(&json, "shutting_down", session_leaving());
	json_object(&json, "regions");
	for (i = 0; i < REGION_STATES; i++)
		json_number(&json, region_state_name(i), region_count(i));
	json_end(&json);
	json_array(&json, "sessions");
	list_for_each(pos, &session_list)
		status_json_session(&json, container_of(pos, struct session, link));
	json_end(&json);
	json_array(&json, "clients");
	list_for_each(pos, &client_list)
		status_json_client(&json, container_of(pos, struct client, link));
	json_end(&json);
	stats_json(&json);
	json_end(&json);
}

static void status_gauge(const struct metrics *metrics, const char *name, const char *help,
			 uint64_t value)
{
	metrics_head(metrics, name, "gauge", help);
	metrics_sample(metrics, name, "", value);
}

static void status_metrics_regions(const struct metrics *metrics)
{
	char label[64];
	int i;

	metrics_head(metrics, "farswapd_regions", "gauge", "Regions by state");
	for (i = 0; i < REGION_STATES; i++) {
		snprintf(label, sizeof(label), "state=\"%s\"", region_state_name(i));
		metrics_sample(metrics, "farswapd_regions", label, region_count(i));
	}
}

static void status_metrics_sessions(const struct metrics *metrics)
{
	struct list *pos;
	char label[160];

	status_gauge(metrics, "farswapd_sessions", "Current sessions", session_count());
	metrics_head(metrics, "farswapd_session_regions", "gauge", "Regions lent, by session");
	list_for_each(pos, &session_list) {
		const struct session *session = container_of(pos, struct session, link);

		snprintf(label, sizeof(label), "session=\"%" PRIu64 "\",peer=\"%s\"",
			 session->number, session->peer);
		metrics_sample(metrics, "farswapd_session_regions", label, session_lent(session));
	}
}

static void status_metrics_clients(const struct metrics *metrics)
{
	static const struct {
		const char *name;
		const char *help;
	} gauges[] = {
		{ "farswapd_client_regions", "Regions lent, by client" },
		{ "farswapd_client_share", "Regions that are the client's part of the pool" },
		{ "farswapd_client_min", "Regions reserved for the client" },
		{ "farswapd_client_max", "Most regions for the client" },
		{ "farswapd_client_weight", "Weight of the client" },
	};
	char name[ADDRESS_NAME_MAX], label[ADDRESS_NAME_MAX + 16];
	struct list *pos;
	size_t i;

	for (i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++) {
		metrics_head(metrics, gauges[i].name, "gauge", gauges[i].help);
		list_for_each(pos, &client_list) {
			const struct client *client = container_of(pos, struct client, link);
			const unsigned int values[] = {
				client->account.lent, client_fair(client), client->min,
				client->max, client->weight,
			};

			client_name(client, name);
			snprintf(label, sizeof(label), "client=\"%s\"", name);
			metrics_sample(metrics, gauges[i].name, label, values[i]);
		}
	}
	status_gauge(metrics, "farswapd_sessions_half_open", "Sessions without HELLO",
		     client_nr_half_open());
}

static void status_write_metrics(const struct metrics *metrics)
{
	metrics_head(metrics, "farswapd_build_info", "info", "Version of farswapd");
	metrics_sample(metrics, "farswapd_build_info", "version=\"" FARSWAP_RELEASE "\"", 1);
	status_gauge(metrics, "farswapd_memory_bytes", "Memory that may be lent",
		     region_bytes() * region_total());
	status_gauge(metrics, "farswapd_held_bytes", "Memory taken from the machine",
		     region_present_bytes());
	status_gauge(metrics, "farswapd_free_bytes", "Memory that can still be lent",
		     region_free_bytes());
	status_gauge(metrics, "farswapd_headroom_bytes", "Memory left available to the machine",
		     reclaim_headroom());
	status_gauge(metrics, "farswapd_draining", "1 from farswapctl drain to undrain",
		     drain_state() != DRAIN_NOT);
	status_gauge(metrics, "farswapd_region_bytes", "Size of a region", region_bytes());
	status_metrics_regions(metrics);
	status_metrics_sessions(metrics);
	status_metrics_clients(metrics);
	stats_metrics(metrics);
}

void status_metrics(FILE *out)
{
	struct metrics metrics = { .out = out };

	status_write_metrics(&metrics);
}

void status_metrics_plain(FILE *out)
{
	struct metrics metrics = { .out = out, .plain = true };

	status_write_metrics(&metrics);
}
