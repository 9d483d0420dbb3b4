/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_RCUPDATE_H
#define SHIM_LINUX_RCUPDATE_H

#include "../kernel.h"

#define rcu_read_lock()			((void)0)
#define rcu_read_unlock()		((void)0)
#define kfree_rcu_mightsleep(p)		kfree(p)

#endif
