/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sealing of pages on their way to donors.
 */
#ifndef _FARSWAP_SEAL_H
#define _FARSWAP_SEAL_H

#include <linux/mm_types.h>

#include "internal.h"

enum farswap_stat farswap_seal(const struct farswap_slab *slab, struct folio *folio,
			       struct page *packed, unsigned int nr,
			       struct farswap_bounce **bounces);

#endif /* _FARSWAP_SEAL_H */
