/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses: valid ones and their values, and invalid ones.
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/in6.h>

struct address_test_v4 {
	const char *written;
	u32 host;
	u16 port;
};

struct address_test_v6 {
	const char *written;
	u8 host[16];
	u32 scope;
	u16 port;
};

/* Unused bytes are zero: addresses are compared as bytes. */
static void address_test_parsed(struct kunit *test, const char *written, const void *wanted,
				size_t bytes)
{
	struct sockaddr_storage read, whole = {};
	int err;

	memcpy(&whole, wanted, bytes);
	memset(&read, 0xff, sizeof(read));
	err = farswap_address_parse(written, &read);
	KUNIT_EXPECT_EQ_MSG(test, err, 0, "\"%s\" is an address", written);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(&read, &whole, sizeof(whole)), 0,
			    "\"%s\" is read as it is written", written);
}

static void address_test_ipv4(struct kunit *test)
{
	static const struct address_test_v4 good[] = {
		{ "10.0.0.2", 0x0a000002, 9400 },
		{ "10.0.0.2:9400", 0x0a000002, 9400 },
		{ "10.0.0.2:1", 0x0a000002, 1 },
		{ "255.255.255.255:65535", 0xffffffff, 65535 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		struct sockaddr_in wanted = {
			.sin_family = AF_INET,
			.sin_port = htons(good[i].port),
			.sin_addr.s_addr = htonl(good[i].host),
		};

		address_test_parsed(test, good[i].written, &wanted, sizeof(wanted));
	}
}

static void address_test_ipv6(struct kunit *test)
{
	static const struct address_test_v6 good[] = {
		{ "fd00::2", { 0xfd, [15] = 2 }, 0, 9400 },
		{ "[fd00::2]", { 0xfd, [15] = 2 }, 0, 9400 },
		{ "[fd00:0:0::2]:9400", { 0xfd, [15] = 2 }, 0, 9400 },
		{ "[fd00::2]:65535", { 0xfd, [15] = 2 }, 0, 65535 },
		{ "::1", { [15] = 1 }, 0, 9400 },
		{ "fd00:1:2:3:4:5:6:7",
		  { 0xfd, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7 }, 0, 9400 },
		{ "::ffff:10.0.0.2", { [10] = 0xff, 0xff, 10, 0, 0, 2 }, 0, 9400 },
		{ "[1111:1111:1111:1111:1111:1111:17.17.17.117]:65535",
		  { [0 ... 14] = 0x11, [15] = 117 }, 0, 65535 },
		{ "fe80::2%7", { 0xfe, 0x80, [15] = 2 }, 7, 9400 },
		{ "[fe80::2%7]:9401", { 0xfe, 0x80, [15] = 2 }, 7, 9401 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		struct sockaddr_in6 wanted = {
			.sin6_family = AF_INET6,
			.sin6_port = htons(good[i].port),
			.sin6_scope_id = good[i].scope,
		};

		memcpy(&wanted.sin6_addr, good[i].host, sizeof(good[i].host));
		address_test_parsed(test, good[i].written, &wanted, sizeof(wanted));
	}
}

static void address_test_refused(struct kunit *test)
{
	static const char *const bad[] = {
		"", " ", "donor1", "donor1:9400", "10.0.0", "10.0.0.256", "10.0.0.2.3",
		" 10.0.0.2", "10.0.0.2 ", ":9400", "fd00:2", "fd00:::2", "fd00::2::3",
		"fd00::12345", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "fe80::2%no-such-link",
		/* Ports */
		"10.0.0.2:", "10.0.0.2:0", "10.0.0.2:00", "10.0.0.2:65536", "10.0.0.2:010",
		"10.0.0.2:0x24b8", "10.0.0.2:+1", "10.0.0.2:-1", "10.0.0.2:94x", "10.0.0.2: 1",
		"[fd00::2]:", "[fd00::2]:0", "[fd00::2]:00", "[fd00::2]:65536",
		/* More than one colon makes an IPv6 address. */
		"10.0.0.2:9400:1", "10.0.0.2::", "10.0.0.2:9400:",
		/* Brackets are for IPv6. */
		"[]", "[]:9400", "[", "[fd00::2", "fd00::2]", "[fd00::2]9400", "[[fd00::2]]",
		"[10.0.0.2]", "[10.0.0.2]:9400",
	};
	struct sockaddr_storage read;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, farswap_address_parse(bad[i], &read), -EINVAL,
				    "\"%s\" is no address", bad[i]);
}

/* Longer than any address and than the buffer. */
static void address_test_long(struct kunit *test)
{
	char written[2 * ADDRESS_BYTES] = "10.0.0.2:";
	struct sockaddr_storage read;
	size_t length = strlen(written);

	while (length < sizeof(written) - 1) {
		written[length++] = '1';
		if (length > strlen("10.0.0.2:11111"))
			KUNIT_EXPECT_EQ_MSG(test, farswap_address_parse(written, &read), -EINVAL,
					    "%zu bytes are no address", length);
	}
}

static struct kunit_case address_cases[] = {
	KUNIT_CASE(address_test_ipv4),
	KUNIT_CASE(address_test_ipv6),
	KUNIT_CASE(address_test_refused),
	KUNIT_CASE(address_test_long),
	{}
};

static struct kunit_suite address_suite = {
	.name		= "farswap_address",
	.test_cases	= address_cases,
};

kunit_test_suite(address_suite);
