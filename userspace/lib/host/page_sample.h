/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The nodes of a large process's pages, by a sample of addresses. numa_maps walks
 * every page under the lock that mmap(2) needs, which takes seconds for a terabyte; this
 * takes the same few milliseconds for any size.
 */
#ifndef NUMAPLACE_LIB_PAGE_SAMPLE_H
#define NUMAPLACE_LIB_PAGE_SAMPLE_H

#include <sys/types.h>

#include "topology.h"

struct np_sampled {
	uint64_t *memory, *shm, *file; /* [n_nodes] added to: pages as in struct np_tasks */
	double error; /* of the share of memory on a node, at most: 95 % of samples are within it */
};

/* Resident pages of its own and of shared memory, from /proc/PID/status. 0: it has just exited. */
uint64_t np_sample_resident(pid_t pid, uint64_t page_size);

/*
 * 0; -ENODATA where too few of the addresses asked about have a page, so that numa_maps is
 * to be read; or another -errno.
 */
int np_sample_pages(pid_t pid, const struct np_machine *m, struct np_sampled *s);

#endif
