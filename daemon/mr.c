// SPDX-License-Identifier: GPL-2.0
/*
 * Registers regions with the device. Separate from the pool so that the pool can be
 * tested without a device.
 */
#include <errno.h>
#include <infiniband/verbs.h>

#include "mem.h"

int mr_register(void *pd, void *addr, size_t bytes, uint64_t iova, void **out, uint32_t *rkey)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(pd, addr, bytes, iova, IBV_ACCESS_LOCAL_WRITE |
					    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);

	if (!mr)
		return errno ? -errno : -EIO;
	*out = mr;
	*rkey = mr->rkey;
	return 0;
}

int mr_unregister(void *mr)
{
	return -ibv_dereg_mr(mr);
}
