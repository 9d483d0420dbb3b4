/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writes JSON: an object or an array at a time, with commas and escapes.
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH	8

struct json {
	FILE *out;
	unsigned int depth;
	bool has_entry[JSON_DEPTH];	/* something was written at this depth */
	char close[JSON_DEPTH];
};

void json_init(struct json *json, FILE *out);
/* In an array, and at the top, @key is NULL. */
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
/* End the innermost object or array. At the top a newline follows. */
void json_end(struct json *json);
void json_string(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/* @value is JSON already. */
void json_raw(struct json *json, const char *key, const char *value);

#endif
