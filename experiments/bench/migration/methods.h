/* SPDX-License-Identifier: GPL-2.0-only */
/* The ways to move a process's pages that are compared. */
#ifndef NP_MIGRATION_METHODS_H
#define NP_MIGRATION_METHODS_H

#include <stdint.h>

#include "target.h"

struct moved {
	uint64_t ns;		      /* as the caller sees it */
	uint64_t own_ns;	      /* as the method says; 0: it does not */
	uint64_t longest_unmapped_us; /* likewise */
};

/* Of the module. 0: its default. */
struct options {
	const char *text;
	unsigned int threads, max_stall_us;
};

/* "threads=N max_stall_us=N". 0, or -1: there is something else. */
int parse_options(const char *text, struct options *o);

struct method {
	const char *name;
	/* Returns 0, or -errno with one line on stderr. */
	int (*move)(const struct target *t, int to, const struct options *o, struct moved *out);
};

/* Ends with a name of NULL. */
extern const struct method methods[];

/* How many of its pages are on a node now, or -errno. */
long pages_on(const struct target *t, int node);

#endif
