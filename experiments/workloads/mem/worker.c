// SPDX-License-Identifier: GPL-2.0-only
#include "worker.h"
#include "../emit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

struct job {
	pthread_t thread;
	struct np_slice *slice;
	struct np_thread_run *run;
	pthread_barrier_t *together;
	const struct np_when *when;
};

static int cut(struct np_worker *w)
{
	size_t lines = w->bytes / NP_LINE;

	w->slices = calloc(w->threads, sizeof(*w->slices));
	if (!w->slices)
		return -ENOMEM;
	for (unsigned int k = 0; k < w->threads; k++)
		w->slices[k] = (struct np_slice) {
			.w = w,
			.number = k,
			.first = lines * k / w->threads,
			.lines = lines * (k + 1) / w->threads - lines * k / w->threads,
		};
	return 0;
}

int np_worker_init(struct np_worker *w, const struct bitmask *nodes, const char **step)
{
	size_t mapped = np_pages_mapped(w->bytes, w->pages);
	int err;

	*step = "map the arrays";
	err = cut(w);
	for (unsigned int k = 0; k < w->kernel->arrays && !err; k++) {
		err = np_pages_map(&w->array[k], w->bytes, w->pages);
		if (err)
			break;
		*step = "ask for the arrays' node (mbind)";
		if (nodes)
			err = np_pages_prefer(w->array[k], w->bytes, mapped, nodes);
	}
	if (err)
		return err;
	*step = "fill the arrays";
	for (unsigned int k = 0; k < w->threads && !err; k++)
		err = w->kernel->fill(&w->slices[k]);
	if (err)
		return err;
	*step = "give the arrays the default policy back (mbind)";
	for (unsigned int k = 0; k < w->kernel->arrays && nodes && !err; k++)
		err = np_pages_forget(w->array[k], mapped);
	return err;
}

int np_worker_pages(struct np_worker *w, struct np_pages *count)
{
	int err = 0;

	memset(count, 0, sizeof(*count));
	for (unsigned int k = 0; k < w->kernel->arrays && !err; k++)
		err = np_pages_count(w->array[k], w->bytes, count);
	return err;
}

size_t np_worker_errors(struct np_worker *w)
{
	size_t errors = 0;

	for (unsigned int k = 0; k < w->threads; k++)
		errors += w->kernel->errors(&w->slices[k]);
	return errors;
}

static void pin(const struct np_worker *w, unsigned int number)
{
	cpu_set_t *set;
	size_t size;
	int cpu;

	if (!w->pinned)
		return;
	cpu = w->pinned[number];
	set = CPU_ALLOC(cpu + 1);
	size = CPU_ALLOC_SIZE(cpu + 1);
	if (!set)
		abort();
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	if (sched_setaffinity(0, size, set)) {
		np_fail("cannot run thread %u on CPU %d: %s", number, cpu, strerror(errno));
		exit(1);
	}
	CPU_FREE(set);
}

/* Passes until a sample's share of the time is over, and of the operations done. */
static void take_sample(struct np_slice *s, struct np_thread_run *r, double at_least,
			uint64_t wanted)
{
	double begin = r->finished, busy = s->busy, seconds;
	uint64_t done, operations = 0;

	do {
		done = s->w->kernel->pass(s);
		operations += done;
		r->passes++;
		r->finished = np_now();
	} while (r->finished - begin < at_least || operations < wanted);
	s->operations += operations;
	r->operations += operations;
	seconds = s->w->kernel->own_time ? s->busy - busy : r->finished - begin;
	r->busy += seconds;
	r->sample[r->n++] = (struct np_sample) { seconds, operations };
}

/* The same work, in a record of its own. */
static void warm_up(struct job *j)
{
	struct np_thread_run r = { .finished = np_now() };

	if (j->when->warm <= 0)
		return;
	take_sample(j->slice, &r, j->when->warm, 0);
	j->run->warm_per_second = r.sample[0].operations / r.sample[0].seconds;
}

static void for_seconds(struct job *j)
{
	struct np_thread_run *r = j->run;
	double end = r->started + j->when->seconds;

	do {
		take_sample(j->slice, r, j->when->seconds / NP_SAMPLES, 0);
	} while (r->finished < end && r->n < NP_SAMPLES);
}

/* The same work whatever it takes: only the last pass may go beyond it. */
static void for_operations(struct job *j)
{
	struct np_thread_run *r = j->run;
	uint64_t all = j->when->operations, part = (all + NP_SAMPLES - 1) / NP_SAMPLES, left;

	for (; r->operations < all; take_sample(j->slice, r, 0, left < part ? left : part))
		left = all - r->operations;
}

static void *work(void *arg)
{
	struct job *j = arg;
	struct np_thread_run *r = j->run;

	pin(j->slice->w, j->slice->number);
	pthread_barrier_wait(j->together);
	if (j->when->start > 0)
		np_sleep_until(j->when->start);
	warm_up(j);
	r->started = r->finished = np_now();
	if (j->when->operations)
		for_operations(j);
	else
		for_seconds(j);
	return NULL;
}

static void sum_up(const struct np_worker *w, struct np_run *run)
{
	run->started = run->thread[0].started;
	for (const struct np_thread_run *t = run->thread; t < run->thread + w->threads; t++) {
		run->operations += t->operations;
		run->passes += t->passes;
		run->per_second += t->operations / t->busy;
		if (t->started < run->started)
			run->started = t->started;
		if (t->finished > run->finished)
			run->finished = t->finished;
	}
}

int np_worker_run(struct np_worker *w, const struct np_when *when, struct np_run *run)
{
	struct job *jobs = calloc(w->threads, sizeof(*jobs));
	pthread_barrier_t together;
	unsigned int k;
	int err = 0;

	*run = (struct np_run) { .thread = calloc(w->threads, sizeof(*run->thread)) };
	if (!jobs || !run->thread) {
		free(jobs);
		np_run_free(run);
		return -ENOMEM;
	}
	pthread_barrier_init(&together, NULL, w->threads);
	for (k = 0; k < w->threads; k++)
		jobs[k] = (struct job) { .slice = &w->slices[k],
					 .run = &run->thread[k],
					 .together = &together,
					 .when = when };
	for (k = 1; k < w->threads && !err; k++)
		err = -pthread_create(&jobs[k].thread, NULL, work, &jobs[k]);
	if (err) { /* the others wait at the barrier for good: nothing to save */
		np_fail("cannot start thread %u of %u: %s", k, w->threads, strerror(-err));
		exit(1);
	}
	work(&jobs[0]);
	for (k = 1; k < w->threads; k++)
		pthread_join(jobs[k].thread, NULL);
	pthread_barrier_destroy(&together);
	sum_up(w, run);
	free(jobs);
	return 0;
}

void np_run_free(struct np_run *run)
{
	free(run->thread);
	run->thread = NULL;
}
