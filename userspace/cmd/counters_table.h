/* SPDX-License-Identifier: GPL-2.0-only */
/* The counts of an interval, as a table or, with np_json, as JSON. */
#ifndef NUMAPLACE_COUNTERS_TABLE_H
#define NUMAPLACE_COUNTERS_TABLE_H

#include <stdbool.h>

#include "../lib/counters/counters.h"

struct np_counters_row {
	const char *scope;	/* "task", "cpu", "node", "all" */
	int id;			/* pid, CPU or the kernel's node number; -1: none */
	char name[NP_COMM_LEN]; /* of a task */
	int node;		/* that it is on, the kernel's number; -1: several */
	struct np_reading r;	/* a difference */
};

struct np_counters_table {
	bool user_only;	      /* said once, in a note */
	bool begun;	      /* the header is out */
	const char *said[32]; /* notes that were given */
	size_t n_said;
};

/* The header, or an object without rows. Without this call the header comes with the first rows. */
void np_counters_table_begin(struct np_counters_table *rows);

/* Prints n rows of the interval that ended seconds after the beginning. */
void np_counters_table_print(struct np_counters_table *rows, double seconds,
			     const struct np_counters_row *row, size_t n);

/* Prints the event names as a Markdown table: `numaplace counters --table`. */
void np_counters_table_print_table(void);

#endif
