// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order in which planned pages move. A task moves whole when its target has
 * room, tasks that leave the fullest node first; when none fits, as much of one
 * as there is room for, which makes room for the others in turn. Tasks whose pages are spread
 * come first where every node has room for them, last where not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "list.h"
#include "move_part.h"

/* Less than this is not worth a call of its own: 1 MiB of 4 KiB pages. */
#define SMALLEST_PART 256

struct queue {
	struct np_applied *a;
	uint64_t *want;		/* [n] pages still to move to one node */
	bool *spread;		/* [n] pages still to be spread */
	uint64_t *room;		/* [n_nodes] pages that fit */
};

/* Whose pages a call moves. */
struct step_move {
	struct np_applied *a;
	size_t i;
};

static bool go_on(const struct np_migrate_result *so_far, void *arg)
{
	const struct step_move *move = arg;

	(void)so_far;
	return !*move->a->how.stop;
}

static void add_result(const struct np_migrate_result *r, void *arg)
{
	const struct step_move *move = arg;
	struct np_step *step = &move->a->step[move->i];
	struct np_migrate_result *sum = &step->moved;

	step->migrated = true;
	if (!sum->engine || strchr(r->engine, '+'))
		sum->engine = r->engine;	/* "module+syscall" says more than "module" */
	sum->asked += r->asked;
#define X(name) sum->name += r->name;
	NUMAPLACE_COUNTS(X)
#undef X
	sum->bytes += r->bytes;
	sum->ns += r->ns;
	if (r->longest_pause_us > sum->longest_pause_us)
		sum->longest_pause_us = r->longest_pause_us;
}

static uint64_t pages_elsewhere(const struct np_planning *p, size_t i)
{
	uint64_t sum = 0;

	for (size_t node = 0; node < p->machine.n_nodes; node++)
		if ((int)node != p->plan.decision[i].pages_to)
			sum += p->tasks.task[i].pages[node];
	return sum;
}

/* Room on the fullest node that task i leaves. */
static uint64_t tightest_source(const struct queue *q, size_t i)
{
	const struct np_planning *p = q->a->p;
	uint64_t least = UINT64_MAX;

	for (size_t node = 0; node < p->machine.n_nodes; node++)
		if ((int)node != p->plan.decision[i].pages_to && p->tasks.task[i].pages[node] &&
		    q->room[node] < least)
			least = q->room[node];
	return least;
}

/* The next task to move and how many of its pages; false when none can. */
static bool choose(const struct queue *q, size_t *task, uint64_t *amount)
{
	const struct np_planning *p = q->a->p;
	uint64_t tightest = UINT64_MAX, most = 0;
	bool whole = false;

	for (size_t i = 0; i < p->plan.n; i++) {
		uint64_t room, source;

		if (!q->want[i])
			continue;
		room = q->room[p->plan.decision[i].pages_to];
		source = tightest_source(q, i);
		if (q->want[i] <= room && (!whole || source < tightest)) {
			whole = true;
			tightest = source;
			*task = i;
			*amount = q->want[i];
		} else if (!whole && room >= SMALLEST_PART && room > most) {
			most = room;
			*task = i;
			*amount = room;
		}
	}
	return whole || most;
}

static void book(struct queue *q, size_t i, uint64_t moved)
{
	const struct np_planning *p = q->a->p;
	const struct np_decision *d = &p->plan.decision[i];
	uint64_t elsewhere = pages_elsewhere(p, i), *room = &q->room[d->pages_to];

	*room -= moved < *room ? moved : *room;
	for (size_t node = 0; elsewhere && node < p->machine.n_nodes; node++)
		if ((int)node != d->pages_to)
			q->room[node] += (uint64_t)((double)moved *
						    (double)p->tasks.task[i].pages[node] /
						    (double)elsewhere);
}

/* The task has gone: skipped. Any other failure is the step's, and ends the apply. */
static int judge(struct np_applied *a, size_t i, int e, const char *err)
{
	if (e == -ESRCH) {
		a->step[i].state = NP_STEP_SKIPPED;
		a->skipped++;
		np_fail(a->step[i].err, NP_ERR_LEN, 0, "%s", err);
		return 0;
	}
	if (e && e != -EINTR) {
		a->step[i].state = NP_STEP_FAILED;
		np_fail(a->step[i].err, NP_ERR_LEN, e, "%s", err);
	}
	return e;
}

static int move_task(struct queue *q, size_t i, uint64_t amount, char *err, size_t err_len)
{
	struct np_applied *a = q->a;
	const struct np_decision *d = &a->p->plan.decision[i];
	struct step_move move = { a, i };
	const struct np_mover mover = {
		.control = a->how.control, .page_size = a->p->machine.page_size,
		.pace = a->how.pace, .go_on = go_on, .report = add_result, .arg = &move,
	};
	pid_t pid = a->p->tasks.task[i].pid;
	int to = a->p->machine.node[d->pages_to].id;
	uint64_t moved = 0;
	int e;

	if (amount == pages_elsewhere(a->p, i))
		e = np_move_whole(&mover, pid, NULL, to, &moved, err, err_len);
	else
		e = np_move_part(&mover, pid, NULL, to, amount, &moved, err, err_len);
	book(q, i, moved);
	q->want[i] -= moved && moved < q->want[i] && amount < q->want[i] ? moved : q->want[i];
	return judge(a, i, e, err);
}

static bool spread_fits(const struct queue *q, size_t i)
{
	const struct np_planning *p = q->a->p;
	const uint64_t *before = p->tasks.task[i].pages;
	const uint64_t *after = p->plan.pages_after + i * p->machine.n_nodes;

	for (size_t node = 0; node < p->machine.n_nodes; node++)
		if (after[node] > before[node] && after[node] - before[node] > q->room[node])
			return false;
	return true;
}

/* As planned, which is as the weights say where every node has room. */
static int spread_task(struct queue *q, size_t i, char *err, size_t err_len)
{
	struct np_applied *a = q->a;
	const struct np_machine *m = &a->p->machine;
	const uint64_t *before = a->p->tasks.task[i].pages;
	const uint64_t *after = a->p->plan.pages_after + i * m->n_nodes;
	struct step_move move = { a, i };
	struct np_migrate_result result = { 0 };
	double share[NP_MAX_NODES] = { 0 }, all = 0;
	const struct np_spread_request r = {
		.pid = a->p->tasks.task[i].pid, .share = share, .n_nodes = NP_MAX_NODES,
		.rate_mib = a->how.pace.rate_mib, .progress = go_on, .progress_arg = &move,
	};
	int e;

	for (size_t node = 0; node < m->n_nodes; node++)
		all += (double)after[node];
	for (size_t node = 0; node < m->n_nodes; node++) {
		share[m->node[node].id] = (double)after[node] / all;
		q->room[node] += before[node];
		q->room[node] -= after[node] < q->room[node] ? after[node] : q->room[node];
	}
	e = a->how.control->spread(&r, &result, err, err_len);
	if (result.asked)
		add_result(&result, &move);
	q->spread[i] = false;
	return judge(a, i, e == -ECANCELED ? -EINTR : e, err);
}

/* Those that fit now, or all that are left. */
static int spread_all(struct queue *q, bool that_fit, char *err, size_t err_len)
{
	int e = 0;

	for (size_t i = 0; !e && i < q->a->p->plan.n; i++) {
		if (!q->spread[i] || (that_fit && !spread_fits(q, i)))
			continue;
		if (*q->a->how.stop)
			e = -EINTR;
		else
			e = spread_task(q, i, err, err_len);
	}
	return e == -EINTR ? np_fail(err, err_len, e, "interrupted") : e;
}

static int move_all(struct queue *q, char *err, size_t err_len)
{
	uint64_t amount = 0;
	size_t i = 0;
	int e = 0;

	while (!e && choose(q, &i, &amount)) {
		if (*q->a->how.stop)
			e = -EINTR;
		else
			e = move_task(q, i, amount, err, err_len);
	}
	return e == -EINTR ? np_fail(err, err_len, e, "interrupted") : e;
}

int np_apply_pages(struct np_applied *a, char *err, size_t err_len)
{
	const struct np_planning *p = a->p;
	struct queue q = { .a = a };
	int e = -ENOMEM;

	q.want = calloc(p->plan.n + 1, sizeof(*q.want));
	q.spread = calloc(p->plan.n + 1, sizeof(*q.spread));
	q.room = calloc(p->machine.n_nodes, sizeof(*q.room));
	if (q.want && q.spread && q.room) {
		for (size_t i = 0; i < p->plan.n; i++) {
			const struct np_decision *d = &p->plan.decision[i];

			if (a->step[i].state != NP_STEP_DONE)
				continue;
			q.spread[i] = d->spread != NP_NODE_NONE && d->pages_to_move;
			q.want[i] = d->spread == NP_NODE_NONE ? d->pages_to_move : 0;
		}
		for (size_t node = 0; node < p->machine.n_nodes; node++)
			q.room[node] = p->machine.node[node].mem_free / p->machine.page_size;
		e = spread_all(&q, true, err, err_len);
		if (!e)
			e = move_all(&q, err, err_len);
		if (!e)
			e = spread_all(&q, false, err, err_len);
		if (!e)
			e = move_all(&q, err, err_len);
	} else {
		np_fail(err, err_len, e, "out of memory");
	}
	free(q.want);
	free(q.spread);
	free(q.room);
	return e;
}
