/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What keeps a repeated plan from being acted on too often: a gain that is too
 * small, a decision that is not yet steady, a task that went to and fro. Pure
 * functions; time is counted in intervals.
 */
#ifndef NUMAPLACE_LIB_STEADY_H
#define NUMAPLACE_LIB_STEADY_H

#include <stdbool.h>
#include <stdint.h>

#include "../../policies/policy.h"

struct np_steady_rules {
	double min_gain;	/* expected speed-up from which a move is made, 0: whatever it is */
	unsigned int hysteresis;	/* intervals in a row whose plans must agree, >= 1 */
	unsigned int window;	/* A -> B -> A within so many intervals is a ping-pong */
	unsigned int back_off;	/* intervals that a task is then left alone; doubles each time */
};

/* Of one task; zeroed for a new one. */
struct np_steady {
	int to, pages_to, spread, nodes;	/* the decision that was seen last */
	unsigned int agreed;		/* intervals in a row whose plan made it */
	unsigned int judged_at;		/* interval */
	struct np_steady_move { int from, to; unsigned int at; } last[2];	/* [0]: the latest */
	unsigned int moves;
	unsigned int left_until;	/* interval before which it is left alone */
	unsigned int ping_pongs;	/* so far */
	bool tried;			/* this decision, and it left so many pages behind: */
	uint64_t behind;
};

enum np_verdict {
	NP_VERDICT_ACT,
	NP_VERDICT_SMALL_GAIN,
	NP_VERDICT_NOT_STEADY,
	NP_VERDICT_LEFT,		/* for the time of its back-off */
	NP_VERDICT_DONE,		/* tried already; nothing new to gain */
	NP_VERDICTS
};

/* Names for logs and counters: "act", "small_gain", .. */
extern const char *const np_verdict_name[NP_VERDICTS];

/*
 * Judges the decision that a plan made for a task with this many pages in the
 * interval now, and remembers it. Decisions that ask for nothing are not judged:
 * np_steady_rest() for those.
 */
enum np_verdict np_steady_judge(struct np_steady *s, const struct np_steady_rules *r,
				const struct np_decision *d, uint64_t pages, unsigned int now);
void np_steady_rest(struct np_steady *s);

/*
 * Notes that the decision was carried out and left so many pages behind. True
 * when that made A -> B -> A: the task is left alone until s->left_until.
 */
bool np_steady_moved(struct np_steady *s, const struct np_steady_rules *r,
		     const struct np_decision *d, uint64_t behind, unsigned int now);

/* Notes that it failed: left alone for the back-off. */
void np_steady_failed(struct np_steady *s, const struct np_steady_rules *r, unsigned int now);

#endif
