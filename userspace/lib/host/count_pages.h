/* SPDX-License-Identifier: GPL-2.0-only */
/* The nodes of a process's pages, counted: all of its numa_maps. */
#ifndef NUMAPLACE_LIB_COUNT_PAGES_H
#define NUMAPLACE_LIB_COUNT_PAGES_H

#include "numa_maps.h"
#include "topology.h"

struct np_counted {
	uint64_t *memory, *shm, *file; /* [n_nodes] added to: pages as in struct np_tasks */
	uint64_t chosen; /* among shm: pages of mappings with a memory policy of their own */
	char policy[NP_MAPPING_POLICY]; /* of the task */
};

/* 0, or -errno as np_mappings(), -ENOMEM; what has been counted until then is added. */
int np_count_pages(pid_t pid, const struct np_machine *m, struct np_counted *counted);

#endif
