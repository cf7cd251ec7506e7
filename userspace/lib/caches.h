/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs' caches, from sysfs. */
#ifndef NUMAPLACE_LIB_CACHES_H
#define NUMAPLACE_LIB_CACHES_H

#include <numa.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

struct np_cache {
	unsigned int level;
	char type[16];		/* "Data", "Instruction", "Unified" */
	uint64_t size;		/* bytes */
	struct bitmask *cpus;	/* that share it */
};

/*
 * Every cache of m's CPUs once, in the order of level, then lowest CPU. *n is 0
 * where sysfs tells nothing (some virtual machines). 0 or -ENOMEM.
 */
int np_caches_read(const struct np_machine *m, const char *root, struct np_cache **caches,
		   size_t *n);
void np_caches_free(struct np_cache *caches, size_t n);

#endif
