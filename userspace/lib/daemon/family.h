/* SPDX-License-Identifier: GPL-2.0-only */
/* The descendants of a process, watched over time. */
#ifndef NUMAPLACE_LIB_FAMILY_H
#define NUMAPLACE_LIB_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hysteresis.h"

struct np_member {
	pid_t pid;
	unsigned long long start;	/* tells a reused pid */
	unsigned long long ticks;	/* of CPU time used at the last update */
	uint64_t anon;			/* pages in memory that no file backs */
	bool busy;			/* used a tenth of a CPU between two updates */
	double last_busy;		/* when; counts as busy for some seconds more (debounce) */
	struct np_tried tried;		/* the decision that was carried out for it last */
};

struct np_family {
	pid_t ancestor;			/* not a member itself */
	struct np_member *member;
	size_t n;
	double updated;			/* seconds, monotonic */
};

/* Finds the live descendants; what is known of earlier members is kept. 0 or -errno. */
int np_family_update(struct np_family *f);
void np_family_free(struct np_family *f);

struct np_member *np_family_find(const struct np_family *f, pid_t pid);

#endif
