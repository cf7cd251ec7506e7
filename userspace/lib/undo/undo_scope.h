/* SPDX-License-Identifier: GPL-2.0-only */
/* Which placements are to be undone. */
#ifndef NUMAPLACE_LIB_UNDO_SCOPE_H
#define NUMAPLACE_LIB_UNDO_SCOPE_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

/* All placements where n is 0 and by is NULL. */
struct np_whose {
	const pid_t *pids; /* [n] ascending: these processes' (or threads') */
	size_t n;
	const char *by; /* np_saved.by: also what this program has placed by system calls */
};

#define NP_EVERYBODY	  (&(struct np_whose) { 0 })
#define NP_WHOSE(pid_ptr) (&(struct np_whose) { .pids = (pid_ptr), .n = 1 })

/* Of np_whose.pids, for qsort(3) and bsearch(3). */
static inline int np_whose_order(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static inline bool np_whose_all(const struct np_whose *w)
{
	return !w->n && !w->by;
}

static inline bool np_whose_has(const struct np_whose *w, pid_t pid)
{
	return w->n && bsearch(&pid, w->pids, w->n, sizeof(pid), np_whose_order);
}

#endif
