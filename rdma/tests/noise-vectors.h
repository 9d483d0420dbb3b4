/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers that others have computed, in hexadecimal. The handshake is that of
 * Noise_IKpsk2_25519_ChaChaPoly_SHA256 in vectors/cacophony.txt of the Noise library cacophony,
 * which is in the public domain.
 */
static const struct {
	const char *prologue;
	const char *psk;
	const char *client;
	const char *client_ephemeral;
	const char *donor;
	const char *donor_ephemeral;
	const char *donor_public;
	const char *hash;
	/* Client and donor take turns. */
	struct {
		const char *payload;
		const char *sealed[4];
	} message[6];
} noise_vector = {
	.prologue = "4a6f686e2047616c74",
	.psk = "54686973206973206d7920417573747269616e20706572737065637469766521",
	.client = "e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1",
	.client_ephemeral = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a",
	.donor = "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893",
	.donor_ephemeral = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b",
	.donor_public = "31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62",
	.hash = "8310f86394dc0dabb40beb8210031556db4403ab1202db7034c526232147a700",
	.message = {
		{
			"4c756477696720766f6e204d69736573", {
				"ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944",
				"2ec9b09893d0f510791784c10cbc959f25b1766e0def6e301d14fbca1c7790ac",
				"829b8b3674f5f649a5f0e98479662cbfbf2b2c47cd4b09fcd266cd29d7cb675f",
				"1808849707847840f6d178ec4d3733aa",
			}
		}, {
			"4d757272617920526f746862617264", {
				"95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843",
				"9a1b3cebf680b2c74217fcb5eba4ff58a9468cd90c4aca6194f57479b379a7",
			}
		}, {
			"462e20412e20486179656b", {
				"a8fde7a0accec190cd306c5950d4fd8e04a205ec288aa747d8b347",
			}
		}, {
			"4361726c204d656e676572", {
				"59caddd9984a3bbe24c4fb31a2bd455b7eba3fa0980674b1a3a5f9",
			}
		}, {
			"4a65616e2d426170746973746520536179", {
				"3b9bfebd210c22ba0cff9de79b4007d7a552fffbf92616881faa8a883e25b802",
				"58",
			}
		}, {
			"457567656e2042f6686d20766f6e2042617765726b", {
				"f37512df1043d564d7c46ac85c53d3b6a9a05724bc297e7142808f2175616512",
				"17fe85b782",
			}
		},
	},
};

/* HMAC-SHA-256 of RFC 4231, cases 1 and 2: key, data, and the first half of the result. */
static const char *const noise_mac_vector[][3] = {
	{
		"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b000000000000000000000000",
		"4869205468657265",
		"b0344c61d8db38535ca8afceaf0bf12b",
	}, {
		"4a65666500000000000000000000000000000000000000000000000000000000",
		"7768617420646f2079612077616e7420666f72206e6f7468696e673f",
		"5bdcc146bf60754e6a042426089575c7",
	},
};

/* The points of Curve25519 whose product with any secret key is zero. */
static const char *const noise_low_order[] = {
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
	"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

/* tools/testing/unit/noise.py computes this from random handshakes, with arithmetic of its own. */
static const char noise_transcripts[] =
	"56b058076013e57f591a1342057ca79e3a629615a949fe95e799d566ae441f65";
