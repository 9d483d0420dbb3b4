/* SPDX-License-Identifier: GPL-2.0 */
#include "../kernel.h"

#define is_power_of_2(n)	((n) && !((n) & ((n) - 1)))
#define ilog2(n)		(fls64(n) - 1)
