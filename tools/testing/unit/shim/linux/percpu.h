/* SPDX-License-Identifier: GPL-2.0 */
#include "../kernel.h"

#define __percpu
#define this_cpu_inc(x)		((x)++)
#define per_cpu_ptr(p, cpu)	((void)(cpu), (p))
#define alloc_percpu(type)	((type *)kvzalloc(sizeof(type), GFP_KERNEL))
#define free_percpu(p)		kvfree(p)
