// SPDX-License-Identifier: GPL-2.0
/*
 * Keys as text: base64, 44 characters. A secret key has a prefix, so that it is not taken for a
 * public one. Neither branches nor table look-ups depend on a key.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "noise.h"

#define KEY	FARSWAP_NOISE_KEY_BYTES
#define CHARS	FARSWAP_NOISE_TEXT_CHARS

/* All ones if @from <= @c <= @to, otherwise 0. */
static int text_between(int c, int from, int to)
{
	return ~(((c - from) | (to - c)) >> 8);
}

/* Return the six bits of a character, or a negative number. */
static int text_value(int c)
{
	int value = -1;

	value += text_between(c, 'A', 'Z') & (c - 'A' + 1);
	value += text_between(c, 'a', 'z') & (c - 'a' + 26 + 1);
	value += text_between(c, '0', '9') & (c - '0' + 52 + 1);
	value += text_between(c, '+', '+') & (62 + 1);
	value += text_between(c, '/', '/') & (63 + 1);
	return value;
}

static char text_char(int value)
{
	return (text_between(value, 0, 25) & (value + 'A')) |
	       (text_between(value, 26, 51) & (value - 26 + 'a')) |
	       (text_between(value, 52, 61) & (value - 52 + '0')) |
	       (text_between(value, 62, 62) & '+') |
	       (text_between(value, 63, 63) & '/');
}

/**
 * farswap_noise_text() - print a key
 * @text:	the result, FARSWAP_NOISE_TEXT_CHARS and a zero
 * @key:	the key
 */
void farswap_noise_text(char *text, const __u8 *key)
{
	unsigned int bits = 0, nr_bits = 0, i, at = 0;

	for (i = 0; i < KEY; i++) {
		bits = bits << 8 | key[i];
		for (nr_bits += 8; nr_bits >= 6; nr_bits -= 6)
			text[at++] = text_char(bits >> (nr_bits - 6) & 63);
	}
	text[at++] = text_char(bits << (6 - nr_bits) & 63);
	text[at++] = '=';
	text[at] = '\0';
}

/**
 * farswap_noise_parse() - read a key
 * @key:	the result
 * @text:	the text, without a newline
 * @len:	its length
 *
 * Return: 0, or -EINVAL if it is not exactly what farswap_noise_text() prints.
 */
int farswap_noise_parse(__u8 *key, const char *text, size_t len)
{
	unsigned int bits = 0, nr_bits = 0, i, at = 0;
	int bad = 0;

	if (len != CHARS || text[CHARS - 1] != '=')
		return -EINVAL;
	for (i = 0; i < CHARS - 1; i++) {
		int value = text_value((unsigned char)text[i]);

		bad |= value;
		bits = bits << 6 | (value & 63);
		nr_bits += 6;
		if (nr_bits >= 8) {
			nr_bits -= 8;
			key[at++] = bits >> nr_bits;
		}
	}
	/* Two bits are left over, and are zero. */
	return bad < 0 || bits & 3 ? -EINVAL : 0;
}

/**
 * farswap_noise_parse_secret() - read a secret key
 * @key:	the result
 * @text:	FARSWAP_NOISE_SECRET_PREFIX and the key, with or without a newline
 * @len:	its length
 *
 * Return: 0 or -EINVAL.
 */
int farswap_noise_parse_secret(__u8 *key, const char *text, size_t len)
{
	const size_t prefix = FARSWAP_NOISE_SECRET_CHARS - CHARS;

	if (len == FARSWAP_NOISE_SECRET_CHARS + 1 && text[len - 1] == '\n')
		len--;
	if (len != FARSWAP_NOISE_SECRET_CHARS ||
	    memcmp(text, FARSWAP_NOISE_SECRET_PREFIX, prefix))
		return -EINVAL;
	return farswap_noise_parse(key, text + prefix, CHARS);
}
