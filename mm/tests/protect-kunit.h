/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Protection of pages: whatever a donor returns in place of a page is recognised, no generation is
 * given twice, and the memory of the seals stays within its bound. With each cipher that this
 * machine has.
 */
#include <kunit/test.h>

#define PROTECT_TEST_SLOTS	1000U
/* A page of the tests; pages of packed slabs are smaller. */
#define PROTECT_TEST_BYTES	4096U
#define PROTECT_TEST_PACKED	512U

/**
 * struct protect_test - what a case works with
 * @protect:	the protection
 * @page:	a page as it was stored
 * @region:	what the region has
 * @other:	what another place of the region has
 * @read:	what is read from it
 */
struct protect_test {
	struct farswap_protect *protect;
	u8 page[PROTECT_TEST_BYTES];
	u8 region[PROTECT_TEST_BYTES];
	u8 other[PROTECT_TEST_BYTES];
	u8 read[PROTECT_TEST_BYTES];
};

static void protect_test_fill(u8 *to, u32 state)
{
	unsigned int i;

	for (i = 0; i < PROTECT_TEST_BYTES; i++) {
		state = state * 1664525 + 1013904223;
		to[i] = state >> 24;
	}
}

static bool protect_test_begin(struct protect_test *with, enum farswap_cipher_kind kind,
			       bool encrypt)
{
	struct farswap_cipher *cipher;
	u8 key[FARSWAP_CIPHER_KEY];

	memset(key, 7, sizeof(key));
	cipher = farswap_cipher_alloc(kind, key);
	if (IS_ERR(cipher))
		return false;
	with->protect = farswap_protect_alloc(cipher, PROTECT_TEST_SLOTS, encrypt);
	if (!with->protect)
		farswap_cipher_free(cipher);
	return with->protect;
}

/* Store a page; the region has it then. */
static int protect_test_store(struct protect_test *with, unsigned long page, u32 seed, u8 *region,
			      unsigned int bytes)
{
	protect_test_fill(with->page, seed);
	memcpy(region, with->page, bytes);
	return farswap_protect_store(with->protect, page, region, bytes);
}

/* Return whether what a region has is taken for the page. */
static bool protect_test_opens(struct protect_test *with, unsigned long page, const u8 *region,
			       unsigned int bytes)
{
	memcpy(with->read, region, bytes);
	return !farswap_protect_open(with->protect, page, with->read, bytes);
}

static void protect_test_tamper(struct kunit *test, struct protect_test *with, unsigned int bytes)
{
	bool encrypt = with->protect->encrypt;
	/* Without encryption the same contents are the same bytes, and so the right page. */
	u32 seed = encrypt ? 1 : 2;
	unsigned int at, taken = 0;

	KUNIT_EXPECT_EQ(test, protect_test_store(with, 5, 1, with->region, bytes), 0);
	KUNIT_EXPECT_TRUE_MSG(test, !memcmp(with->region, with->page, bytes) == !encrypt,
			      "the region has %s page", encrypt ? "not the" : "the");
	KUNIT_EXPECT_TRUE_MSG(test, protect_test_opens(with, 5, with->region, bytes) &&
			      !memcmp(with->read, with->page, bytes),
			      "the page comes back right");
	for (at = 0; at < bytes; at += bytes / 16 + 1) {
		with->region[at] ^= 1 << at % 8;
		taken += protect_test_opens(with, 5, with->region, bytes);
		with->region[at] ^= 1 << at % 8;
	}
	KUNIT_EXPECT_TRUE_MSG(test, !taken, "a flipped bit is noticed");
	memset(with->other, 0, bytes);
	KUNIT_EXPECT_TRUE_MSG(test, !protect_test_opens(with, 5, with->other, bytes),
			      "zeroes are noticed to be wrong");
	KUNIT_EXPECT_EQ(test, protect_test_store(with, 6, seed, with->other, bytes), 0);
	KUNIT_EXPECT_TRUE_MSG(test, !protect_test_opens(with, 5, with->other, bytes) &&
			      !protect_test_opens(with, 6, with->region, bytes) &&
			      protect_test_opens(with, 6, with->other, bytes),
			      "another slot's page is noticed%s",
			      encrypt ? ", also with the same contents" : "");
	KUNIT_EXPECT_EQ(test, protect_test_store(with, 5, seed, with->other, bytes), 0);
	KUNIT_EXPECT_TRUE_MSG(test, !protect_test_opens(with, 5, with->region, bytes) &&
			      protect_test_opens(with, 5, with->other, bytes),
			      "an old page is noticed%s",
			      encrypt ? ", also with the same contents" : "");
	KUNIT_EXPECT_TRUE_MSG(test, !encrypt || memcmp(with->region, with->other, bytes),
			      "no two stores of the same contents look the same");
}

/* A page has one place in its slab and another one in packed slabs. */
static void protect_test_packed(struct kunit *test, struct protect_test *with)
{
	unsigned long page = farswap_protect_page(with->protect, 5, true);

	KUNIT_EXPECT_EQ(test, protect_test_store(with, 5, 3, with->region, PROTECT_TEST_BYTES), 0);
	protect_test_tamper(test, with, PROTECT_TEST_PACKED);
	KUNIT_EXPECT_EQ(test, protect_test_store(with, page, 3, with->other, PROTECT_TEST_PACKED),
			0);
	KUNIT_EXPECT_TRUE_MSG(test, protect_test_opens(with, page, with->other,
						       PROTECT_TEST_PACKED) &&
			      !protect_test_opens(with, 5, with->other, PROTECT_TEST_PACKED),
			      "a packed page is not taken for one that is not packed");
}

static void protect_test_all(struct kunit *test, struct protect_test *with)
{
	enum farswap_cipher_kind kind;
	unsigned int encrypt;

	for (kind = 0; kind < FARSWAP_CIPHERS; kind++)
		for (encrypt = 0; encrypt < 2; encrypt++) {
			if (!protect_test_begin(with, kind, encrypt))
				continue;
			protect_test_tamper(test, with, PROTECT_TEST_BYTES);
			protect_test_packed(test, with);
			farswap_protect_free(with->protect);
		}
}

/* The size of the memory must not decide whether a seal is found. */
static void protect_test_bound(struct kunit *test, struct protect_test *with)
{
	struct farswap_protect *protect = with->protect;
	unsigned long last = protect->nr_pages * 2 - 1;

	KUNIT_EXPECT_TRUE_MSG(test, farswap_protect_take(protect, last) == 1 &&
			      !farswap_protect_take(protect, last + 1),
			      "a page past the end has no seal");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_protect_open(protect, last + 1, with->read,
							 PROTECT_TEST_BYTES) == -EBADMSG,
			      "nor is it read");
	KUNIT_EXPECT_EQ(test, atomic_read(&protect->nr_used), 1);
	KUNIT_EXPECT_TRUE_MSG(test, protect->seal_bytes ==
			      4 + farswap_cipher_tag_bytes(protect->cipher),
			      "a seal takes %u bytes for each page", protect->seal_bytes);
	KUNIT_EXPECT_LE(test, protect->seal_bytes * 1000 / PROTECT_TEST_BYTES, 4U);
}

/* No generation of a page is taken twice: not after its seals were freed, nor after the last. */
static void protect_test_generations(struct kunit *test, struct protect_test *with)
{
	struct farswap_protect *protect = with->protect;
	u32 first = farswap_protect_take(protect, 3), second = farswap_protect_take(protect, 3);

	KUNIT_EXPECT_TRUE_MSG(test, first && second == first + 1, "no generation is left out");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_protect_take(protect, 4) == first,
			      "each page has its own");
	farswap_protect_release(protect, 3);
	KUNIT_EXPECT_TRUE_MSG(test, !protect_find(protect, 3), "the memory was freed");
	KUNIT_EXPECT_TRUE_MSG(test, farswap_protect_take(protect, 3) > second &&
			      farswap_protect_take(protect, 4) > second,
			      "generations count on after the memory was freed");
	protect_find(protect, 3)->generation = U32_MAX - 1;
	KUNIT_EXPECT_TRUE_MSG(test, farswap_protect_take(protect, 3) == U32_MAX &&
			      !farswap_protect_take(protect, 3) &&
			      !farswap_protect_take(protect, 3),
			      "after the last generation a page is not sealed again");
	KUNIT_EXPECT_EQ(test, protect_test_store(with, 3, 1, with->region, PROTECT_TEST_BYTES),
			-ENOMEM);
	farswap_protect_release(protect, 3);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_protect_take(protect, 3),
			      "nor after the memory was freed");
}

/* A background run seals with a generation of its own, and records its tag only if it wins. */
static void protect_test_run(struct kunit *test, struct protect_test *with)
{
	struct farswap_protect *protect = with->protect;
	u8 *tag = with->other;
	u32 run;

	protect_test_fill(with->page, 1);
	memcpy(with->region, with->page, PROTECT_TEST_BYTES);
	run = farswap_protect_take(protect, 8);
	KUNIT_EXPECT_EQ(test, farswap_protect_seal(protect, 8, run, with->region,
						   PROTECT_TEST_BYTES, tag), 0);
	KUNIT_EXPECT_TRUE_MSG(test, !protect_test_opens(with, 8, with->region, PROTECT_TEST_BYTES),
			      "a tag that is not recorded does not count");
	farswap_protect_keep(protect, 8, tag);
	KUNIT_EXPECT_TRUE_MSG(test, protect_test_opens(with, 8, with->region, PROTECT_TEST_BYTES) &&
			      !memcmp(with->read, with->page, PROTECT_TEST_BYTES),
			      "the page of a run comes back right");

	run = farswap_protect_take(protect, 8);
	KUNIT_EXPECT_EQ(test, protect_test_store(with, 8, 2, with->region, PROTECT_TEST_BYTES), 0);
	memcpy(with->other, with->page, PROTECT_TEST_BYTES);
	KUNIT_EXPECT_EQ(test, farswap_protect_seal(protect, 8, run, with->other,
						   PROTECT_TEST_BYTES, with->read), 0);
	KUNIT_EXPECT_TRUE_MSG(test, protect_test_opens(with, 8, with->region, PROTECT_TEST_BYTES) &&
			      !protect_test_opens(with, 8, with->other, PROTECT_TEST_BYTES),
			      "the page of a store is right although a run has begun before it");
}

static void protect_test_with(struct kunit *test,
			      void (*one)(struct kunit *test, struct protect_test *with))
{
	struct protect_test *with = kzalloc(sizeof(*with), GFP_KERNEL);
	enum farswap_cipher_kind kind = FARSWAP_CIPHER_AES;

	if (!with)
		return;
	if (!protect_test_begin(with, kind, true))
		kind = FARSWAP_CIPHER_CHACHA;
	if (kind == FARSWAP_CIPHER_AES || protect_test_begin(with, kind, true)) {
		one(test, with);
		farswap_protect_free(with->protect);
	}
	kfree(with);
}

static void protect_test_whatever_a_donor_returns(struct kunit *test)
{
	struct protect_test *with = kzalloc(sizeof(*with), GFP_KERNEL);

	if (with)
		protect_test_all(test, with);
	kfree(with);
}

static void protect_test_nonces(struct kunit *test)
{
	protect_test_with(test, protect_test_generations);
	protect_test_with(test, protect_test_run);
	KUNIT_EXPECT_TRUE_MSG(test, protect_nonce(1, 2) != protect_nonce(2, 1) &&
			      protect_nonce(1, U32_MAX) != protect_nonce(2, 0) &&
			      protect_nonce(U32_MAX, 1) != protect_nonce(U32_MAX - 1, 1),
			      "each page and generation has a nonce of its own");
}

static void protect_test_memory(struct kunit *test)
{
	protect_test_with(test, protect_test_bound);
	KUNIT_EXPECT_TRUE_MSG(test, !farswap_protect_alloc(NULL, 1UL << 32, true),
			      "a device whose pages have no nonces is refused");
}

static struct kunit_case protect_cases[] = {
	KUNIT_CASE(protect_test_whatever_a_donor_returns),
	KUNIT_CASE(protect_test_nonces),
	KUNIT_CASE(protect_test_memory),
	{}
};

static struct kunit_suite protect_suite = {
	.name = "farswap_protect",
	.test_cases = protect_cases,
};

kunit_test_suite(protect_suite);
