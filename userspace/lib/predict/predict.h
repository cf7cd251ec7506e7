/* SPDX-License-Identifier: GPL-2.0-only */
/* Predictions of each policy for the same tasks on the same machine. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_PREDICT_H
#define NUMAPLACE_LIB_PREDICT_H

#include "../../../policies/plan/plan.h"
#include "../host/tasks.h"

struct np_contender {
	const struct np_policy *policy;
	struct np_options options;
};

/* [0] before, [1] after the plan. Speeds are relative to a task's speed alone, all local. */
struct np_outcome {
	int error;		   /* of np_policy_plan(); the rest is 0 then */
	double throughput[2];	   /* sum of cores x speed */
	double fairness[2];	   /* the slowest task's speed */
	double locality[2];	   /* share of the pages on the node of their task */
	enum np_provenance source; /* of throughput and fairness */
	uint64_t pages_moved;
	double seconds;		  /* for moving them */
	bool acted;		  /* a task or a page changes its node */
	char fault[NP_FAULT_LEN]; /* of a program that is a policy; "": none */
};

/*
 * Gives every task the DRAM accesses by node that counters would show where it is
 * now, by m's model. 0 or -ENOMEM; the caller frees *accesses after the tasks' last use.
 */
int np_predict_counters(const struct np_machine *m, struct np_tasks *t, double **accesses);

/* Asks one policy about tasks on m, which has a model. */
struct np_outcome np_predict_policy(const struct np_contender *c, const struct np_machine *m,
				    const struct np_tasks *t);

/* Score of one policy over many cases, against the best placement known of each. */
struct np_score {
	unsigned int cases; /* in which it gave an answer */
	unsigned int whole; /* of those, for which every placement was tried */
	double sum, worst;  /* of its throughput / the best */
	unsigned int within_1_percent;
	unsigned int acted; /* cases in which it moved something */
	uint64_t pages_moved;
};

/* best: the highest throughput that is known for the case, at least o's; above 0. */
void np_score_add(struct np_score *s, const struct np_outcome *o, double best, bool whole);

#endif
