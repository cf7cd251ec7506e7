// SPDX-License-Identifier: GPL-2.0-only
/* Asks one policy: prepares the plan before, and completes the answer. */
#include "plan.h"

#include <errno.h>
#include <limits.h>

#include "cpuset_limits.h"
#include "pages.h"

/* Relative difference that the solver's rounding may make. */
#define SAME 1e-6 /* of a throughput */

int np_plan_init(struct np_plan *plan, const struct np_machine *m, size_t n)
{
	*plan = (struct np_plan) { .n = n };
	plan->decision = calloc(n + 1, sizeof(*plan->decision));
	plan->pages_after = calloc(n * m->n_nodes + 1, sizeof(*plan->pages_after));
	if (plan->decision && plan->pages_after)
		return 0;
	np_plan_free(plan);
	return -ENOMEM;
}

void np_plan_free(struct np_plan *plan)
{
	free(plan->decision);
	free(plan->pages_after);
	free(plan->spread);
	free(plan->move);
	*plan = (struct np_plan) { 0 };
}

int np_task_home(const struct np_machine *m, const struct np_task *t)
{
	int home = NP_NODE_NONE;
	uint64_t most = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		if (t->pages[i] > most) {
			most = t->pages[i];
			home = (int)i;
		}
	}
	return home;
}

static bool machine_is_valid(const struct np_machine *m)
{
	unsigned int cpus = 0;

	if (!m->n_nodes || !m->node || !m->distance || !m->page_size)
		return false;
	for (size_t i = 0; i < m->n_nodes; i++)
		cpus += m->node[i].cpus;
	for (size_t i = 0; i < m->n_nodes * m->n_nodes; i++)
		if (m->distance[i] <= 0)
			return false;
	return cpus > 0;
}

static bool is_amount(double value, enum np_provenance source)
{
	return source == NP_PROVENANCE_NONE || (isfinite(value) && value >= 0);
}

static bool task_is_valid(const struct np_machine *m, const struct np_task *t)
{
	return t->pages && t->cores && t->node >= NP_NODE_NONE && t->node < (int)m->n_nodes &&
	       is_amount(t->penalty, t->penalty_source) && is_amount(t->mpki, t->mpki_source) &&
	       is_amount(t->ipc.value, t->ipc.source) &&
	       is_amount(t->bandwidth.value, t->bandwidth.source) &&
	       is_amount(t->local_access.value, t->local_access.source) &&
	       is_amount(t->writes.value, t->writes.source) &&
	       is_amount(t->outstanding.value, t->outstanding.source) &&
	       is_amount(t->age_s.value, t->age_s.source);
}

/* This machine's nearest remote distance / local distance. */
static double machine_penalty(const struct np_machine *m)
{
	struct np_distances d = np_distances(m);

	return fmax(1, d.remote / d.local);
}

/* The task's penalty at the nearest remote distance, as latency grows with distance. */
static double penalty_at_nearest(const struct np_machine *m, const struct np_task *t)
{
	struct np_distances d = np_distances(m);
	double at = np_penalty_distance(m, d, t);

	if (at <= d.local || d.remote <= d.local)
		return fmax(1, t->penalty);
	return 1 + (fmax(1, t->penalty) - 1) * (d.remote - d.local) / (at - d.local);
}

static void leave_all_alone(const struct np_policy *policy, const struct np_machine *m,
			    const struct np_task *tasks, const struct np_options *o,
			    struct np_plan *out)
{
	double option = np_options_get(policy, o, "penalty"), machine = machine_penalty(m);

	for (size_t i = 0; i < out->n; i++) {
		const struct np_task *t = &tasks[i];
		struct np_decision *d = &out->decision[i];

		memset(d, 0, sizeof(*d));
		d->from = t->node;
		d->home = np_task_home(m, t);
		d->to = d->pages_to = d->spread = d->nodes = NP_NODE_NONE;
		d->bonus = d->gain = 1;
		if (t->penalty_source != NP_PROVENANCE_NONE) {
			d->penalty = t->penalty_distance ? penalty_at_nearest(m, t) :
							   fmax(1, t->penalty);
			d->penalty_source = t->penalty_source;
		} else {
			d->penalty = option > 0 ? fmax(1, option) : machine;
			d->penalty_source = option > 0 ? NP_PROVENANCE_DECLARED :
							 NP_PROVENANCE_MACHINE;
		}
	}
}

/* Whether the row has nodes, each of which can do what it is for: run a task, or hold pages. */
static bool row_is_valid(const struct np_plan *plan, const struct np_machine *m, int row,
			 bool to_run)
{
	const uint8_t *weight = plan->spread + (size_t)row * m->n_nodes;
	bool any = false;

	if (row < 0 || (size_t)row >= plan->n_spreads)
		return false;
	for (size_t i = 0; i < m->n_nodes; i++) {
		any |= weight[i] != 0;
		if (weight[i] && !(to_run ? m->node[i].cpus > 0 : m->node[i].has_memory))
			return false;
	}
	return any;
}

static bool decision_is_valid(const struct np_plan *plan, const struct np_machine *m,
			      const struct np_decision *d)
{
	int k = (int)m->n_nodes;

	if (d->to < NP_NODE_NONE || d->to >= k || d->pages_to < NP_NODE_NONE || d->pages_to >= k)
		return false;
	if (d->to != NP_NODE_NONE && !m->node[d->to].cpus)
		return false;
	if (d->nodes != NP_NODE_NONE &&
	    (d->to != NP_NODE_NONE || !row_is_valid(plan, m, d->nodes, true)))
		return false;
	if (d->pages_to != NP_NODE_NONE && !m->node[d->pages_to].has_memory)
		return false;
	if (d->spread != NP_NODE_NONE &&
	    (d->pages_to != NP_NODE_NONE || !row_is_valid(plan, m, d->spread, false)))
		return false;
	return isfinite(d->bonus) && d->bonus > 0 && memchr(d->reason, '\0', NP_REASON_LEN);
}

int np_plan_begin(const struct np_policy *p, const struct np_machine *m,
		  const struct np_task *tasks, const struct np_options *o, struct np_plan *out)
{
	if (np_options_count(p) > NP_OPTIONS_MAX || !machine_is_valid(m))
		return -EINVAL;
	for (size_t i = 0; i < out->n; i++)
		if (!task_is_valid(m, &tasks[i]))
			return -EINVAL;
	out->n_spreads = out->n_moves = 0;
	out->least_gain = 0;
	out->fault[0] = '\0';
	leave_all_alone(p, m, tasks, o, out);
	return 0;
}

int np_plan_finish(const struct np_policy *p, const struct np_machine *m,
		   const struct np_task *tasks, const struct np_options *o, struct np_plan *out)
{
	double rate = np_options_get(p, o, "rate");
	int e;

	for (size_t i = 0; i < out->n; i++)
		if (!decision_is_valid(out, m, &out->decision[i]))
			return -EPROTO;
	e = np_plan_cpuset_limits(m, tasks, out);
	if (e)
		return e;
	return np_plan_pages(m, tasks, out, rate > 0 ? rate : NP_MIGRATION_RATE_MIB);
}

/* Why a plan brings less than its policy asks for, or NULL. */
static const char *too_little(const struct np_plan *plan, char *why, size_t len)
{
	const struct np_known *now = &plan->throughput[0], *then = &plan->throughput[1];
	double least = fmax(plan->least_gain, plan->asked_gain);

	if (then->source == NP_PROVENANCE_NONE || then->value >= (1 - SAME) * least * now->value)
		return NULL;
	snprintf(why, len,
		 "left alone: the plan is predicted to bring a throughput of %.3g times the "
		 "present one, %s %.3g",
		 then->value / now->value,
		 plan->least_gain >= plan->asked_gain ? "its policy asks for" : "--least-gain is",
		 least);
	return why;
}

/* Whether the plan stands; else why has the reason. Other policies' stand whatever is predicted. */
static const char *reject(const struct np_policy *p, const struct np_options *o,
			  const struct np_plan *plan, char *why, size_t len)
{
	return p->reject ? p->reject(o, plan->throughput, plan->fairness) :
			   too_little(plan, why, len);
}

static int ask(const struct np_policy *p, const struct np_machine *m, const struct np_task *tasks,
	       const struct np_options *o, struct np_plan *out)
{
	int e = np_plan_begin(p, m, tasks, o, out);

	if (!e)
		e = p->plan_as ? p->plan_as(p, m, tasks, out->n, o, out) :
				 p->plan(m, tasks, out->n, o, out);
	return e ? e : np_plan_finish(p, m, tasks, o, out);
}

int np_policy_plan(const struct np_policy *p, const struct np_machine *m,
		   const struct np_task *tasks, size_t n, const struct np_options *o,
		   struct np_plan *out)
{
	int e = out->n == n ? ask(p, m, tasks, o, out) : -EINVAL;
	char why[NP_REASON_LEN];
	const char *reason = e ? NULL : reject(p, o, out, why, sizeof(why));

	if (!reason)
		return e;
	leave_all_alone(p, m, tasks, o, out);
	for (size_t i = 0; i < n; i++)
		np_reason(&out->decision[i], "%s", reason);
	return np_plan_finish(p, m, tasks, o, out);
}
