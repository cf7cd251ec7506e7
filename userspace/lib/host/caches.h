/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs' caches, from sysfs. */
#ifndef NUMAPLACE_LIB_CACHES_H
#define NUMAPLACE_LIB_CACHES_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology.h"

struct np_cache {
	unsigned int level;
	char type[16];	      /* "Data", "Instruction", "Unified" */
	uint64_t size;	      /* bytes */
	struct bitmask *cpus; /* that share it */
	unsigned int n_cpus;
	bool one_core; /* they are those of a cache of level 1 */
};

/*
 * Every cache of m's CPUs once, in the order of level, then lowest CPU. *n is 0
 * where sysfs tells nothing (some virtual machines). 0 or -ENOMEM.
 */
int np_caches_read(const struct np_machine *m, const char *root, struct np_cache **caches,
		   size_t *n);

/*
 * For printed lists: how many caches are like caches[i], a core's own
 * of the same level, type, size and number of CPUs, with the CPUs of all of them in
 * all; 0 when an earlier one stands for them. A cache that cores share is 1.
 */
size_t np_caches_alike(const struct np_cache *caches, size_t n, size_t i, struct bitmask *all);
void np_caches_free(struct np_cache *caches, size_t n);

#endif
