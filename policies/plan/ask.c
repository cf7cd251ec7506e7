// SPDX-License-Identifier: GPL-2.0-only
/* Calling a policy; one that was built with an older policy.h gets structures of its own sizes. */
#include <errno.h>

#include "plan.h"

/* Its arguments, in larger structures of this header whose ends the policy does not read. */
struct view {
	struct np_machine machine;
	struct np_task *tasks;
	struct np_plan plan;
};

/* Copies the first bytes of each of n elements to where another size of an element puts them. */
static void copy_each(void *to, size_t to_size, const void *from, size_t from_size, size_t n)
{
	size_t both = to_size < from_size ? to_size : from_size;

	for (size_t i = 0; i < n; i++)
		memcpy((char *)to + i * to_size, (const char *)from + i * from_size, both);
}

static void *resized(const void *from, size_t from_size, size_t to_size, size_t n)
{
	void *to = calloc(n + 1, to_size);

	if (to)
		copy_each(to, to_size, from, from_size, n);
	return to;
}

static int open_view(struct view *v, const struct np_sizes *s, const struct np_machine *m,
		     const struct np_task *tasks, size_t n, const struct np_plan *out)
{
	v->machine = *m;
	v->machine.node = resized(m->node, sizeof(*m->node), s->node, m->n_nodes);
	v->tasks = resized(tasks, sizeof(*tasks), s->task, n);
	v->plan = *out;
	v->plan.decision = resized(out->decision, sizeof(*out->decision), s->decision, n);
	return v->machine.node && v->tasks && v->plan.decision ? 0 : -ENOMEM;
}

/* Takes over what it has decided. Its rows of weights have grown where it was. */
static void close_view(struct view *v, const struct np_sizes *s, size_t n, struct np_plan *out)
{
	struct np_decision *decision = out->decision;

	if (v->plan.decision)
		copy_each(decision, sizeof(*decision), v->plan.decision, s->decision, n);
	free(v->plan.decision);
	free(v->tasks);
	free(v->machine.node);
	*out = v->plan;
	out->decision = decision;
}

static int call(const struct np_policy *p, const struct np_machine *m, const struct np_task *tasks,
		size_t n, const struct np_options *o, struct np_plan *out)
{
	return p->plan_as ? p->plan_as(p, m, tasks, n, o, out) : p->plan(m, tasks, n, o, out);
}

int np_policy_ask(const struct np_policy *p, const struct np_machine *m,
		  const struct np_task *tasks, size_t n, const struct np_options *o,
		  struct np_plan *out)
{
	struct view v;
	int e;

	if (!p->built_with)
		return call(p, m, tasks, n, o, out);
	e = open_view(&v, p->built_with, m, tasks, n, out);
	if (!e)
		e = call(p, &v.machine, v.tasks, n, o, &v.plan);
	close_view(&v, p->built_with, n, out);
	return e;
}
