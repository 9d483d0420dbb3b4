// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses: which are equal, which are in a range, and how ranges are written.
 */
#include "address.c"

#include "tap.h"

static struct sockaddr_storage storage[2];

static const struct sockaddr *address(const char *text, int i)
{
	struct address_range range;

	if (!address_parse_range(text, &range))
		ok(false, "%s is an address", text);
	storage[i] = range.address;
	/* Ports do not count. */
	((struct sockaddr_in *)&storage[i])->sin_port = i;
	return (struct sockaddr *)&storage[i];
}

static bool in(const char *text, const char *of)
{
	struct address_range range;

	if (!address_parse_range(of, &range))
		ok(false, "%s is a range", of);
	return address_in_range(address(text, 0), &range);
}

static bool equal(const char *a, const char *b)
{
	return address_equal(address(a, 0), address(b, 1));
}

int main(void)
{
	static const char *const wrong[] = {
		"", "/", "10.0.0", "10.0.0.1/33", "10.0.0.1/", "10.0.0.1/x", "10.0.0.1/8x",
		"10.0.0.1/-1", "::1/129", "host", "10.0.0.1:9400", "[::1]",
		"1111111111111111111111111111111111111111111111111111111111111111111/8",
	};
	struct address_range range;
	size_t i;

	ok(equal("10.0.0.1", "10.0.0.1") && equal("fe80::1", "fe80::1"), "equal");
	ok(!equal("10.0.0.1", "10.0.0.2") && !equal("fe80::1", "fe80::2") &&
	   !equal("10.0.0.1", "::1") && !equal("::1", "10.0.0.1"), "not equal");
	ok(in("10.0.0.1", "10.0.0.1") && !in("10.0.0.2", "10.0.0.1"), "a range of one");
	ok(in("10.1.2.3", "10.0.0.0/8") && !in("11.1.2.3", "10.0.0.0/8"), "whole bytes");
	ok(in("10.0.0.6", "10.0.0.5/30") && !in("10.0.0.8", "10.0.0.5/30"), "a part of a byte");
	ok(in("1.2.3.4", "0.0.0.0/0") && !in("::1", "0.0.0.0/0"), "all of a family");
	ok(in("2001:db8:1::5", "2001:db8:1::/47") && !in("2001:db8:2::5", "2001:db8:1::/47"),
	   "IPv6");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ok(!address_parse_range(wrong[i], &range), "\"%s\" is no range", wrong[i]);
	return tap_done();
}
