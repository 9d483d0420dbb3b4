/* SPDX-License-Identifier: GPL-2.0 */
#include "../kernel.h"

#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)
