/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks as a table for ps and top: selection, order, lines of text. */
#ifndef NUMAPLACE_TASK_TABLE_H
#define NUMAPLACE_TASK_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "../lib/base/error.h"
#include "../lib/host/tasks.h"
#include "../lib/host/topology.h"

enum np_sort {
	NP_SORT_COST,
	NP_SORT_BUSY,
	NP_SORT_REMOTE,
	NP_SORT_MPKI,
	NP_SORT_PENALTY,
	NP_SORT_LOCAL,
	NP_SORT_PAGES,
	NP_SORT_PID,
};

#define NP_COLUMNS 16
/* On a machine with more nodes than these there is not a column for each, nor a line in top. */
#define NP_VIEW_NODES 8

/*
 * Bytes: more than these are sampled by ps and top. numa_maps took 0.08 s a GiB of small pages on a
 * VM.
 */
#define NP_VIEW_SAMPLE_ABOVE (8ull << 30)

struct np_task_table {
	const struct np_machine *m;
	const struct np_tasks *t;
	enum np_sort sort;
	const char *comm; /* only names that hold this text; NULL: all */
	int node;	  /* only tasks that run there or have pages there; -1: all */
	bool busy;	  /* only those that ran */
	unsigned char column[NP_COLUMNS]; /* [n_columns] that np_arg_columns() chose; 0: all */
	size_t n_columns;
	size_t *row; /* [n] indices of t's tasks, in order */
	size_t n;
};

/* "cost", "busy", ..: 0, or ECANCELED after printing the error. */
int np_arg_sort(const char *word, enum np_sort *sort);
const char *np_sort_name(enum np_sort sort); /* NULL past the last */

/* Fills row and n; 0 or -ENOMEM. */
int np_task_table_arrange(struct np_task_table *v);
void np_task_table_free(struct np_task_table *v);

/* "pid,busy,..": 0, or ECANCELED after printing the error. */
int np_arg_columns(const char *words, struct np_task_table *v);

/*
 * Lines without a newline, cut to len; columns that do not fit are left out from the
 * right. The heading returns how many.
 */
size_t np_task_table_heading(const struct np_task_table *v, char *line, size_t len);
void np_task_table_line(const struct np_task_table *v, size_t row, char *line, size_t len);

#endif
