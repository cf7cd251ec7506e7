// SPDX-License-Identifier: GPL-2.0-only
#include "daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../engine/engines.h"
#include "../host/numa_balancing.h"
#include "../host/reclaimable.h"
#include "../undo/saved_affinity.h"
#include "plan_input.h"

int np_daemon_open(struct np_daemon *d, struct np_err *err)
{
	int e = np_machine_read(&d->machine, d->root, err);

	if (e)
		return e == -ENOMEM ? e : -EOPNOTSUPP;
	e = np_request_check_nodes(&d->machine, err);
	if (!e)
		e = np_request_model(&d->machine, &d->model, d->args.model, err);
	d->model_origin = d->machine.model_origin;
	if (!e)
		e = np_task_watch_open(&d->watch, &d->watch_rules, err);
	if (!d->how.by)
		d->how.by = NP_BY_DAEMON;
	if (e)
		np_daemon_close(d);
	return e;
}

void np_daemon_close(struct np_daemon *d)
{
	np_task_sampling_close(&d->sampling);
	np_task_watch_close(&d->watch);
	np_daemon_placed_free(&d->adopted);
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

static uint64_t count_pages(const struct np_request *p, size_t i)
{
	uint64_t sum = 0;

	for (size_t node = 0; node < p->machine.n_nodes; node++)
		sum += p->tasks.task[i].pages[node];
	return sum;
}

static void count_locality(struct np_daemon *d, const struct np_request *p)
{
	d->local_pages = d->all_pages = 0;
	for (size_t i = 0; i < p->tasks.n; i++) {
		const struct np_task *t = &p->tasks.task[i];

		d->all_pages += count_pages(p, i);
		if (t->node != NP_NODE_NONE)
			d->local_pages += t->pages[t->node];
	}
}

static bool same_nodes(const struct np_machine *a, const struct np_machine *b)
{
	if (a->n_nodes != b->n_nodes)
		return false;
	for (size_t i = 0; i < a->n_nodes; i++)
		if (a->node[i].id != b->node[i].id)
			return false;
	return true;
}

/* The set of nodes has changed: drops data by node index. The next step reads tasks again. */
static void meet_nodes(struct np_daemon *d)
{
	struct np_err err;

	np_task_sampling_drop(&d->sampling);
	np_task_watch_drop_rows(&d->watch);
	free(d->model);
	if (np_request_model(&d->machine, &d->model, d->args.model, &err))
		np_daemon_complain(d, "%s", err.text);
	d->model_origin = d->machine.model_origin;
	d->waits = true;
	np_daemon_say(d,
		      "this machine has %zu nodes now, other ones than before; tasks are read "
		      "again",
		      d->machine.n_nodes);
}

/* Memory that is free changes all the time, and is read anew; CPUs and nodes may come and go. */
static int read_machine(struct np_daemon *d, bool *other, struct np_err *err)
{
	struct np_machine now;
	int e = np_machine_read(&now, d->root, err);
	bool same;

	if (e)
		return e;
	same = same_nodes(&d->machine, &now);
	np_machine_free(&d->machine);
	d->machine = now;
	np_reclaimable_add(&d->machine);
	if (!same)
		meet_nodes(d);
	else if (d->model_origin != NP_MODEL_NONE && d->model->n_nodes == d->machine.n_nodes) {
		d->machine.model = d->model;
		d->machine.model_origin = d->model_origin;
	}
	/* Last: a model is derived from all CPUs that a node has. */
	if (!d->args.override)
		np_reserved_subtract(d->watch.reserved, &d->machine);
	np_task_sampling_traffic(&d->sampling, &d->machine);
	*other = !same;
	return 0;
}

static void forget_placed(struct np_daemon *d)
{
	np_daemon_placed_free(&d->adopted);
	for (size_t i = 0; i < d->watch.n; i++) {
		struct np_watched_task *t = &d->watch.task[i];

		t->placed = t->descendant = false;
		t->hysteresis = (struct np_hysteresis) { 0 };
		t->read_rss = 0; /* read its pages and CPUs again */
	}
}

/*
 * The module may be unloaded, which restores what it had placed. What system calls had set beside it
 * is restored here, so that no task counts as placed.
 */
static void watch_engine(struct np_daemon *d)
{
	const struct np_engine_ops *engine;
	struct np_err err;
	size_t restored;

	if (!d->how.engine->probe || !d->how.engine->probe(&err))
		return;
	engine = np_engine_get(NP_ENGINE_AUTO, &err);
	if (!engine || engine == d->how.engine)
		return;
	d->how.engine = engine;
	np_daemon_complain(d,
			   "the module is not loaded any more: what it had placed is restored, and "
			   "tasks are placed anew by engine %s",
			   engine->name);
	if (!np_daemon_end(d, &restored))
		forget_placed(d);
	d->waits = true;
}

/* The kernel's NUMA balancing works against this one: logged at the start, and when it changes. */
static void watch_balancing(struct np_daemon *d)
{
	int before = d->balancing;
	const char *text;

	d->balancing = np_balancing_read();
	text = np_balancing_text(d->balancing);
	if (d->balancing == before)
		return;
	if (text)
		np_daemon_say(d, "%s", text);
	else if (before > 0)
		np_daemon_say(d, "NUMA balancing is off now");
}

/* False after saying why there is no plan. */
static bool make_plan(struct np_daemon *d, struct np_request *p)
{
	struct np_err err;
	bool other = false;
	int e = read_machine(d, &other, &err);

	watch_balancing(d);
	if (other)
		return false;
	if (!e) {
		*p = (struct np_request) {
			.platform = np_machine_platform(d->root),
			.machine = d->machine,
			.policy = d->args.policy,
			.options = d->args.options,
			.least_gain = d->args.least_gain,
			.override = d->args.override,
			.balancing = d->balancing,
		};
		e = np_plan_input(p, &d->watch, d->now, &d->assumed, &err);
	}
	if (e) {
		d->waits = true; /* a program may do better the next time */
		d->counts.planning_failed++;
		np_daemon_complain(d, "%s", err.text);
		return false;
	}
	d->counts.plans++;
	count_locality(d, p);
	return true;
}

/* The decision becomes "leave alone", here and in what follows from it. */
static void leave_alone(struct np_request *p, size_t i)
{
	struct np_decision *decision = &p->plan.decision[i];
	size_t nodes = p->machine.n_nodes;

	decision->to = decision->pages_to = decision->spread = decision->nodes = NP_NODE_NONE;
	decision->mem = NP_MEM_LEAVE;
	decision->pages_to_move = 0;
	memcpy(p->plan.pages_after + i * nodes, p->tasks.task[i].pages,
	       nodes * sizeof(*p->plan.pages_after));
}

/* Logs why a decision is not carried out (yet), where the reason is new. */
static void tell_waits(struct np_daemon *d, const struct np_request *p, size_t i,
		       struct np_watched_task *t, enum np_hysteresis_result v)
{
	json_t *fields;

	if (v == t->told || v == NP_HYSTERESIS_ACT || !d->events.path)
		return;
	t->told = v;
	fields = np_event_decision(p, i, NULL);
	json_object_set_new(fields, "verdict", json_string(np_hysteresis_name[v]));
	np_daemon_tell(d, "waits", fields);
}

/* Returns how many decisions are left that ask for something and may be acted on. */
static size_t judge(struct np_daemon *d, struct np_request *p, unsigned long long *results)
{
	uint64_t among = np_hysteresis_among(p->tasks.task, p->tasks.start, p->tasks.n);
	size_t n = 0;

	memset(results, 0, NP_HYSTERESIS_RESULTS * sizeof(*results));

	d->waits = false;
	for (size_t i = 0; i < p->plan.n; i++) {
		const struct np_decision *decision = &p->plan.decision[i];
		struct np_watched_task *t = np_task_watch_find(&d->watch, p->tasks.task[i].pid);
		struct np_aim aim = np_aim_of(&p->plan, p->machine.n_nodes, i);
		enum np_hysteresis_result v;

		if (!np_decision_acts(p, i)) {
			t->told = NP_HYSTERESIS_ACT;
			np_hysteresis_rest(&t->hysteresis);
			continue;
		}
		v = np_hysteresis_judge(&t->hysteresis, &d->hysteresis_rules, decision, &aim,
					count_pages(p, i), d->now);
		if (v == NP_HYSTERESIS_ACT && np_hysteresis_is_refused(&t->hysteresis, &aim, among))
			v = NP_HYSTERESIS_TAKEN_BACK;
		results[v]++;
		tell_waits(d, p, i, t, v);
		d->waits |= v == NP_HYSTERESIS_NOT_STEADY || v == NP_HYSTERESIS_LEFT;
		if (v == NP_HYSTERESIS_ACT)
			n++;
		else
			leave_alone(p, i);
	}
	return n;
}

/* Reads tasks again before they move: their data may be some intervals old. */
static bool read_again(struct np_daemon *d, const struct np_request *p)
{
	bool changed = false;

	for (size_t i = 0; i < p->plan.n; i++) {
		struct np_watched_task *t = np_task_watch_find(&d->watch, p->tasks.task[i].pid);

		if (t->read_at == d->now || !np_decision_acts(p, i))
			continue;
		if (!np_task_watch_read(&d->watch, &d->machine, t, d->now))
			t->gone = true;
		changed = true;
	}
	return changed;
}

static void plan_and_act(struct np_daemon *d)
{
	unsigned long long results[NP_HYSTERESIS_RESULTS];
	struct np_request p;
	size_t acting;

	if (!make_plan(d, &p))
		return;
	acting = judge(d, &p, results);
	if (acting && read_again(d, &p)) {
		np_plan_input_free(&p);
		if (!make_plan(d, &p))
			return;
		acting = judge(d, &p, results);
	}
	for (size_t v = 0; v < NP_HYSTERESIS_RESULTS; v++)
		d->counts.decisions[v] += results[v];
	if (acting)
		np_daemon_carry_out(d, &p);
	np_plan_input_free(&p);
}

/* Logs that some of the selected tasks may not be read. */
static void say_denied(struct np_daemon *d)
{
	struct np_tasks left_out = { 0 };
	struct np_err text;

	for (size_t i = 0; d->watch_rules.n_pids && i < d->watch.n; i++) {
		if (!d->watch.task[i].watched || !d->watch.task[i].denied)
			continue;
		left_out.denied_pid = d->watch.task[i].pid;
		left_out.denied++;
	}
	if (left_out.denied != d->denied && np_tasks_denied(&left_out, &text))
		np_daemon_say(d, "%s", text.text);
	d->denied = left_out.denied;
}

static void mark_adopted(struct np_daemon *d)
{
	for (size_t i = 0; i < d->adopted.n; i++) {
		struct np_watched_task *t = np_task_watch_find(&d->watch, d->adopted.task[i].pid);

		if (t && t->start == d->adopted.task[i].start)
			t->placed = d->watch.met_descendant = true;
	}
}

bool np_daemon_observe(struct np_daemon *d)
{
	bool changed = d->waits;
	struct np_err err;
	int e;

	d->now++;
	e = np_task_watch_look(&d->watch, &d->machine, d->now, &changed, &err);
	if (e)
		np_daemon_complain(d, "%s", err.text);
	if (d->now == 1)
		mark_adopted(d);
	if (e)
		return false;
	say_denied(d);
	if (np_task_sampling_step(&d->sampling, &d->watch, &d->machine, d->now, &changed, &err) &&
	    !d->quiet)
		np_daemon_complain(d, "%s%s",
				   d->sampling.refused ? "nothing is counted, policies go by "
							 "what they are told: " :
							 "",
				   err.text);
	return changed;
}

void np_daemon_act(struct np_daemon *d, bool changed)
{
	if (changed && d->watch.eligible)
		plan_and_act(d);
}

void np_daemon_step(struct np_daemon *d)
{
	double began = np_clock(CLOCK_PROCESS_CPUTIME_ID);

	if (!d->counts.intervals)
		watch_balancing(d);
	watch_engine(d);
	np_daemon_act(d, np_daemon_observe(d));
	d->counts.intervals++;
	d->counts.cpu_seconds = np_clock(CLOCK_PROCESS_CPUTIME_ID);
	d->counts.last_interval_cpu_seconds = d->counts.cpu_seconds - began;
}
