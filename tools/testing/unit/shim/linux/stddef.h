/* SPDX-License-Identifier: GPL-2.0 */
#include_next <linux/stddef.h>
#include "../kernel.h"

#define sizeof_field(type, member)	sizeof(((type *)0)->member)
