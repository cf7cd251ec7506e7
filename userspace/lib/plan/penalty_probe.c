// SPDX-License-Identifier: GPL-2.0-only
#include "penalty_probe.h"

#include <errno.h>
#include <numa.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../policies/plan/plan.h"
#include "../base/cpulist.h"
#include "../counters/counters.h"
#include "../engine/affinity.h"
#include "../engine/engine.h"
#include "../host/proc.h"
#include "../host/tasks.h"
#include "../undo/saved_affinity.h"

/* Of its pages on one node, what a task must have for "its memory's node" to mean something. */
#define HOME_SHARE 0.8

/* The warm-up, in which caches are filled anew: this part of a phase, before counting begins. */
#define WARM_UP 4

struct saved {
	pid_t tid;
	struct bitmask *cpus;
};

struct flip {
	const struct np_machine *m;
	const struct np_engine_ops *engine;
	const volatile sig_atomic_t *stop;
	pid_t pid;
	unsigned int ms;
	struct np_counters counters;
	struct saved *saved;
	size_t n;
	bool known; /* placed before, by this tool or by the module: restore would undo that too */
	struct np_err *err;
};

void np_penalty_probe_leave(const struct np_machine *m, int node)
{
	struct bitmask *cpus = np_machine_cpus(m);

	for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] == node)
			numa_bitmask_clearbit(cpus, cpu);
	if (numa_bitmask_weight(cpus))
		numa_sched_setaffinity(0, cpus);
	numa_bitmask_free(cpus);
}

void np_penalty_probe_return(const struct np_machine *m)
{
	struct bitmask *cpus = np_machine_cpus(m);

	numa_sched_setaffinity(0, cpus);
	numa_bitmask_free(cpus);
}

int np_cpi_pair_distance(const struct np_machine *m, const struct np_cpi_pair *p,
			 enum np_provenance method)
{
	bool flip = method == NP_PROVENANCE_FLIP;

	return np_distance(m, flip ? p->away : p->home, flip ? p->home : p->away);
}

int np_penalty_probe_away(const struct np_machine *m, int home)
{
	int away = NP_NODE_NONE, most = 0;

	for (size_t i = 0; i < m->n_nodes; i++) {
		int distance = m->distance[i * m->n_nodes + (size_t)home];

		if ((int)i == home || !m->node[i].cpus || distance <= most)
			continue;
		most = distance;
		away = (int)i;
	}
	return away;
}

static int find_home(struct flip *f, int *home)
{
	struct np_tasks t;
	uint64_t all = 0;
	int e = np_tasks_read(&t, f->m, &f->pid, 1, f->err);

	if (e)
		return e;
	*home = np_task_home(f->m, &t.task[0]);
	for (size_t i = 0; i < f->m->n_nodes; i++)
		all += t.pages[i];
	if (*home == NP_NODE_NONE || (double)t.pages[*home] < HOME_SHARE * (double)all)
		e = np_fail(f->err, -EINVAL,
			    "process %d (%s) has its memory on several "
			    "nodes, less than %.0f %% on one; `numaplace migrate` brings it together",
			    f->pid, t.task[0].comm, HOME_SHARE * 100);
	else if (!f->m->node[*home].cpus)
		e = np_fail(f->err, -EOPNOTSUPP,
			    "process %d (%s) has its memory on node "
			    "%d, which has no CPUs, so nothing is local to it",
			    f->pid, t.task[0].comm, f->m->node[*home].id);
	np_tasks_free(&t);
	return e;
}

static bool module_has_placed(const struct np_placements *p, pid_t tid)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	bool placed = !np_affinity_get(tid, now) && np_placements_to_saved(p, tid, now);

	numa_bitmask_free(now);
	return placed;
}

static int save(struct flip *f)
{
	struct np_placements placements = { 0 };
	struct np_saved_affinity state;
	pid_t *tids;
	size_t n;
	int e = np_proc_threads(f->pid, &tids, &n);

	if (e)
		return np_fail(f->err, e, "process %d has just exited", f->pid);
	e = np_saved_affinity_open(&state, NULL, f->err);
	if (!e && np_placements_read(&placements)) {
		e = np_fail(f->err, -ENOMEM, "out of memory");
		np_saved_affinity_close(&state);
	}
	f->saved = calloc(n + 1, sizeof(*f->saved));
	for (size_t i = 0; !e && f->saved && i < n; i++) {
		struct saved *s = &f->saved[f->n++];

		*s = (struct saved) { tids[i], numa_bitmask_alloc(NP_MAX_CPUS) };
		numa_sched_getaffinity(tids[i], s->cpus);
		f->known |= np_saved_affinity_find(&state, tids[i]) ||
			    module_has_placed(&placements, tids[i]);
	}
	np_placements_free(&placements);
	if (!e)
		np_saved_affinity_close(&state);
	free(tids);
	return e;
}

static int place(struct flip *f, pid_t pid, bool one_thread, const struct bitmask *cpus)
{
	struct np_place_request r = {
		.pid = pid,
		.one_thread = one_thread,
		.cpus = cpus,
		.mem_mode = -1,
		.inherit = true,
	};

	return f->engine->place(&r, f->err);
}

static bool is_saved(const struct flip *f, pid_t tid)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->saved[i].tid == tid)
			return true;
	return false;
}

/* Gives a thread that was started meanwhile the CPUs of the first. 1: it had others; or an error. */
static int place_new_thread(struct flip *f, pid_t tid)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	bool right = numa_sched_getaffinity(tid, now) < 0 ||
		     numa_bitmask_equal(now, f->saved[0].cpus);
	int e = right ? 0 : place(f, tid, true, f->saved[0].cpus);

	numa_bitmask_free(now);
	return right || e == -ESRCH ? 0 : e ? e : 1;
}

#define PASSES 10 /* over threads that are started all the time */

static int place_new_threads(struct flip *f)
{
	int e = 0, one, more = 1;

	for (int pass = 0; more && pass < PASSES; pass++) {
		pid_t *tids = NULL;
		size_t n = 0;

		more = 0;
		if (np_proc_threads(f->pid, &tids, &n))
			return e;
		for (size_t i = 0; i < n; i++) {
			one = is_saved(f, tids[i]) ? 0 : place_new_thread(f, tids[i]);
			more |= one > 0;
			e = one < 0 ? one : e;
		}
		free(tids);
	}
	return e;
}

/* An error of the flip is kept over one of the restore. */
static int restore(struct flip *f, int e)
{
	struct np_err err = { "" };
	size_t n, kept;
	int r = 0;

	if (!f->known) {
		r = f->engine->restore(NP_WHOSE(&f->pid), &n, &kept, &err);
	} else {
		struct flip quiet = *f;

		quiet.err = &err;
		for (size_t i = 0; i < f->n; i++) {
			int one = place(&quiet, f->saved[i].tid, true, f->saved[i].cpus);

			if (one && one != -ESRCH)
				r = one;
		}
		r = r ? r : place_new_threads(&quiet);
	}
	if (!r || r == -ESRCH || r == -ENOENT || e)
		return e;
	return np_fail(f->err, r, "its CPUs could not be given back: %s", err.text);
}

static int nap(const struct flip *f, unsigned int ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (!*f->stop && nanosleep(&t, &t) && errno == EINTR)
		;
	return *f->stop ? np_fail(f->err, -ECANCELED, "interrupted") : 0;
}

/*
 * Where it runs on that node. The simulated lab counts by CPU: there it gets no
 * more CPUs than it has threads, and than it may use now, or what the others do
 * would be counted as its own.
 */
static struct bitmask *cpus_on(const struct flip *f, int node)
{
	struct bitmask *cpus = np_machine_cpus_of_node(f->m, node);
	size_t spare = numa_bitmask_weight(cpus), most = numa_bitmask_weight(f->saved[0].cpus);

	if (most > f->n)
		most = f->n;
	spare = np_machine_platform("") == NP_PLATFORM_LAB_TIMED && spare > most ? spare - most : 0;
	/* The first CPUs have more of the kernel's own work. */
	for (unsigned int cpu = 0; spare; cpu++) {
		spare -= numa_bitmask_isbitset(cpus, cpu) != 0;
		numa_bitmask_clearbit(cpus, cpu);
	}
	return cpus;
}

/* Adds what is counted on that node. */
static int phase(struct flip *f, int node, struct np_reading *sum)
{
	struct np_reading before, after;
	struct bitmask *cpus = cpus_on(f, node);
	int e;

	np_penalty_probe_leave(f->m, node);
	e = place(f, f->pid, false, cpus);
	numa_bitmask_free(cpus);
	if (!e)
		e = nap(f, f->ms / WARM_UP);
	if (e)
		return e;
	np_counters_read(&f->counters, &before);
	e = nap(f, f->ms);
	np_counters_read(&f->counters, &after);
	after = np_reading_between(&before, &after);
	np_reading_add(sum, &after);
	return e;
}

static int evaluate(const struct flip *f, const struct np_reading *near,
		    const struct np_reading *far, struct np_cpi_pair *out)
{
	struct np_count local = np_reading_cpi(near), remote = np_reading_cpi(far);
	struct np_count mpki = np_reading_mpki(near);
	const struct np_count *missing = local.source ? &remote : &local;

	if (!missing->source)
		return np_fail(f->err, -EOPNOTSUPP,
			       "the penalty of process %d is not available because %s", f->pid,
			       missing->why);
	out->local = local.value;
	out->remote = remote.value;
	out->mpki = mpki.source ? mpki.value : -1;
	out->source = local.source;
	return 0;
}

static int measure(struct flip *f, struct np_cpi_pair *out)
{
	const struct np_subject task = { -1, f->pid };
	struct np_reading near = { 0 }, far = { 0 };
	int e = np_counters_open(&f->counters, f->m, &task, 1, f->err);

	if (e)
		return e;
	/* Home at both ends: a steady change over time affects both nodes alike. */
	e = phase(f, out->home, &near);
	if (!e)
		e = phase(f, out->away, &far);
	if (!e)
		e = phase(f, out->away, &far);
	if (!e)
		e = phase(f, out->home, &near);
	e = restore(f, e);
	np_penalty_probe_return(f->m);
	np_counters_close(&f->counters);
	return e ? e : evaluate(f, &near, &far, out);
}

int np_penalty_probe(const struct np_machine *m, pid_t pid, int away, unsigned int ms,
		     const volatile sig_atomic_t *stop, struct np_cpi_pair *out, struct np_err *err)
{
	struct flip f = { .m = m, .pid = pid, .ms = ms, .stop = stop, .err = err };
	int e;

	memset(out, 0, sizeof(*out));
	f.engine = np_engine_get(NP_ENGINE_SYSCALL, err);
	if (!f.engine)
		return -EOPNOTSUPP;
	e = find_home(&f, &out->home);
	if (!e) {
		out->away = away == NP_NODE_NONE ? np_penalty_probe_away(m, out->home) : away;
		if (out->away == NP_NODE_NONE || out->away == out->home)
			e = np_fail(err, -EOPNOTSUPP,
				    "there is no other node with CPUs than "
				    "that of its memory to run process %d on",
				    pid);
	}
	if (!e)
		e = save(&f);
	if (!e)
		e = measure(&f, out);
	for (size_t i = 0; i < f.n; i++)
		numa_bitmask_free(f.saved[i].cpus);
	free(f.saved);
	return e;
}
