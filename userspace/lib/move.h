/* SPDX-License-Identifier: GPL-2.0-only */
/* Moving the pages of a process with move_pages(2). */
#ifndef NUMAPLACE_LIB_MOVE_H
#define NUMAPLACE_LIB_MOVE_H

#include "control.h"

/*
 * Asks the kernel where the pages are, sends only those that must move, in
 * large calls (the call drains every CPU's page lists first), and asks again
 * afterwards: only pages seen on the target count as moved.
 */
int np_move_pages(const struct np_migrate_request *r, struct np_migrate_result *out,
		  char *err, size_t err_len);

/*
 * How far one move_pages(2) call got, from the statuses it stored; those it
 * did not store hold NP_STATUS_UNSET. A call that fails to move a page stops
 * there: returns how many of the n pages were tried, at least 1.
 */
#define NP_STATUS_UNSET (-4096)
size_t np_move_tried(const int *status, size_t n);

/* Adds weight to the count that a refused page's -errno stands for. */
void np_move_count(struct np_migrate_result *out, int error, uint64_t weight);

#endif
