/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The nodes of tasks' pages from before numaplace first moved them, in a file,
 * so that `restore --pages` can bring them back after the tool is gone.
 */
#ifndef NUMAPLACE_LIB_SAVED_PAGES_H
#define NUMAPLACE_LIB_SAVED_PAGES_H

#include <signal.h>

#include "../engine/move_range.h"
#include "../host/tasks.h"

/*
 * Notes the pages of the tasks that wanted() is true for and that have no
 * record yet: the first is what counts. *added[i] is set for those that were
 * added. 0, or -errno with one line in err.
 */
int np_saved_pages_add(const struct np_machine *m, const struct np_tasks *t,
		       bool (*wanted)(size_t i, const void *arg), const void *arg, bool *added,
		       struct np_err *err);

/* Forgets the tasks that drop[i] is set for, when their pages are back already. */
int np_saved_pages_drop(const struct np_tasks *t, const bool *drop, struct np_err *err);

struct np_pages_back {
	size_t tasks;		 /* whose pages were brought back or checked */
	uint64_t moved, missing; /* pages; those that would not go back */
};

/*
 * Brings the pages of these n tasks (pids NULL: of every task with a record) back and
 * forgets them. Stops when *stop is set, with -EINTR: the rest keeps its record.
 * 0, or -errno with one line in err: the first error. One whose pages cannot go back keeps its record.
 */
int np_saved_pages_restore(const struct np_machine *m, const pid_t *pids, size_t n,
			   const struct np_mover *mover, const volatile sig_atomic_t *stop,
			   struct np_pages_back *back, struct np_err *err);

#endif
