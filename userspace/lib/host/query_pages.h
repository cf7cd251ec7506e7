/* SPDX-License-Identifier: GPL-2.0-only */
/* The node of every page, by move_pages(2) without target nodes. */
#ifndef NUMAPLACE_LIB_QUERY_PAGES_H
#define NUMAPLACE_LIB_QUERY_PAGES_H

#include "tasks.h"

/*
 * Replaces the pages of every task, its own and of shared memory, by the answers of
 * move_pages for each address that has one; the part of shared memory stays as it was read.
 * 0, or -errno with one line in err; a task that has just exited keeps its old pages.
 */
int np_query_pages(struct np_tasks *t, const struct np_machine *m, struct np_err *err);

#endif
