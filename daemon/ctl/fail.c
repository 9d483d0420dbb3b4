// SPDX-License-Identifier: GPL-2.0
/*
 * Parses the options, and ends the program with an error message or after flushing its output.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

struct ctl_options ctl = { .psi = -1 };

void ctl_fail(enum ctl_status status, const char *fmt, ...)
{
	char text[1024];
	struct json json;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "farswapctl: %s\n", text);
	if (ctl.json) {
		json_init(&json, stdout);
		json_object(&json, NULL);
		json_string(&json, "error", text);
		json_end(&json);
	}
	exit(status);
}

int ctl_done(enum ctl_status status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "farswapctl: cannot write: %s\n", strerror(errno));
	return CTL_UNKNOWN;
}
