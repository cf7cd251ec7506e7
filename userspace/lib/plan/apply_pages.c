// SPDX-License-Identifier: GPL-2.0-only
/*
 * Carries out plan->move step by step, in its order. The result of a step counts,
 * not its plan: a later one never brings more than its node then has room for.
 * Pages that are spread go by shares, each step to those that the plan has then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../engine/move_range.h"
#include "apply.h"

struct queue {
	struct np_applied *a;
	size_t k;	 /* nodes */
	uint64_t *now;	 /* [n * k] pages of each task by node, so far */
	uint64_t *room;	 /* [k] pages that fit now */
	uint64_t stayed; /* pages that had no room when their turn came */
};

/* The task whose pages a call moves. */
struct step_move {
	struct np_applied *a;
	size_t i;
};

static bool go_on(const struct np_migrate_result *so_far, void *arg)
{
	const struct step_move *move = arg;

	if (move->a->how.watch)
		move->a->how.watch(move->a, so_far);
	return !*move->a->how.stop;
}

static void add_result(const struct np_migrate_result *r, void *arg)
{
	const struct step_move *move = arg;
	struct np_step *step = &move->a->step[move->i];

	step->migrated = true;
	np_migrate_add(&step->moved, r);
}

/* The task has gone: skipped. Any other failure is the step's, and ends the apply. */
static int judge(struct np_applied *a, size_t i, int e, const char *err)
{
	if (e == -ESRCH) {
		a->step[i].state = NP_STEP_SKIPPED;
		a->skipped++;
		np_fail(&a->step[i].err, 0, "%s", err);
		return 0;
	}
	if (e && e != -EINTR) {
		a->step[i].state = NP_STEP_FAILED;
		np_fail(&a->step[i].err, e, "%s", err);
	}
	return e;
}

static void book(struct queue *q, size_t i, int from, int to, uint64_t pages)
{
	uint64_t *now = q->now + i * q->k;

	if (pages > now[from])
		pages = now[from];
	now[from] -= pages;
	now[to] += pages;
	q->room[from] += pages;
	q->room[to] -= pages < q->room[to] ? pages : q->room[to];
}

/* No later step takes pages of the task from the same node. */
static bool is_last(const struct queue *q, const struct np_page_move *step)
{
	const struct np_plan *plan = &q->a->p->plan;

	for (const struct np_page_move *next = step + 1; next < plan->move + plan->n_moves; next++)
		if (next->task == step->task && next->from == step->from)
			return false;
	return true;
}

/*
 * What is left on a node that is to be emptied goes in one call, with what earlier
 * parts left behind; a part of it is never more than was planned.
 */
static int move_step(struct queue *q, const struct np_page_move *step, struct np_err *err)
{
	struct np_applied *a = q->a;
	struct step_move move = { a, step->task };
	const struct np_mover mover = {
		.engine = a->how.engine,
		.throttle = a->how.throttle,
		.go_on = go_on,
		.report = add_result,
		.arg = &move,
	};
	const struct np_node *node = a->p->machine.node;
	uint64_t left = q->now[step->task * q->k + (size_t)step->from];
	uint64_t after = a->p->plan.pages_after[step->task * q->k + (size_t)step->from];
	uint64_t room = q->room[step->to], amount = step->pages < room ? step->pages : room;
	pid_t pid = a->p->tasks.task[step->task].pid;
	struct bitmask *from;
	uint64_t moved = 0;
	int e = 0;

	q->stayed += step->pages - amount;
	if (!amount)
		return 0;
	from = numa_bitmask_alloc(NP_MAX_NODES);
	numa_bitmask_setbit(from, (unsigned int)node[step->from].id);
	if (!after && is_last(q, step) && left <= room)
		e = np_move_whole(&mover, pid, from, node[step->to].id, &moved, err);
	else
		e = np_move_part(&mover, pid, from, node[step->to].id, amount, &moved, err);
	numa_bitmask_free(from);
	book(q, step->task, step->from, step->to, moved);
	return judge(a, step->task, e, err->text);
}

/* The highest node number + 1: every page is compared with all below it. */
static size_t node_numbers(const struct np_machine *m)
{
	size_t n = 0;

	for (size_t node = 0; node < m->n_nodes; node++)
		if ((size_t)m->node[node].id >= n)
			n = (size_t)m->node[node].id + 1;
	return n;
}

/*
 * To the shares that the plan has after the steps so far; shared memory stays, so it is none of
 * them.
 */
static int spread_to_shares(struct queue *q, size_t i, struct np_err *err)
{
	struct np_applied *a = q->a;
	const struct np_machine *m = &a->p->machine;
	const uint64_t *now = q->now + i * q->k;
	struct step_move move = { a, i };
	struct np_migrate_result result = { 0 };
	const uint64_t *shm = a->p->tasks.task[i].shm_pages;
	double share[NP_MAX_NODES] = { 0 }, part[NP_MAX_NODES], all = 0;
	const struct np_migrate_request r = {
		.pid = a->p->tasks.task[i].pid,
		.share = share,
		.n_nodes = node_numbers(m),
		.rate_mib = a->how.throttle.rate_mib,
		.progress = go_on,
		.progress_arg = &move,
	};
	int e;

	for (size_t node = 0; node < q->k; node++) {
		uint64_t stay = shm ? shm[node] : 0;

		part[node] = (double)(now[node] > stay ? now[node] - stay : 0);
		all += part[node];
	}
	for (size_t node = 0; node < q->k && all > 0; node++)
		share[m->node[node].id] = part[node] / all;
	e = a->how.engine->migrate(&r, &result, err);
	if (result.asked)
		add_result(&result, &move);
	return judge(a, i, e == -ECANCELED ? -EINTR : e, err->text);
}

/*
 * The steps from *at of one task whose targets have room for them before any of
 * them is made: one pass over its pages does for all. *at becomes the next step.
 */
static int spread_steps(struct queue *q, size_t *at, struct np_err *err)
{
	const struct np_plan *plan = &q->a->p->plan;
	size_t first = *at, i = plan->move[first].task;
	uint64_t cut = 0;
	bool any = false;

	for (; *at < plan->n_moves && plan->move[*at].task == i; (*at)++) {
		const struct np_page_move *step = &plan->move[*at];
		uint64_t *now = q->now + i * q->k, pages = step->pages;

		if (pages > q->room[step->to] && *at > first)
			break;
		if (pages > q->room[step->to]) {
			cut = pages - q->room[step->to];
			pages -= cut;
			q->stayed += cut;
		}
		q->room[step->to] -= pages;
		now[step->from] -= pages < now[step->from] ? pages : now[step->from];
		now[step->to] += pages;
		any |= pages > 0;
	}
	for (size_t done = first; done < *at; done++)
		q->room[plan->move[done].from] += plan->move[done].pages;
	q->room[plan->move[first].from] -= cut;
	return any ? spread_to_shares(q, i, err) : 0;
}

static int make_steps(struct queue *q, struct np_err *err)
{
	const struct np_applied *a = q->a;
	const struct np_plan *plan = &a->p->plan;
	size_t at = 0;
	int e = 0;

	while (!e && at < plan->n_moves) {
		size_t i = plan->move[at].task;

		if (a->step[i].state != NP_STEP_DONE || !plan->decision[i].pages_to_move)
			at++;
		else if (*a->how.stop)
			e = -EINTR;
		else if (plan->decision[i].spread != NP_NODE_NONE)
			e = spread_steps(q, &at, err);
		else
			e = move_step(q, &plan->move[at++], err);
	}
	return e == -EINTR ? np_fail(err, e, "interrupted") : e;
}

int np_apply_pages(struct np_applied *a, struct np_err *err)
{
	const struct np_request *p = a->p;
	struct queue q = { .a = a, .k = p->machine.n_nodes };
	int e = -ENOMEM;

	q.now = calloc(p->plan.n * q.k + 1, sizeof(*q.now));
	q.room = calloc(q.k, sizeof(*q.room));
	if (q.now && q.room) {
		for (size_t i = 0; i < p->plan.n; i++)
			memcpy(q.now + i * q.k, p->tasks.task[i].pages, q.k * sizeof(*q.now));
		for (size_t node = 0; node < q.k; node++)
			q.room[node] = p->machine.node[node].mem_free / p->machine.page_size;
		e = make_steps(&q, err);
	} else {
		np_fail(err, e, "out of memory");
	}
	if (!e && q.stayed && !a->note.text[0])
		np_fail(&a->note, 0, "%llu pages stayed: earlier steps left no room for them",
			(unsigned long long)q.stayed);
	free(q.now);
	free(q.room);
	return e;
}
