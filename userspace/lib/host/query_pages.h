/* SPDX-License-Identifier: GPL-2.0-only */
/* The node of every page, by move_pages(2) without target nodes. */
#ifndef NUMAPLACE_LIB_QUERY_PAGES_H
#define NUMAPLACE_LIB_QUERY_PAGES_H

#include "tasks.h"

/* Pages asked of in one call, at most. */
#define NP_QUERY_BATCH 4096

/*
 * Adds to pages [n_nodes] n pages of a process by their nodes: weight[i] base pages for the one at page[i], or
 * one where weight is NULL. One that is not there has no node. 0 or -errno.
 */
int np_query_batch(pid_t pid, size_t n, void **page, const uint32_t *weight,
		   const struct np_machine *m, uint64_t *pages);

/*
 * Replaces the pages of every task, its own and of shared memory, by the answers of
 * move_pages for each address that has one; the part of shared memory stays as it was read.
 * 0, or -errno with one line in err; a task that has just exited keeps its old pages.
 */
int np_query_pages(struct np_tasks *t, const struct np_machine *m, struct np_err *err);

#endif
