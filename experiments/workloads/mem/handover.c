// SPDX-License-Identifier: GPL-2.0-only
/*
 * From core to core: an owner on a CPU of its own writes the lines of a chunk,
 * or reads them, and then the measured thread walks them. The next round takes
 * the next chunk; when a chunk comes again the caches have lost it, so a clean
 * line is in the owner's caches and in nobody else's.
 */
#include "../emit.h"
#include "chase.h"
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct {
	sem_t there, go;
	_Atomic uint64_t asked, ready, done; /* rounds */
	size_t wrong;			     /* walks of the owner that ended elsewhere */
} owner;

static void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

static bool dirty(const struct np_worker *w)
{
	return !strcmp(w->choice.state, "dirty");
}

static size_t chunk_lines(const struct np_worker *w)
{
	return w->choice.chunk / NP_LINE;
}

static size_t chunks(const struct np_worker *w)
{
	return w->bytes / w->choice.chunk;
}

static struct np_chase_line *chunk_of(const struct np_worker *w, uint64_t round)
{
	struct np_chase_line *line = (struct np_chase_line *)w->array[0];

	return line + round % chunks(w) * chunk_lines(w);
}

static size_t walk(struct np_chase_line *first, size_t n)
{
	struct np_chase_line *at = first;

	for (size_t i = 0; i < n; i++)
		at = at->next;
	return at != first;
}

static int choose(struct np_worker *w)
{
	if (!dirty(w) && strcmp(w->choice.state, "clean"))
		return np_fail("--state %s: needs dirty or clean", w->choice.state);
	if (w->partner < 0 || !w->choice.chunk)
		return np_fail(
			"handover: needs --partner CPU, where the owner of the lines runs, and --chunk");
	if (w->threads != 1)
		return np_fail("--threads %u: handover has one thread, and the owner", w->threads);
	if (w->choice.chunk % NP_LINE || w->bytes % w->choice.chunk || chunks(w) < 2)
		return np_fail(
			"--chunk %zu: needs whole lines, and --size two chunks or more, whole ones",
			w->choice.chunk);
	return 0;
}

static void run_on(int cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size = CPU_ALLOC_SIZE(cpu + 1);

	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	if (sched_setaffinity(0, size, set)) {
		np_fail("cannot run the owner on CPU %d (--partner): %s", cpu, strerror(errno));
		exit(1);
	}
	CPU_FREE(set);
}

/* Awake until its lines are read: a core that sleeps may empty its caches. */
static void *own(void *arg)
{
	const struct np_worker *w = arg;

	run_on(w->partner);
	sem_post(&owner.there);
	for (uint64_t round = 1;; round++) {
		struct np_chase_line *first;
		size_t n = chunk_lines(w);

		while (sem_wait(&owner.go))
			;
		first = chunk_of(w, round - 1);
		for (size_t i = 0; dirty(w) && i < n; i++)
			first[i].stamp++;
		if (!dirty(w))
			owner.wrong += walk(first, n);
		atomic_store(&owner.ready, round);
		while (atomic_load(&owner.done) != round)
			relax();
	}
	return NULL;
}

static int fill(struct np_slice *s)
{
	struct np_random random = np_random_from(s->w->choice.seed);
	pthread_t thread;

	for (size_t c = 0; c < chunks(s->w); c++)
		np_chase_link(chunk_of(s->w, c), chunk_lines(s->w), &random);
	sem_init(&owner.there, 0, 0);
	sem_init(&owner.go, 0, 0);
	if (pthread_create(&thread, NULL, own, s->w))
		return -EAGAIN;
	while (sem_wait(&owner.there))
		;
	return 0;
}

static uint64_t pass(struct np_slice *s)
{
	struct np_chase_line *first = chunk_of(s->w, s->passes);
	uint64_t round = ++s->passes;
	double begin;

	sem_post(&owner.go);
	while (atomic_load(&owner.ready) != round)
		relax();
	begin = np_now();
	s->sum += walk(first, chunk_lines(s->w));
	s->busy += np_now() - begin;
	atomic_store(&owner.done, round);
	return chunk_lines(s->w);
}

/* Lines that their cycle misses or that the owner has not written as often as it must. */
static size_t errors(struct np_slice *s)
{
	const struct np_worker *w = s->w;
	size_t n = chunk_lines(w), wrong = s->sum + owner.wrong;

	for (size_t c = 0; c < chunks(w); c++) {
		struct np_chase_line *first = chunk_of(w, c);
		uint64_t times = s->passes / chunks(w) + (c < s->passes % chunks(w));

		wrong += n - np_chase_lines(first, n);
		for (size_t i = 0; i < n; i++)
			wrong += first[i].stamp != (dirty(w) ? times : 0);
	}
	return wrong;
}

const struct np_kernel np_handover = {
	.name = "handover",
	.summary = "lines that another CPU has written or read, each load waits for the one before",
	.operation = "hop",
	.arrays = 1,
	.own_time = true,
	.choose = choose,
	.fill = fill,
	.pass = pass,
	.errors = errors,
	.credited_bytes = sizeof(struct np_chase_line *),
	.bus_bytes = NP_NO_ESTIMATE,
};
