// SPDX-License-Identifier: GPL-2.0-only
#include "apply.h"

#include <errno.h>
#include <math.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../counters/counters.h"
#include "../engine/affinity.h"
#include "../host/mempolicy.h"
#include "../host/proc.h"
#include "file_moves.h"
#include "saved_pages.h"

/* True when decision i lets its task run on that node. */
static bool runs_on(const struct np_request *p, size_t i, int node)
{
	const struct np_decision *d = &p->plan.decision[i];

	if (d->nodes == NP_NODE_NONE)
		return node == d->to;
	return p->plan.spread[(size_t)d->nodes * p->machine.n_nodes + (size_t)node] != 0;
}

/* The CPUs of its node or nodes that the cpuset of task i allows. */
static struct bitmask *decided_cpus(const struct np_request *p, size_t i)
{
	const struct bitmask *allowed = i < p->limits.n ? p->limits.cpus[i] : NULL;
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);

	for (unsigned int cpu = 0; cpu < p->machine.n_cpus; cpu++)
		if (p->machine.cpu_node[cpu] != NP_NODE_NONE &&
		    runs_on(p, i, p->machine.cpu_node[cpu]) &&
		    (!allowed || numa_bitmask_isbitset(allowed, cpu)))
			numa_bitmask_setbit(cpus, cpu);
	return cpus;
}

/* True when the task has CPUs of a node that it is to have some of. */
static bool has_cpus_on(const struct np_request *p, size_t i, int node)
{
	for (unsigned int cpu = 0; cpu < p->machine.n_cpus; cpu++)
		if (p->machine.cpu_node[cpu] == node &&
		    numa_bitmask_isbitset(p->tasks.cpus[i], cpu))
			return true;
	return false;
}

/*
 * True when the task may run on CPUs of another node than it is to, or on none of one of several.
 * Threads with CPUs of their own are not bound.
 */
static bool needs_binding(const struct np_request *p, size_t i)
{
	const struct np_decision *d = &p->plan.decision[i];

	if ((d->to == NP_NODE_NONE && d->nodes == NP_NODE_NONE) ||
	    (i < p->limits.n && p->limits.pinned && p->limits.pinned[i] == NP_PINNED_THREADS))
		return false;
	for (int node = 0; node < (int)p->machine.n_nodes; node++) {
		bool has = has_cpus_on(p, i, node), may = runs_on(p, i, node);

		if (has != may && (has || d->nodes != NP_NODE_NONE))
			return true;
	}
	return false;
}

bool np_decision_acts(const struct np_request *p, size_t i)
{
	return needs_binding(p, i) || p->plan.decision[i].pages_to_move > 0;
}

static int skip(struct np_applied *a, size_t i)
{
	const struct np_task *t = &a->p->tasks.task[i];

	a->step[i].state = NP_STEP_SKIPPED;
	a->skipped++;
	np_fail(&a->step[i].err, 0, "process %d (%s) has exited", t->pid, t->comm);
	return 0;
}

/* A pid that now belongs to another process is not the task that was planned for. */
static bool has_exited(const struct np_applied *a, size_t i)
{
	struct np_proc_stat st;

	return np_proc_stat(a->p->tasks.task[i].pid, &st) || st.start != a->p->tasks.start[i];
}

/* Even weights: interleave. */
static int mode_of_weights(const struct np_request *p, const uint8_t *weight)
{
	uint8_t one = 0;

	for (size_t node = 0; node < p->machine.n_nodes; node++) {
		if (!weight[node])
			continue;
		if (one && weight[node] != one)
			return NP_MPOL_WEIGHTED_INTERLEAVE;
		one = weight[node];
	}
	return MPOL_INTERLEAVE;
}

/* The memory policy (MPOL_*) of new pages that a decision to spread asks for. */
static int spread_mode(const struct np_request *p, const struct np_decision *d)
{
	if (d->mem == NP_MEM_AUTO)
		return mode_of_weights(p, p->plan.spread + (size_t)d->spread * p->machine.n_nodes);
	return d->mem == NP_MEM_WEIGHTED ? NP_MPOL_WEIGHTED_INTERLEAVE : MPOL_INTERLEAVE;
}

/* The memory policy that decision i asks for; false: none. *nodes is the caller's to free. */
static bool wanted_memory(const struct np_request *p, size_t i, int *mode, struct bitmask **nodes)
{
	const struct np_decision *d = &p->plan.decision[i];
	const struct np_machine *m = &p->machine;

	if (d->mem == NP_MEM_LEAVE || (p->tasks.task[i].memory[0] && !p->override) ||
	    (d->pages_to == NP_NODE_NONE && d->spread == NP_NODE_NONE))
		return false;
	*nodes = numa_bitmask_alloc(NP_MAX_NODES);
	*mode = MPOL_PREFERRED;
	if (d->pages_to != NP_NODE_NONE) {
		numa_bitmask_setbit(*nodes, (unsigned int)m->node[d->pages_to].id);
		return true;
	}
	*mode = spread_mode(p, d);
	for (size_t node = 0; node < m->n_nodes; node++)
		if (p->plan.spread[(size_t)d->spread * m->n_nodes + node])
			numa_bitmask_setbit(*nodes, (unsigned int)m->node[node].id);
	return true;
}

static void say_no_memory_policy(struct np_applied *a)
{
	a->no_memory_policy = true;
	np_fail(&a->note, 0,
		"the %s engine cannot set a running task's memory "
		"policy: its new pages go where its own policy says",
		a->how.engine->name);
}

/* Kernels before 6.9 know no weights: pages to come are then interleaved evenly. */
static int place_with_memory(struct np_applied *a, struct np_place_request *r, struct np_err *err)
{
	int e = a->how.engine->place(r, err);

	if (e != -EOPNOTSUPP || r->mem_mode != NP_MPOL_WEIGHTED_INTERLEAVE)
		return e;
	r->mem_mode = MPOL_INTERLEAVE;
	e = a->how.engine->place(r, err);
	if (!e)
		np_fail(&a->note, 0,
			"this kernel has no weighted interleaving: new "
			"pages are interleaved evenly");
	return e;
}

static int place(struct np_applied *a, size_t i, struct np_place_request *r, struct np_err *err)
{
	struct np_step *step = &a->step[i];
	struct bitmask *nodes;
	int e;

	/* Undoing the placement of CPUs alone ends that of memory, too. */
	if (a->how.engine->memory)
		a->how.engine->memory(r->pid, &step->earlier_mode, &step->earlier_nodes);
	if (a->no_memory_policy || !wanted_memory(a->p, i, &r->mem_mode, &nodes))
		return r->cpus ? a->how.engine->place(r, err) : 0;
	r->mem_nodes = nodes;
	e = place_with_memory(a, r, err);
	if (!e) {
		step->mem_mode = r->mem_mode;
		step->mem_nodes = nodes;
		return 0;
	}
	numa_bitmask_free(nodes);
	if (e != -EOPNOTSUPP)
		return e;
	say_no_memory_policy(a);
	r->mem_mode = -1;
	r->mem_nodes = NULL;
	return r->cpus ? a->how.engine->place(r, err) : 0;
}

static int place_task(struct np_applied *a, size_t i, struct np_err *err)
{
	const struct np_request *p = a->p;
	struct np_step *step = &a->step[i];
	struct np_place_request r = {
		.pid = p->tasks.task[i].pid,
		.mem_mode = -1,
		.inherit = true,
		.by = a->how.by,
		.follows = a->placing,
		.undo = &step->calls,
	};
	int e;

	if (!np_decision_acts(p, i))
		return 0;
	if (has_exited(a, i))
		return skip(a, i);
	if (needs_binding(p, i))
		r.cpus = step->cpus = decided_cpus(p, i);
	e = place(a, i, &r, err);
	a->placing = true;
	if (e == -ESRCH)
		return skip(a, i);
	step->placed = !e && (r.cpus || r.mem_mode >= 0);
	step->state = e ? NP_STEP_FAILED : NP_STEP_DONE;
	if (e)
		np_fail(&step->err, e, "%s", err->text);
	return e;
}

static int place_tasks(struct np_applied *a, struct np_err *err)
{
	int e = 0;

	for (size_t i = 0; !e && i < a->p->plan.n; i++) {
		if (*a->how.stop)
			return np_fail(err, -EINTR, "interrupted");
		e = place_task(a, i, err);
	}
	if (e && *a->how.stop)
		return np_fail(err, -EINTR, "interrupted");
	return e;
}

static bool will_move(size_t i, const void *arg)
{
	const struct np_applied *a = arg;

	return a->step[i].state == NP_STEP_DONE && a->p->plan.decision[i].pages_to_move > 0;
}

static int note_pages(struct np_applied *a, struct np_err *err)
{
	for (size_t i = 0; i < a->p->plan.n; i++)
		if (will_move(i, a))
			return np_saved_pages_add(&a->p->machine, &a->p->tasks, will_move, a,
						  a->noted, err);
	return 0;
}

/* 0, or -EINTR. Where the counters cannot be opened, s has no task that was counted. */
static int read_speeds(const struct np_applied *a, struct np_speeds *s, struct np_err *err)
{
	const struct np_verify *how = &a->how.verify;
	int e = (how->read ? how->read : np_speeds_read)(s, a->p, how, a->how.stop, err);

	if (!e || e == -EINTR)
		return e;
	for (size_t i = 0; i < s->n; i++)
		s->cycles[i] = NAN;
	s->why = np_why("%s", err->text);
	return 0;
}

/* Those that the plan acts on, then others. */
static void choose_counted(const struct np_request *p, struct np_speeds *s)
{
	s->n = 0;
	for (int acts = 1; acts >= 0; acts--)
		for (size_t i = 0; i < p->plan.n && s->n < NP_VERIFY_MOST; i++)
			if (np_decision_acts(p, i) == acts)
				s->task[s->n++] = i;
}

/* No task is counted: s->n is 0 where the plan is to be carried out all the same. */
static int count_none(const struct np_applied *a, struct np_speeds *s, const char *why,
		      struct np_err *err)
{
	s->n = 0;
	return a->how.verify.needed ?
		       np_fail(err, -EOPNOTSUPP, "the plan cannot be verified: %s", why) :
		       0;
}

static int count_before(const struct np_applied *a, struct np_speeds *s, struct np_err *err)
{
	int e;

	choose_counted(a->p, s);
	if (!s->n || !np_decision_acts(a->p, s->task[0])) {
		s->n = 0; /* nothing will change */
		return 0;
	}
	e = read_speeds(a, s, err);
	if (e)
		return e;
	if (!np_speeds_compare(s, s).tasks)
		return count_none(a, s, s->why ? s->why : "its tasks do not run", err);
	return 0;
}

/* 0: better, the same, or not known. */
static int verify(struct np_applied *a, const struct np_speeds *before, struct np_err *err)
{
	struct np_speeds after = *before;
	int e = read_speeds(a, &after, err);

	if (e)
		return e;
	a->effect = np_speeds_compare(before, &after);
	if (!a->effect.tasks)
		np_fail(&a->note, 0, "not verified: %s",
			a->effect.why ? a->effect.why : "the tasks do not run any more");
	if (!a->effect.taken_back)
		return 0;
	return np_fail(err, -ERANGE, "%zu tasks run at %.3f of their speed before (noise %.3f)",
		       a->effect.tasks, a->effect.speed, a->effect.noise);
}

static int carry_out(struct np_applied *a, struct np_err *err)
{
	int e = place_tasks(a, err);

	if (!e && a->how.note_pages)
		e = note_pages(a, err);
	if (!e)
		e = np_apply_pages(a, err);
	return e ? e : np_apply_files(a, err);
}

int np_apply(struct np_applied *a, const struct np_request *p, const struct np_apply_how *how,
	     struct np_err *err)
{
	struct np_speeds before = { 0 };
	int e = 0;

	*a = (struct np_applied) { .p = p, .how = *how };
	a->step = calloc(p->plan.n + 1, sizeof(*a->step));
	a->noted = calloc(p->plan.n + 1, sizeof(*a->noted));
	a->file_step = calloc(p->files ? p->files->n + 1 : 1, sizeof(*a->file_step));
	a->file_noted = calloc(p->files ? p->files->n + 1 : 1, sizeof(*a->file_noted));
	if (!a->step || !a->noted || !a->file_step || !a->file_noted)
		return np_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->plan.n; i++) {
		a->step[i].mem_mode = -1;
		a->step[i].earlier_mode = -1;
	}
	if (how->verify.seconds > 0)
		e = count_before(a, &before, err);
	if (!e)
		e = carry_out(a, err);
	if (!e && before.n)
		e = verify(a, &before, err);
	if (e)
		np_apply_undo(a);
	return e;
}

void np_applied_free(struct np_applied *a)
{
	for (size_t i = 0; a->step && i < a->p->plan.n; i++) {
		if (a->step[i].cpus)
			numa_bitmask_free(a->step[i].cpus);
		if (a->step[i].mem_nodes)
			numa_bitmask_free(a->step[i].mem_nodes);
		if (a->step[i].earlier_nodes)
			numa_bitmask_free(a->step[i].earlier_nodes);
		np_affinity_undo_free(a->step[i].calls);
	}
	free(a->file_step);
	free(a->file_noted);
	free(a->noted);
	free(a->step);
	a->step = NULL;
}
