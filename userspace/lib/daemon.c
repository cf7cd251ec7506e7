// SPDX-License-Identifier: GPL-2.0-only
#include "daemon.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gather.h"
#include "room.h"

__attribute__((format(printf, 2, 3)))
static void say(const struct np_daemon *d, const char *format, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (d->log)
		d->log(line, d->log_arg);
}

static void complain(struct np_daemon *d, const char *what)
{
	if (!strcmp(d->complaint, what))
		return;
	snprintf(d->complaint, sizeof(d->complaint), "%s", what);
	say(d, "%s", what);
}

int np_daemon_open(struct np_daemon *d, char *err, size_t err_len)
{
	int e = np_machine_read(&d->machine, d->root, err, err_len);

	if (e)
		return e == -ENOMEM ? e : -EOPNOTSUPP;
	e = np_planning_check_nodes(&d->machine, err, err_len);
	if (!e)
		e = np_planning_model(&d->machine, &d->model, d->args.model, err, err_len);
	d->model_origin = d->machine.model_origin;
	if (!e)
		e = np_watch_open(&d->watch, &d->watch_rules, err, err_len);
	if (e)
		np_daemon_close(d);
	return e;
}

void np_daemon_close(struct np_daemon *d)
{
	np_watch_count_close(&d->counter);
	np_watch_close(&d->watch);
	np_machine_free(&d->machine);
	free(d->model);
	d->model = NULL;
}

size_t np_daemon_placed(const struct np_daemon *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->watch.n; i++)
		n += d->watch.task[i].placed && !d->watch.task[i].gone;
	return n;
}

static uint64_t count_pages(const struct np_planning *p, size_t i)
{
	uint64_t sum = 0;

	for (size_t node = 0; node < p->machine.n_nodes; node++)
		sum += p->tasks.task[i].pages[node];
	return sum;
}

static void count_locality(struct np_daemon *d, const struct np_planning *p)
{
	d->local_pages = d->all_pages = 0;
	for (size_t i = 0; i < p->tasks.n; i++) {
		const struct np_task *t = &p->tasks.task[i];

		d->all_pages += count_pages(p, i);
		if (t->node != NP_NODE_NONE)
			d->local_pages += t->pages[t->node];
	}
}

/* Memory that is free changes all the time, and is read anew; CPUs may come and go. */
static int read_machine(struct np_daemon *d, char *err, size_t err_len)
{
	struct np_machine now;
	int e = np_machine_read(&now, d->root, err, err_len);

	if (e)
		return e;
	np_machine_free(&d->machine);
	d->machine = now;
	np_room_add_cache(&d->machine);
	if (d->model_origin != NP_MODEL_NONE && d->model->n_nodes == d->machine.n_nodes) {
		d->machine.model = d->model;
		d->machine.model_origin = d->model_origin;
	}
	np_watch_traffic(&d->counter, &d->machine);
	return 0;
}

/* False after saying why there is no plan. */
static bool make_plan(struct np_daemon *d, struct np_planning *p)
{
	char err[NP_ERR_LEN];
	int e = read_machine(d, err, sizeof(err));

	if (!e)
		e = np_gather(p, d, err, sizeof(err));
	if (e) {
		d->counts.planning_failed++;
		complain(d, err);
		return false;
	}
	d->counts.plans++;
	count_locality(d, p);
	return true;
}

/* The decision becomes "leave alone", here and in what follows from it. */
static void leave_alone(struct np_planning *p, size_t i)
{
	struct np_decision *decision = &p->plan.decision[i];
	size_t nodes = p->machine.n_nodes;

	decision->to = decision->pages_to = decision->spread = NP_NODE_NONE;
	decision->mem = NP_MEM_LEAVE;
	decision->pages_to_move = 0;
	memcpy(p->plan.pages_after + i * nodes, p->tasks.task[i].pages,
	       nodes * sizeof(*p->plan.pages_after));
}

/* Returns how many decisions are left that ask for something and may be acted on. */
static size_t judge(struct np_daemon *d, struct np_planning *p, unsigned long long *verdicts)
{
	size_t n = 0;

	memset(verdicts, 0, NP_VERDICTS * sizeof(*verdicts));

	d->waits = false;
	for (size_t i = 0; i < p->plan.n; i++) {
		const struct np_decision *decision = &p->plan.decision[i];
		struct np_watched *t = np_watch_find(&d->watch, p->tasks.task[i].pid);
		enum np_verdict v;

		if (!np_decision_acts(p, i)) {
			np_steady_rest(&t->steady);
			continue;
		}
		v = np_steady_judge(&t->steady, &d->steady_rules, decision, count_pages(p, i),
				    d->now);
		verdicts[v]++;
		d->waits |= v == NP_VERDICT_NOT_STEADY || v == NP_VERDICT_LEFT;
		if (v == NP_VERDICT_ACT)
			n++;
		else
			leave_alone(p, i);
	}
	return n;
}

/* What is going to move is looked at once more: what is known of it may be some intervals old. */
static bool read_again(struct np_daemon *d, const struct np_planning *p)
{
	bool changed = false;

	for (size_t i = 0; i < p->plan.n; i++) {
		struct np_watched *t = np_watch_find(&d->watch, p->tasks.task[i].pid);

		if (t->read_at == d->now || !np_decision_acts(p, i))
			continue;
		if (!np_watch_read(&d->watch, &d->machine, t, d->now))
			t->gone = true;
		changed = true;
	}
	return changed;
}

static void say_moved(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	const struct np_planning *p = a->p;
	const struct np_decision *decision = &p->plan.decision[i];
	const struct np_step *step = &a->step[i];
	char from[12], to[12];

	say(d, "process %d (%s), node %s -> %s, %llu of %llu pages moved in %.3f s: %s",
	    p->tasks.task[i].pid, p->tasks.task[i].comm,
	    np_node_text(&p->machine, decision->from, from, sizeof(from)),
	    np_node_text(&p->machine, decision->to, to, sizeof(to)),
	    (unsigned long long)step->moved.moved, (unsigned long long)decision->pages_to_move,
	    (double)step->moved.ns / 1e9, decision->reason);
}

static void say_ping_pong(struct np_daemon *d, const struct np_planning *p, size_t i,
			  const struct np_steady *s)
{
	char a[12], b[12];

	say(d, "process %d (%s) went %s -> %s -> %s within %u intervals: left on node %s for %u "
	    "intervals", p->tasks.task[i].pid, p->tasks.task[i].comm,
	    np_node_text(&p->machine, s->last[0].to, a, sizeof(a)),
	    np_node_text(&p->machine, s->last[0].from, b, sizeof(b)), a,
	    s->last[0].at - s->last[1].at, a, s->left_until - d->now - 1);
}

static void note_done(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	const struct np_planning *p = a->p;
	const struct np_decision *decision = &p->plan.decision[i];
	struct np_watched *t = np_watch_find(&d->watch, p->tasks.task[i].pid);
	uint64_t moved = a->step[i].moved.moved, planned = decision->pages_to_move;

	t->placed = true;
	t->read_rss = 0;	/* where it is now is to be read */
	t->counted = (struct np_task) { 0 };	/* and counted */
	d->counts.moved_tasks++;
	d->counts.moved_bytes += a->step[i].moved.bytes;
	d->counts.move_seconds += (double)a->step[i].moved.ns / 1e9;
	say_moved(d, a, i);
	if (!np_steady_moved(&t->steady, &d->steady_rules, decision,
			     planned > moved ? planned - moved : 0, d->now))
		return;
	d->counts.ping_pongs++;
	say_ping_pong(d, p, i, &t->steady);
}

/* One that fails is left alone for a while, so that it cannot keep the others from moving. */
static void note_failed(struct np_daemon *d, const struct np_applied *a, size_t i)
{
	struct np_watched *t = np_watch_find(&d->watch, a->p->tasks.task[i].pid);

	np_steady_failed(&t->steady, &d->steady_rules, d->now);
	d->counts.failed++;
	say(d, "process %d (%s) is left alone for %u intervals: %s", t->pid, t->comm,
	    t->steady.left_until - d->now - 1, a->step[i].err);
}

static void carry_out(struct np_daemon *d, const struct np_planning *p)
{
	struct np_applied a;
	char err[NP_ERR_LEN];
	int e = np_apply(&a, p, &d->how, err, sizeof(err));
	bool explained = false;

	for (size_t i = 0; a.step && i < p->plan.n; i++) {
		if (a.step[i].state == NP_STEP_DONE) {
			note_done(d, &a, i);
		} else if (a.step[i].state == NP_STEP_FAILED) {
			note_failed(d, &a, i);
			explained = true;
		}
		d->counts.vanished += a.step[i].state == NP_STEP_SKIPPED;
	}
	if (e && e != -EINTR && !explained)
		complain(d, err);
	else if (!e && a.note[0])
		complain(d, a.note);
	np_applied_free(&a);
}

static void plan_and_act(struct np_daemon *d)
{
	unsigned long long verdicts[NP_VERDICTS];
	struct np_planning p;
	size_t acting;

	if (!make_plan(d, &p))
		return;
	acting = judge(d, &p, verdicts);
	if (acting && read_again(d, &p)) {
		np_gather_free(&p);
		if (!make_plan(d, &p))
			return;
		acting = judge(d, &p, verdicts);
	}
	for (size_t v = 0; v < NP_VERDICTS; v++)
		d->counts.verdicts[v] += verdicts[v];
	if (acting)
		carry_out(d, &p);
	np_gather_free(&p);
}

static void count_and_plan(struct np_daemon *d, bool changed)
{
	char err[NP_ERR_LEN];

	if (np_watch_count(&d->counter, &d->watch, &d->machine, d->now, &changed, err, sizeof(err)))
		say(d, "nothing is counted, policies go by what they are told: %s", err);
	if (changed && d->watch.counting)
		plan_and_act(d);
}

void np_daemon_step(struct np_daemon *d)
{
	double began = np_clock_of_work(), used;
	bool changed = d->waits;
	char err[NP_ERR_LEN];

	d->now++;
	if (np_watch_look(&d->watch, &d->machine, d->now, &changed, err, sizeof(err)))
		complain(d, err);
	else
		count_and_plan(d, changed);
	d->counts.intervals++;
	used = np_clock_of_work() - began;
	d->counts.cpu_seconds = np_clock_worked(d->counts.cpu_seconds + used);
	d->counts.last_interval_cpu_seconds = used;
}

static bool descends_from_placed(const struct np_daemon *d, const struct np_watched *t)
{
	for (int depth = 0; depth < 64; depth++) {
		t = np_watch_find(&d->watch, t->ppid);
		if (!t)
			return false;
		if (t->placed)
			return true;
	}
	return false;
}

static bool restore(struct np_daemon *d, const struct np_watched *t)
{
	char err[NP_ERR_LEN];
	size_t n, kept;
	int e = d->how.control->restore(t->pid, &n, &kept, err, sizeof(err));

	if (e && e != -ENOENT && e != -ESRCH)
		say(d, "%s", err);
	return !e;
}

/* What a placed task has started since then has inherited its place. */
size_t np_daemon_restore(struct np_daemon *d)
{
	char err[NP_ERR_LEN];
	size_t restored = 0;

	d->watch.last_pid = 0;
	if (np_watch_list(&d->watch, err, sizeof(err)))
		say(d, "%s", err);
	for (size_t i = 0; i < d->watch.n; i++)
		if (d->watch.task[i].placed)
			restored += restore(d, &d->watch.task[i]);
	for (size_t i = 0; i < d->watch.n; i++)
		if (!d->watch.task[i].placed && descends_from_placed(d, &d->watch.task[i]))
			restored += restore(d, &d->watch.task[i]);
	for (size_t i = 0; i < d->watch.n; i++)
		d->watch.task[i].placed = false;
	return restored;
}
