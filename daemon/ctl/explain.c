// SPDX-License-Identifier: GPL-2.0
/*
 * Explains the counters of the kernel module, in the words of the admin guide.
 */
#include <string.h>

#include "client.h"

static const struct explain explain_counters[] = {
#include "counters.inc"
};

const struct explain *explain_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(explain_counters); i++)
		if (!strcmp(explain_counters[i].name, name))
			return &explain_counters[i];
	return NULL;
}

static void explain_json(struct json *json, const struct explain *explain)
{
	json_object(json, NULL);
	json_string(json, "name", explain->name);
	json_string(json, "kind", explain->is_gauge ? "gauge" : "counter");
	json_string(json, "text", explain->text);
	json_end(json);
}

int cmd_explain(char **args, unsigned int nr)
{
	bool all = !strcmp(args[0], "all");
	const struct explain *only = explain_find(args[0]);
	struct json json;
	unsigned int i;

	(void)nr;
	if (!all && !only)
		ctl_fail(CTL_UNKNOWN, "unknown counter '%s'; farswapctl explain all shows them",
			 args[0]);
	json_init(&json, stdout);
	if (ctl.json)
		json_array(&json, NULL);
	for (i = 0; i < ARRAY_SIZE(explain_counters); i++) {
		const struct explain *explain = &explain_counters[i];

		if (!all && explain != only)
			continue;
		if (ctl.json)
			explain_json(&json, explain);
		else
			printf("%s: %s, %s\n", explain->name,
			       explain->is_gauge ? "gauge" : "counter", explain->text);
	}
	if (ctl.json)
		json_end(&json);
	return CTL_OK;
}
