/* SPDX-License-Identifier: GPL-2.0-only */
/* Moving the pages of a process to one node with move_pages(2). */
#ifndef NUMAPLACE_LIB_MOVE_PAGES_H
#define NUMAPLACE_LIB_MOVE_PAGES_H

#include "engine.h"

/*
 * Asks the kernel where the pages are, sends only those that must move, in
 * large calls (the call drains every CPU's page lists first), and asks again
 * afterwards: only pages seen on the target count as moved.
 */
int np_move_pages(const struct np_migrate_request *r, struct np_migrate_result *out,
		  struct np_err *err);

#endif
