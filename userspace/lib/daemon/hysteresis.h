/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hysteresis: a decision is not carried out where its gain is too small, where too few plans
 * in a row made it, and after a ping-pong of its task. Pure functions;
 * time is counted in intervals.
 */
#ifndef NUMAPLACE_LIB_HYSTERESIS_H
#define NUMAPLACE_LIB_HYSTERESIS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../policies/policy.h"

/*
 * Target of a task and its pages in a plan, to be compared with that in a later plan. For a row
 * of the plan it has a hash of the nodes; 0: no row. How a spread is
 * divided among its nodes is no part of it: that shows in the pages that are to move.
 */
struct np_aim {
	int to, pages_to;
	uint64_t spread, nodes;
};

struct np_aim np_aim_of(const struct np_plan *plan, size_t n_nodes, size_t i);

struct np_hysteresis_rules {
	double min_gain;       /* expected speed-up from which a move is made, 0: whatever it is */
	unsigned int plans;    /* intervals in a row whose plans must agree, >= 1 */
	unsigned int window;   /* A -> B -> A within so many intervals is a ping-pong */
	unsigned int back_off; /* intervals that a task is then left alone; doubles each time */
};

/* Of one task; zeroed for a new one. */
struct np_hysteresis {
	struct np_aim aim;	/* of the decision that was seen last */
	unsigned int agreed;	/* intervals in a row whose plan made it */
	unsigned int judged_at; /* interval */
	struct np_hysteresis_move {
		int from, to;
		unsigned int at;
	} last[2]; /* [0]: the latest */
	unsigned int moves;
	unsigned int left_until; /* interval before which it is left alone */
	unsigned int ping_pongs; /* so far */
	bool tried;		 /* this decision, and it left so many pages behind: */
	uint64_t behind;
	struct np_aim refused;	/* that was taken back after its trial */
	uint64_t refused_among; /* np_hysteresis_among() of the tasks then; 0: none was */
};

enum np_hysteresis_result {
	NP_HYSTERESIS_ACT,
	NP_HYSTERESIS_SMALL_GAIN,
	NP_HYSTERESIS_NOT_STEADY,
	NP_HYSTERESIS_LEFT,	  /* for the time of its back-off */
	NP_HYSTERESIS_DONE,	  /* tried already; nothing new to gain */
	NP_HYSTERESIS_TAKEN_BACK, /* its trial was worse than none, and the tasks are the same */
	NP_HYSTERESIS_RESULTS
};

/* Names for logs and counters: "act", "small_gain", .. */
extern const char *const np_hysteresis_name[NP_HYSTERESIS_RESULTS];

/*
 * Judges the decision that a plan made, with this aim, for a task with this many pages
 * in the interval now, and remembers it. Decisions that ask for nothing are not judged:
 * np_hysteresis_rest() for those.
 */
enum np_hysteresis_result np_hysteresis_judge(struct np_hysteresis *s,
					      const struct np_hysteresis_rules *r,
					      const struct np_decision *d, const struct np_aim *aim,
					      uint64_t pages, unsigned int now);
void np_hysteresis_rest(struct np_hysteresis *s);

/*
 * Notes that the decision was carried out and left so many pages behind. True
 * when that made A -> B -> A: the task is left alone until s->left_until.
 */
bool np_hysteresis_moved(struct np_hysteresis *s, const struct np_hysteresis_rules *r,
			 const struct np_decision *d, uint64_t behind, unsigned int now);

/* Stands for a set of tasks: pids and start times, in any order. Never 0. */
uint64_t np_hysteresis_among(const struct np_task *tasks, const unsigned long long *start,
			     size_t n);

/* Notes that the decision was taken back after its trial, among these tasks. */
void np_hysteresis_taken_back(struct np_hysteresis *s, const struct np_aim *aim, uint64_t among);

/* Whether that was so of this decision, among the same tasks. */
bool np_hysteresis_is_refused(const struct np_hysteresis *s, const struct np_aim *aim,
			      uint64_t among);

/* Notes that it failed: left alone for the back-off. */
void np_hysteresis_failed(struct np_hysteresis *s, const struct np_hysteresis_rules *r,
			  unsigned int now);

#endif
