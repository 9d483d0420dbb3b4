// SPDX-License-Identifier: GPL-2.0
/*
 * Writes JSON. The output is ASCII: each byte above 127 becomes a character of Latin-1, so
 * text of any encoding, such as a line of the kernel's log, gives valid JSON.
 */
#include <inttypes.h>

#include "json.h"

void json_init(struct json *json, FILE *out)
{
	*json = (struct json){ .out = out };
}

static void json_text(struct json *json, const char *text)
{
	putc('"', json->out);
	for (; *text; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\')
			fprintf(json->out, "\\%c", c);
		else if (c < ' ' || c > '~')
			fprintf(json->out, "\\u%04x", c);
		else
			putc(c, json->out);
	}
	putc('"', json->out);
}

static void json_key(struct json *json, const char *key)
{
	if (json->has_entry[json->depth])
		putc(',', json->out);
	json->has_entry[json->depth] = true;
	if (key) {
		json_text(json, key);
		putc(':', json->out);
	}
}

static void json_begin(struct json *json, const char *key, char open, char close)
{
	json_key(json, key);
	putc(open, json->out);
	/* Deeper levels would have no commas. */
	if (json->depth + 1 < JSON_DEPTH)
		json->depth++;
	json->has_entry[json->depth] = false;
	json->close[json->depth] = close;
}

void json_object(struct json *json, const char *key)
{
	json_begin(json, key, '{', '}');
}

void json_array(struct json *json, const char *key)
{
	json_begin(json, key, '[', ']');
}

void json_end(struct json *json)
{
	putc(json->close[json->depth], json->out);
	if (!--json->depth)
		putc('\n', json->out);
}

void json_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_text(json, value);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
	json_key(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	json_raw(json, key, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
	json_raw(json, key, "null");
}

void json_raw(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	fputs(value, json->out);
}
