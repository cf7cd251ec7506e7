// SPDX-License-Identifier: GPL-2.0-only
#include "worker.h"
#include "emit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct slice {
	pthread_t thread;
	const struct np_worker *w;
	pthread_barrier_t *together;
	size_t first, n;
	double start, seconds;
	double started, finished;
	uint64_t passes;
};

size_t np_worker_elements(const struct np_worker *w)
{
	return w->bytes / sizeof(double);
}

int np_worker_init(struct np_worker *w, const struct bitmask *nodes, const char **step)
{
	int err = 0;

	for (int k = 0; k < NP_ARRAYS && !err; k++) {
		*step = "map the arrays";
		w->array[k] = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (w->array[k] == MAP_FAILED)
			return -errno;
		*step = "ask for the arrays' node (mbind)";
		if (nodes)
			err = np_pages_prefer(w->array[k], w->bytes, nodes);
	}
	if (err)
		return err;
	np_triad_fill(w->array[0], w->array[1], w->array[2], np_worker_elements(w));
	*step = "give the arrays the default policy back (mbind)";
	for (int k = 0; k < NP_ARRAYS && nodes && !err; k++)
		err = np_pages_forget(w->array[k], w->bytes);
	return err;
}

int np_worker_pages(struct np_worker *w, struct np_pages *count)
{
	int err = 0;

	memset(count, 0, sizeof(*count));
	for (int k = 0; k < NP_ARRAYS && !err; k++)
		err = np_pages_count(w->array[k], w->bytes, count);
	return err;
}

static void *slice_run(void *arg)
{
	struct slice *s = arg;
	double *const *array = s->w->array;
	double end;

	pthread_barrier_wait(s->together);
	if (s->start > 0)
		np_sleep_until(s->start);
	s->started = np_now();
	end = s->started + s->seconds;
	do {
		s->w->kernel->run(array[0] + s->first, array[1] + s->first,
				  array[2] + s->first, s->n);
		s->passes++;
		s->finished = np_now();
	} while (s->finished < end);
	return NULL;
}

static void sum_up(const struct np_worker *w, const struct slice *slices, struct np_run *run)
{
	uint64_t elements;

	memset(run, 0, sizeof(*run));
	run->started = slices[0].started;
	for (const struct slice *s = slices; s < slices + w->threads; s++) {
		elements = s->passes * s->n;
		run->elements += elements;
		run->passes += s->passes;
		run->mb_per_s += elements * NP_TRIAD_CREDITED / (s->finished - s->started) / 1e6;
		if (s->started < run->started)
			run->started = s->started;
		if (s->finished > run->finished)
			run->finished = s->finished;
	}
}

int np_worker_run(struct np_worker *w, double seconds, double start, struct np_run *run)
{
	size_t lines = w->bytes / NP_LINE, per_line = NP_LINE / sizeof(double);
	struct slice *slices = calloc(w->threads, sizeof(*slices));
	pthread_barrier_t together;
	unsigned int k;
	int err = 0;

	if (!slices)
		return -ENOMEM;
	pthread_barrier_init(&together, NULL, w->threads);
	for (k = 0; k < w->threads; k++)
		slices[k] = (struct slice){
			.w = w, .together = &together, .start = start, .seconds = seconds,
			.first = lines * k / w->threads * per_line,
			.n = (lines * (k + 1) / w->threads - lines * k / w->threads) * per_line,
		};
	for (k = 1; k < w->threads && !err; k++)
		err = -pthread_create(&slices[k].thread, NULL, slice_run, &slices[k]);
	if (err) {	/* the others wait at the barrier for good: nothing to save */
		np_fail("cannot start thread %u of %u: %s", k, w->threads, strerror(-err));
		exit(1);
	}
	slice_run(&slices[0]);
	for (k = 1; k < w->threads; k++)
		pthread_join(slices[k].thread, NULL);
	pthread_barrier_destroy(&together);
	sum_up(w, slices, run);
	free(slices);
	return 0;
}
