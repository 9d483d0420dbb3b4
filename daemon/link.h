/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CM ids, and whether the CM can send messages for them.
 */
#ifndef LINK_H
#define LINK_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

void link_init(void);
/* Is the port of @id up, and is there a route to its peer? */
bool link_is_up(struct rdma_cm_id *id);
/* Destroy @id as soon as its link is up. Its context is no longer used. */
void link_destroy_id(struct rdma_cm_id *id);
/* Number of ids that wait for their link. */
unsigned int link_waiting(void);

#endif
