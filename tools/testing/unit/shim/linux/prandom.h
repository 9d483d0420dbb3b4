/* SPDX-License-Identifier: GPL-2.0 */
#include "../kernel.h"

/* A sequence that is the same each time; which is no matter. */
struct rnd_state {
	u64 state;
};

static inline void prandom_seed_state(struct rnd_state *random, u64 seed)
{
	random->state = seed;
}

static inline u32 prandom_u32_state(struct rnd_state *random)
{
	random->state = random->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return random->state >> 33;
}
