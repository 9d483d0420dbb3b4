/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_STRING_H
#define SHIM_LINUX_STRING_H
#include_next <linux/string.h>
#include "../kernel.h"

static inline void *memchr_inv(const void *start, int c, size_t bytes)
{
	const unsigned char *p = start;

	for (; bytes; p++, bytes--)
		if (*p != (unsigned char)c)
			return (void *)p;
	return NULL;
}

/* Its length, or less than 0 if it is cut off. */
static inline ssize_t strscpy(char *to, const char *from, size_t bytes)
{
	size_t length = strnlen(from, bytes);

	if (length == bytes)
		return -E2BIG;
	memcpy(to, from, length + 1);
	return length;
}

#endif
