// SPDX-License-Identifier: GPL-2.0-only
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/engine/saved_affinity.h"
#include "../lib/host/numa_balancing.h"
#include "../lib/plan/apply.h"

/* A task with less than 1 MiB (of 4 KiB pages) is starting up, or a shell that waits. */
#define FIRST_PAGES 256
/* A program that grew by more than a tenth since the last look is still coming to its memory. */
#define GROWTH 1.1

/* Signals go on to the program; they never interrupt a step half-way. */
static const volatile sig_atomic_t never;

static void complain(struct np_run *r, const char *what)
{
	if (!strcmp(r->complaint, what))
		return;
	snprintf(r->complaint, sizeof(r->complaint), "%s", what);
	np_error("run: %s", what);
}

static uint64_t count_pages(const struct np_planning *p, size_t i)
{
	uint64_t sum = 0;

	for (size_t node = 0; node < p->machine.n_nodes; node++)
		sum += p->tasks.task[i].pages[node];
	return sum;
}

static bool counts(const struct np_member *m)
{
	return m->busy && m->anon >= FIRST_PAGES;
}

/* The pids of those who are to be placed, in memory that the caller frees, or NULL. */
static pid_t *pids_to_place(struct np_run *r, size_t *n)
{
	pid_t *pids;

	*n = 0;
	if (np_family_update(&r->family) || !r->family.n)
		return NULL;
	pids = calloc(r->family.n, sizeof(*pids));
	for (size_t i = 0; pids && i < r->family.n; i++)
		if (counts(&r->family.member[i]))
			pids[(*n)++] = r->family.member[i].pid;
	if (*n)
		return pids;
	free(pids);
	return NULL;
}

/* False when there is nothing to plan for. One that may not be read, or has just exited, holds up no other. */
static bool look(struct np_run *r, struct np_planning *p)
{
	struct np_policy_args args = r->args;
	char err[NP_ERR_LEN];
	pid_t *pids = pids_to_place(r, &args.n_pids);
	int e;

	if (!pids)
		return false;
	args.pids = pids;
	args.skip_gone = true;
	e = np_planning_make(p, &args, err, sizeof(err));
	free(pids);
	if (e || (!r->quiet && np_tasks_denied(&p->tasks, err, sizeof(err))))
		complain(r, err);
	return !e;
}

bool np_run_has_settled(struct np_run *r)
{
	uint64_t before = r->pages;

	r->pages = 0;
	if (np_family_update(&r->family))
		return false;
	for (size_t i = 0; i < r->family.n; i++)
		if (counts(&r->family.member[i]))
			r->pages += r->family.member[i].anon;
	return r->pages && (double)r->pages <= (double)before * GROWTH;
}

/* Something to do that the last step for this task did not already try. */
static bool is_new(struct np_run *r, const struct np_planning *p, size_t i)
{
	struct np_aim aim = np_aim_of(&p->plan, p->machine.n_nodes, i);
	const struct np_member *m = np_family_find(&r->family, p->tasks.task[i].pid);

	return np_decision_acts(p, i) &&
	       (!m || np_tried_is_new(&m->tried, &aim, p->plan.decision[i].pages_to_move,
				      count_pages(p, i)));
}

/* What was tried, whether it worked or not: trying again would end the same way. */
static void remember(struct np_run *r, const struct np_applied *a)
{
	for (size_t i = 0; i < a->p->plan.n; i++) {
		const struct np_decision *d = &a->p->plan.decision[i];
		struct np_member *m = np_family_find(&r->family, a->p->tasks.task[i].pid);
		uint64_t moved = a->undone ? 0 : a->step[i].moved.moved;

		if (!m || !np_decision_acts(a->p, i))
			continue;
		m->tried = (struct np_tried) {
			.any = true,
			.aim = np_aim_of(&a->p->plan, a->p->machine.n_nodes, i),
			.left = d->pages_to_move > moved ? d->pages_to_move - moved : 0,
		};
	}
}

static void say(const struct np_applied *a)
{
	char from[12], to[NP_NODES_TEXT];

	for (size_t i = 0; i < a->p->plan.n; i++) {
		const struct np_decision *d = &a->p->plan.decision[i];

		if (a->step[i].state != NP_STEP_DONE)
			continue;
		fprintf(stderr, "numaplace: run: process %d (%s), node %s -> %s, "
			"%llu of %llu pages moved: %s\n",
			a->p->tasks.task[i].pid, a->p->tasks.task[i].comm,
			np_node_text(&a->p->machine, d->from, from, sizeof(from)),
			np_place_text(a->p, d, to, sizeof(to)),
			(unsigned long long)a->step[i].moved.moved,
			(unsigned long long)d->pages_to_move, d->reason);
	}
}

/* Once: it works against what is done here. */
static void say_balancing(struct np_run *r, const struct np_planning *p)
{
	const char *text = np_balancing_text(p->balancing);

	if (text && !r->quiet && !r->said_balancing)
		fprintf(stderr, "numaplace: run: %s\n", text);
	r->said_balancing = true;
}

/* What became of the kernel's weights; once, that they are not the plan's. */
static void say_weights(struct np_run *r, const struct np_applied *a)
{
	char text[NP_WEIGHTS_LEN];
	bool differ = !a->note[0] && !r->said_weights && np_weights_note(a->p, text, sizeof(text));

	if (r->quiet)
		return;
	if (a->weights[0])
		fprintf(stderr, "numaplace: run: %s\n", a->weights);
	else if (differ)
		fprintf(stderr, "numaplace: run: %s\n", text);
	r->said_weights |= differ;
}

/* What is restored at the end though its parent has exited. */
static void by_self(char *by)
{
	snprintf(by, NP_BY_LEN, NP_BY_RUN, getpid());
}

static void carry_out(struct np_run *r, const struct np_planning *p)
{
	struct np_applied a;
	char err[NP_ERR_LEN], by[NP_BY_LEN];
	const struct np_apply_how how = {
		.control = r->control, .pace = r->pace, .stop = &never, .by = by,
		.note_pages = true, .write_weights = r->write_weights,
	};
	int e;

	say_balancing(r, p);

	by_self(by);
	e = np_apply(&a, p, &how, err, sizeof(err));
	if (e)
		complain(r, err);
	else if (a.note[0] && !r->quiet)
		complain(r, a.note);
	if (e && a.not_undone[0])
		complain(r, a.not_undone);
	if (!e && !r->quiet)
		say(&a);
	if (!e)
		say_weights(r, &a);
	if (a.step)
		remember(r, &a);
	np_applied_free(&a);
}

void np_run_step(struct np_run *r)
{
	struct np_planning p;
	bool wanted = false;

	if (!look(r, &p))
		return;
	for (size_t i = 0; i < p.plan.n; i++)
		wanted |= is_new(r, &p, i);
	if (wanted)
		carry_out(r, &p);
	np_planning_free(&p);
}

/*
 * Every member: one that was never placed may have inherited its CPUs from one that was.
 * Their parents may have exited, but what they have left is given to us.
 */
void np_run_restore(struct np_run *r)
{
	char err[NP_ERR_LEN], by[NP_BY_LEN];
	struct np_whose whose = { .by = by };
	struct np_weights_back back;
	size_t n, kept;
	pid_t *pids;
	int e;

	by_self(by);
	np_family_update(&r->family);
	pids = calloc(r->family.n + 1, sizeof(*pids));
	for (size_t i = 0; pids && i < r->family.n; i++)
		pids[whose.n++] = r->family.member[i].pid;
	whose.pids = pids;
	e = r->control->restore(&whose, &n, &kept, err, sizeof(err));
	if (e && e != -ENOENT && e != -ESRCH)
		complain(r, err);
	if (np_weights_give_back(&whose, &back, err, sizeof(err)))
		complain(r, err);
	else if (back.text[0] && !r->quiet)
		fprintf(stderr, "numaplace: run: %s\n", back.text);
	free(pids);
}
