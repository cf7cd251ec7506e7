/* SPDX-License-Identifier: GPL-2.0-only */
/* The decisions of a plan in JSON: of a plan file, and of a program's answer.
 * Documentation/reference/snapshot.md has the keys. */
#ifndef NUMAPLACE_LIB_DECISIONS_H
#define NUMAPLACE_LIB_DECISIONS_H

#include <jansson.h>

#include "../../../policies/plan/plan.h"
#include "../base/error.h"

/* The source of the decisions, for errors. */
struct np_decisions_from {
	const char *what; /* "plan f.json", "policy exec:./p.py" */
	bool limited; /* a node that its task may not use is an error, not to be taken out later */
};

/*
 * Sets plan->decision, which np_plan_begin() has filled, by "decisions" of root: each is about a
 * task with its pid, and a task without one stays. What a decision leaves out is as it was. 0, or
 * -errno with one line in err that says which decision and key is wrong, and why.
 */
int np_decisions_read(const struct np_decisions_from *from, const json_t *root,
		      const struct np_machine *m, const struct np_task *tasks, struct np_plan *plan,
		      struct np_err *err);

/* The decisions that np_plan_begin() has filled: every task stays. */
json_t *np_decisions_undecided(const struct np_machine *m, const struct np_task *tasks,
			       const struct np_plan *plan);

#endif
