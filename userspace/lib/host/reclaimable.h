/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that a node can give to pages that come to it. */
#ifndef NUMAPLACE_LIB_RECLAIMABLE_H
#define NUMAPLACE_LIB_RECLAIMABLE_H

#include "topology.h"

/*
 * Adds to each node's mem_free what holds only clean file cache: the kernel
 * drops that for pages that move in, and on a machine that has run for a while
 * hardly anything is free otherwise.
 */
void np_reclaimable_add(struct np_machine *m);

/* The bytes of clean file cache that a node's meminfo speaks of. */
uint64_t np_reclaimable_cache(const char *meminfo);

#endif
