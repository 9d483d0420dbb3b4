/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compression of pages: what is decompressed is the page, nothing of this machine's memory is sent
 * with it, and garbage is recognised.
 */
#include <kunit/test.h>

#define COMPRESS_GARBAGE	0x5a

static struct page *compress_test_pages[3];

/* Fill a page with so many bytes that do not compress, and zeroes. */
static void compress_test_fill(struct page *page, unsigned int random)
{
	u8 *to = page_address(page);
	u32 state = 1;
	unsigned int i;

	memset(to, 0, PAGE_SIZE);
	for (i = 0; i < random; i++) {
		state = state * 1664525 + 1013904223;
		to[i] = state >> 24;
	}
}

static void compress_test_one(struct kunit *test, unsigned int random, unsigned int units)
{
	struct page *page = compress_test_pages[0], *packed = compress_test_pages[1];
	u8 *bytes_of = page_address(packed), *back = page_address(compress_test_pages[2]);
	unsigned int bytes, room, i, dirty = 0;

	compress_test_fill(page, random);
	memset(bytes_of, COMPRESS_GARBAGE, PAGE_SIZE);
	bytes = compress_to(page, packed);
	room = compress_room(bytes);
	KUNIT_EXPECT_TRUE_MSG(test, room == units * COMPRESS_UNIT,
			      "%u random bytes take %u units: %u bytes", random, units, bytes);
	if (!bytes)
		return;
	for (i = bytes; i < room; i++)
		dirty += bytes_of[i] != 0;
	KUNIT_EXPECT_TRUE_MSG(test, !dirty, "the rest of the last unit is zero");
	memcpy(back, bytes_of, room);
	KUNIT_EXPECT_TRUE_MSG(test, farswap_decompress(compress_test_pages[2], room) == bytes &&
			      !memcmp(back, page_address(page), PAGE_SIZE),
			      "the page comes back as it was");
	memcpy(back, bytes_of, room);
	put_unaligned_le16(bytes - 1, back);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_decompress(compress_test_pages[2], room),
			      "a page that was cut off is recognised");
	memcpy(back, bytes_of, room);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_decompress(compress_test_pages[2], bytes - 1),
			      "a page that is larger than its units is recognised");
	memset(back, 0xff, room);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_decompress(compress_test_pages[2], room),
			      "garbage is recognised");
	memset(back, 0, room);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_decompress(compress_test_pages[2], room),
			      "a page without a size is recognised");
}

static void compress_test_pages_of(struct kunit *test)
{
	unsigned int i;

	if (farswap_compress_init())
		return;
	for (i = 0; i < ARRAY_SIZE(compress_test_pages); i++)
		compress_test_pages[i] = alloc_page(GFP_KERNEL);
	if (compress_test_pages[0] && compress_test_pages[1] && compress_test_pages[2]) {
		compress_test_one(test, 0, 1);
		compress_test_one(test, 400, 1);
		compress_test_one(test, 900, 2);
		compress_test_one(test, 1900, 4);
		compress_test_one(test, 4096, 0);
	}
	for (i = 0; i < ARRAY_SIZE(compress_test_pages); i++)
		if (compress_test_pages[i])
			__free_page(compress_test_pages[i]);
}

static struct kunit_case compress_cases[] = {
	KUNIT_CASE(compress_test_pages_of),
	{}
};

static struct kunit_suite compress_suite = {
	.name = "farswap_compress",
	.test_cases = compress_cases,
};

kunit_test_suite(compress_suite);
