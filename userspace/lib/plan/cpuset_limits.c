// SPDX-License-Identifier: GPL-2.0-only
#include "cpuset_limits.h"

#include <errno.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../host/cgroup.h"
#include "../host/mempolicy.h"

static void set_may(uint8_t *may, const struct np_machine *m, const struct bitmask *cpus,
		    const struct bitmask *mems)
{
	for (size_t cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] != NP_NODE_NONE &&
		    numa_bitmask_isbitset(cpus, (unsigned int)cpu))
			may[m->cpu_node[cpu]] |= NP_MAY_RUN;
	for (size_t node = 0; node < m->n_nodes; node++)
		if (numa_bitmask_isbitset(mems, (unsigned int)m->node[node].id))
			may[node] |= NP_MAY_HOLD;
}

/* The nodes of its CPUs; false when it has none: they are offline. */
static bool set_on(uint8_t *on, const struct np_machine *m, const struct bitmask *cpus)
{
	bool any = false;

	for (size_t cpu = 0; cpu < m->n_cpus; cpu++) {
		if (m->cpu_node[cpu] == NP_NODE_NONE ||
		    !numa_bitmask_isbitset(cpus, (unsigned int)cpu))
			continue;
		on[m->cpu_node[cpu]] = 1;
		any = true;
	}
	return any;
}

int np_task_limits_read(struct np_task_limits *c, const struct np_machine *m, struct np_tasks *t,
			struct np_cpusets *cpusets, struct np_reserved *reserved)
{
	struct bitmask *mems = numa_bitmask_alloc(NP_MAX_NODES);
	struct np_cpusets *sets = cpusets ? cpusets : np_cpusets_open();

	*c = (struct np_task_limits) { 0 };
	c->may = calloc(t->n * m->n_nodes + 1, sizeof(*c->may));
	c->on = calloc(t->n * m->n_nodes + 1, sizeof(*c->on));
	c->cpus = calloc(t->n + 1, sizeof(*c->cpus));
	c->pinned = calloc(t->n + 1, sizeof(*c->pinned));
	for (size_t i = 0; c->may && c->on && c->cpus && c->pinned && sets && i < t->n;
	     i++, c->n++) {
		pid_t pid = t->task[i].pid;

		c->cpus[i] = numa_bitmask_alloc(NP_MAX_CPUS);
		if (np_cpusets_cpus(sets, pid, c->cpus[i]))
			numa_bitmask_setall(c->cpus[i]);
		if (reserved)
			c->pinned[i] = np_reserved_narrow(reserved, m, pid, c->cpus[i]);
		if (np_cpusets_mems(pid, mems))
			numa_bitmask_setall(mems);
		set_may(c->may + i * m->n_nodes, m, c->cpus[i], mems);
		t->task[i].may = c->may + i * m->n_nodes;
		if (reserved)
			np_reserved_memory(reserved, pid, t->task[i].memory);
		if (t->cpus && set_on(c->on + i * m->n_nodes, m, t->cpus[i]))
			t->task[i].on = c->on + i * m->n_nodes;
	}
	numa_bitmask_free(mems);
	if (sets && !cpusets)
		np_cpusets_close(sets);
	if (c->n == t->n && c->may && c->on && c->cpus && c->pinned &&
	    !(reserved && np_task_limits_keep_memory(c, m, t)))
		return 0;
	np_task_limits_free(c);
	return -ENOMEM;
}

/* Room for np_task.may of every task, all allowed where nothing was read. 0 or -ENOMEM. */
static int want_rows(struct np_task_limits *c, size_t rows)
{
	if (c->may)
		return 0;
	c->may = malloc(rows + 1);
	if (c->may)
		memset(c->may, NP_MAY_RUN | NP_MAY_HOLD, rows);
	return c->may ? 0 : -ENOMEM;
}

/* Takes these rights on nodes that are not in the list from task i. */
static void take_away(struct np_task_limits *c, const struct np_machine *m, struct np_task *t,
		      size_t i, const struct bitmask *nodes, uint8_t rights)
{
	uint8_t *may = c->may + i * m->n_nodes;

	for (size_t node = 0; node < m->n_nodes; node++)
		if (!numa_bitmask_isbitset(nodes, (unsigned int)m->node[node].id))
			may[node] &= (uint8_t)~rights;
	t->may = may;
}

int np_task_limits_keep_memory(struct np_task_limits *c, const struct np_machine *m,
			       struct np_tasks *t)
{
	struct bitmask *mems = numa_bitmask_alloc(NP_MAX_NODES);
	int e = want_rows(c, t->n * m->n_nodes);

	for (size_t i = 0; !e && i < t->n; i++) {
		if (!t->task[i].memory[0])
			continue;
		np_mempolicy_may_hold(t->task[i].memory, mems);
		take_away(c, m, &t->task[i], i, mems, NP_MAY_HOLD);
	}
	numa_bitmask_free(mems);
	return e;
}

int np_task_limits_keep_nodes(struct np_task_limits *c, const struct np_machine *m,
			      struct np_tasks *t, const struct bitmask *nodes)
{
	int e = want_rows(c, t->n * m->n_nodes);

	for (size_t i = 0; !e && i < t->n; i++)
		take_away(c, m, &t->task[i], i, nodes, NP_MAY_RUN | NP_MAY_HOLD);
	return e;
}

/* The limit is what decided: the policy's own words make room for it. */
static void add_reason(struct np_decision *d, const char *text)
{
	size_t at = strlen(d->reason);

	if (at + strlen(text) + 2 >= NP_REASON_LEN)
		at = NP_REASON_LEN - 3 - strlen(text);
	snprintf(d->reason + at, NP_REASON_LEN - at, "%s%s", at ? "; " : "", text);
}

static void explain_memory(const struct np_task *t, bool override, struct np_decision *d)
{
	bool moves = d->pages_to != NP_NODE_NONE || d->spread != NP_NODE_NONE;
	char text[NP_REASON_LEN - 4];

	if (!t->memory[0] || (override && (!moves || d->mem == NP_MEM_LEAVE)))
		return;
	snprintf(text, sizeof(text), "its memory policy %s was chosen for it and is %s", t->memory,
		 override ? "replaced (--override)" : "kept");
	add_reason(d, text);
	if (!override)
		d->mem = NP_MEM_LEAVE;
}

void np_task_limits_explain(const struct np_task_limits *c, size_t i, const struct np_task *t,
			    uint64_t chosen, bool override, struct np_decision *d)
{
	char list[64], text[128] = "its threads have CPUs of their own, which are kept";
	bool pinned = i < c->n && c->pinned && c->pinned[i] != NP_PINNED_NOT;

	if (pinned && c->pinned[i] == NP_PINNED_TASK && !numa_bitmask_weight(c->cpus[i]))
		snprintf(text, sizeof(text), "its CPUs were chosen for it and are kept");
	else if (pinned && c->pinned[i] == NP_PINNED_TASK)
		snprintf(text, sizeof(text), "its CPUs %s were chosen for it and are kept",
			 np_list_format(c->cpus[i], list, sizeof(list)));
	if (pinned)
		add_reason(d, text);
	explain_memory(t, override, d);
	if (chosen && (d->pages_to != NP_NODE_NONE || d->spread != NP_NODE_NONE)) {
		snprintf(text, sizeof(text),
			 "%llu KiB stay in mappings with a memory policy of their own",
			 (unsigned long long)chosen >> 10);
		add_reason(d, text);
	}
}

void np_task_limits_free(struct np_task_limits *c)
{
	for (size_t i = 0; i < c->n; i++)
		numa_bitmask_free(c->cpus[i]);
	free(c->cpus);
	free(c->pinned);
	free(c->may);
	free(c->on);
	*c = (struct np_task_limits) { 0 };
}
