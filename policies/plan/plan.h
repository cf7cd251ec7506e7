/* SPDX-License-Identifier: GPL-2.0-only */
/* Asking a policy: the table of policies, their options, and the plan that comes of it. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_PLAN_H
#define NUMAPLACE_PLAN_H

#include "../policy.h"

/* The built-in policies, NULL-terminated. */
extern const struct np_policy *const np_policies[];

/* The built-in policy of that name, or NULL. */
const struct np_policy *np_policy_find(const char *name);

/* Number of options in p's table. */
size_t np_options_count(const struct np_policy *p);

/* Sets every option to its default. p->option may be NULL. */
void np_options_defaults(const struct np_policy *p, struct np_options *o);

/*
 * Sets one option from "name=value". Returns 0, or -EINVAL with a one-line
 * explanation in err (which lists the right names or the right range).
 */
int np_options_set(const struct np_policy *p, struct np_options *o, const char *assignment,
		   char *err, size_t err_len);

/*
 * The value of option i as the user would write it: "0.05", "on", "follow".
 * Returns text.
 */
const char *np_option_text(const struct np_option *option, double value, char *text,
			   size_t text_len);

/* Room for n decisions on machine m. 0 or -ENOMEM. Release it with np_plan_free(). */
int np_plan_init(struct np_plan *plan, const struct np_machine *m, size_t n);
void np_plan_free(struct np_plan *plan);

/*
 * Runs p->plan after checking that machine, tasks and options make sense, then
 * checks its answer, takes out what cpusets forbid and adds the consequences: the pages
 * that go to each node, so that no node gets more than it has room for, cost and gain.
 * out comes from np_plan_init() for the same m and n and may be used again. Returns 0,
 * -EINVAL (machine or tasks), -ENOMEM, -EOPNOTSUPP (an input that the policy needs is
 * missing), -EPROTO (the policy's answer breaks the rules of policy.h) or -EREMOTEIO (a
 * program that is a policy failed; out->fault says how).
 */
int np_policy_plan(const struct np_policy *p, const struct np_machine *m,
		   const struct np_task *tasks, size_t n, const struct np_options *o,
		   struct np_plan *out);

/*
 * The two halves of np_policy_plan(), for decisions from another source: the state before,
 * and the consequences of out->decision.
 */
int np_plan_begin(const struct np_policy *p, const struct np_machine *m,
		  const struct np_task *tasks, const struct np_options *o, struct np_plan *out);
int np_plan_finish(const struct np_policy *p, const struct np_machine *m,
		   const struct np_task *tasks, const struct np_options *o, struct np_plan *out);

/*
 * Fills plan->move with the page moves in an order in which no node
 * ever holds more than it has room for, moves out before moves in. Pages that cannot be
 * ordered (nodes so full that nothing can move first) are counted in
 * plan->unordered and in no move. 0 or -ENOMEM.
 */
int np_plan_order(struct np_plan *plan, const struct np_machine *m, const struct np_task *tasks);

/* Node index that holds most of t's pages (lowest index on a tie), or
 * NP_NODE_NONE if it has none. */
int np_task_home(const struct np_machine *m, const struct np_task *t);

/* "unknown", "counters", "declared", .. */
const char *np_provenance_name(enum np_provenance s);
bool np_provenance_find(const char *name, enum np_provenance *s); /* false: there is no such name */
const char *np_provenance_names(void);				  /* all of them, for errors */

#endif
