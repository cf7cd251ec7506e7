/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which misses a prefetcher would have foreseen: those that continue one of
 * the last few sequences of equal steps within a page or so.
 */
#ifndef NP_STREAM_H
#define NP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#define NP_STREAMS	   16
#define NP_STREAM_REACH	   32	/* longest step, in lines */
#define NP_STREAM_TRAINING 2	/* equal steps after which the next is foreseen */

struct np_stream {
	uint64_t last;		/* line */
	int32_t step;
	uint32_t equal;		/* steps so far */
	uint64_t used;
};

struct np_streams {
	uint64_t clock;
	struct np_stream stream[NP_STREAMS];
};

/* A line was missed; returns whether it was foreseen. */
static inline bool np_stream_miss(struct np_streams *all, uint64_t line)
{
	struct np_stream *oldest = &all->stream[0];

	all->clock++;
	for (struct np_stream *s = all->stream; s < all->stream + NP_STREAMS; s++) {
		int64_t step = (int64_t)(line - s->last);

		if (s->used < oldest->used)
			oldest = s;
		if (!s->used || step > NP_STREAM_REACH || step < -NP_STREAM_REACH)
			continue;
		s->used = all->clock;
		if (!step)
			return s->equal >= NP_STREAM_TRAINING;
		s->equal = step == s->step ? s->equal + 1 : 0;
		s->step = step;
		s->last = line;
		return s->equal >= NP_STREAM_TRAINING;
	}
	*oldest = (struct np_stream){ .last = line, .used = all->clock };
	return false;
}

#endif
