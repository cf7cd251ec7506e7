/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rounds of a repeated string instruction. QEMU makes up to 65,536 of them
 * in one execution, of which the plugin sees only the accesses to memory.
 */
#ifndef NP_ROUNDS_H
#define NP_ROUNDS_H

#include <stdbool.h>

struct np_rounds {
	unsigned int left; /* accesses that belong to the round that was counted last */
};

/* The instruction is entered: its first round is counted with the block. */
static inline void np_rounds_begin(struct np_rounds *r, unsigned int accesses)
{
	r->left = accesses;
}

/* An access: true if a round begins with it that nothing has counted yet. */
static inline bool np_rounds_next(struct np_rounds *r, unsigned int accesses)
{
	bool another = !r->left;

	if (another)
		r->left = accesses;
	r->left--;
	return another;
}

#endif
