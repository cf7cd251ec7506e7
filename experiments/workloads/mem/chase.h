/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines that name the line to be loaded after them. */
#ifndef NP_CHASE_H
#define NP_CHASE_H

#include "kernel.h"
#include "random.h"

struct np_chase_line {
	struct np_chase_line *next;
	uint64_t stamp; /* handover: how often its owner has written it */
	char rest[NP_LINE - sizeof(struct np_chase_line *) - sizeof(uint64_t)];
};

/* Makes n lines one cycle, in random order. */
void np_chase_link(struct np_chase_line *line, size_t n, struct np_random *random);

/* Lines from the first of a cycle on that are met before it is met again; n where all are in it, else 0. */
size_t np_chase_lines(const struct np_chase_line *first, size_t n);

#endif
