// SPDX-License-Identifier: GPL-2.0-only
/* The table of policies, and what holds for all of them. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "placing.h"

const struct np_policy *const np_policies[] = {
	&np_policy_none,
	&np_policy_maximum_local,
	&np_policy_n_mass,
	NULL,
};

const struct np_policy *np_policy_find(const char *name)
{
	for (size_t i = 0; np_policies[i]; i++)
		if (!strcmp(np_policies[i]->name, name))
			return np_policies[i];
	return NULL;
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

static bool task_is_valid(const struct np_machine *m, const struct np_task *t)
{
	if (!t->pages || !t->cores || t->node < NP_NODE_NONE || t->node >= (int)m->n_nodes)
		return false;
	if (t->penalty_source != NP_SOURCE_NONE && !(isfinite(t->penalty) && t->penalty >= 0))
		return false;
	return t->mpki_source == NP_SOURCE_NONE || (isfinite(t->mpki) && t->mpki >= 0);
}

int np_policy_plan(const struct np_policy *p, const struct np_machine *m,
		   const struct np_task *tasks, size_t n,
		   const struct np_options *o, struct np_plan *out)
{
	if (np_options_count(p) > NP_OPTIONS_MAX || !machine_is_valid(m))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!task_is_valid(m, &tasks[i]))
			return -EINVAL;
	out->n = n;
	return p->plan(m, tasks, n, o, out);
}
