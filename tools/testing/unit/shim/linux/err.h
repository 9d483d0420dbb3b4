/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_ERR_H
#define SHIM_LINUX_ERR_H

#include "../kernel.h"

#define ERR_PTR(error)	((void *)(long)(error))
#define IS_ERR(p)	((unsigned long)(p) >= (unsigned long)-4095)

#endif
