// SPDX-License-Identifier: GPL-2.0-only
/*
 * One process, arrays of its own, pages where they were asked to be.
 *
 * A runner starts several of them, perhaps lets a policy act, and then
 * makes all of them measure at once: commands come on stdin, results leave on
 * stdout, one JSON object a line.
 */
#include "../emit.h"
#include "options.h"
#include "stream.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NP_MOST_OPERATIONS (1ULL << 60)

static int count_pages(struct np_worker *w, struct np_pages *count)
{
	int err = np_worker_pages(w, count);

	return err ? np_fail("cannot ask where the arrays' pages are (move_pages): %s",
			     strerror(-err)) :
		     0;
}

/* Refuses to go on when a page is not where it was asked to be. */
static int check_pages(const struct np_options *o, const struct np_worker *w,
		       const struct np_pages *real)
{
	struct np_pages asked = { 0 };

	for (unsigned int k = 0; k < w->kernel->arrays && o->nodes; k++)
		np_pages_asked(w->bytes, o->nodes, &asked);
	if (o->nodes && np_pages_compare(&asked, real))
		return -1;
	return real->absent ? np_fail("%zu of the arrays' pages are absent", real->absent) : 0;
}

static json_t *array_addresses(const struct np_worker *w)
{
	json_t *arrays = json_object();
	char name[2] = "a", address[32];

	for (unsigned int k = 0; k < w->kernel->arrays; k++, name[0]++) {
		snprintf(address, sizeof(address), "%p", (void *)w->array[k]);
		json_object_set_new(arrays, name, json_string(address));
	}
	return arrays;
}

static int start(struct np_worker *w, const struct np_options *o)
{
	struct np_pages count;
	const char *step = NULL;
	int err;

	if (w->kernel->choose && w->kernel->choose(w))
		return -1;
	if (o->pin && np_options_pin(o, w))
		return -1;
	if (o->cpus && numa_sched_setaffinity(0, o->cpus))
		return np_fail("cannot run on the CPUs given with --cpus: %s", strerror(errno));
	err = np_worker_init(w, o->nodes, &step);
	if (err)
		return np_fail("cannot %s of %zu bytes: %s", step, w->bytes, strerror(-err));
	if (count_pages(w, &count) || check_pages(o, w, &count))
		return -1;
	np_emit(json_pack("{ss si ss ss ss sI si sI so so}", "event", "ready", "pid", (int)getpid(),
			  "operation", w->kernel->name, "kernel", w->variant ? w->variant->name : "c",
			  "counts", w->kernel->operation, "array_bytes", (json_int_t)w->bytes,
			  "threads", (int)w->threads, "huge_kib", (json_int_t)np_pages_huge_kib(),
			  "arrays", array_addresses(w), "pages", np_pages_json(&count)));
	return 0;
}

/* ns of an operation, stretch by stretch; a list for each thread. */
static json_t *samples_json(const struct np_worker *w, const struct np_run *run)
{
	json_t *all = json_array(), *one;

	for (unsigned int k = 0; k < w->threads; k++) {
		const struct np_thread_run *t = &run->thread[k];

		one = json_array();
		for (unsigned int i = 0; i < t->n; i++)
			json_array_append_new(one, json_real(1e9 * t->sample[i].seconds /
							     t->sample[i].operations));
		json_array_append_new(all, one);
	}
	return all;
}

static json_t *result_json(const struct np_worker *w, const struct np_run *run, size_t errors)
{
	const struct np_kernel *kernel = w->kernel;
	double credited = kernel->credited ? kernel->credited(w) : kernel->credited_bytes;
	double bus = kernel->bus ? kernel->bus(w) : kernel->bus_bytes, ns = 0;
	double warm = 0;
	json_t *result;

	for (unsigned int k = 0; k < w->threads; k++)
		warm += run->thread[k].warm_per_second;
	for (unsigned int k = 0; k < w->threads; k++)
		ns += 1e9 * run->thread[k].busy / run->thread[k].operations / w->threads;
	result = json_pack("{ss sf sf sf sI sI ss sf sf sf sI sf sb sI so}", "event", "result",
			   "started", run->started, "finished", run->finished,
			   "seconds", run->finished - run->started,
			   "passes", (json_int_t)run->passes,
			   "operations", (json_int_t)run->operations, "counts", w->kernel->operation,
			   "per_second", run->per_second, "warm_per_second", warm, "ns_per_operation", ns,
			   "bytes_credited", (json_int_t)(run->operations * credited),
			   "mb_per_s", run->per_second * credited / 1e6,
			   "verified", !errors, "wrong_elements", (json_int_t)errors,
			   "samples_ns", samples_json(w, run));
	if (w->kernel->per_iteration)
		json_object_set_new(result, "iterations_per_second",
				    json_real(run->per_second / w->kernel->per_iteration(w)));
	if (bus == NP_NO_ESTIMATE)
		bus = NAN;
	/* No estimate is null, never 0. */
	json_object_set_new(result, "bytes_bus",
			    isnan(bus) ? json_null() : json_integer(run->operations * bus));
	json_object_set_new(result, "mb_per_s_bus",
			    isnan(bus) ? json_null() : json_real(run->per_second * bus / 1e6));
	return result;
}

/* Returns 0, or -1 when the result is wrong. */
static int measure(struct np_worker *w, const struct np_when *when)
{
	struct np_pages count;
	struct np_run run;
	json_t *result;
	size_t errors;
	int err = np_worker_run(w, when, &run);

	if (err)
		return np_fail("cannot measure: %s", strerror(-err));
	errors = np_worker_errors(w);
	result = result_json(w, &run, errors);
	np_run_free(&run);
	if (count_pages(w, &count)) {
		json_decref(result);
		return -1;
	}
	json_object_set_new(result, "pages", np_pages_json(&count));
	np_emit(result);
	return errors ? np_fail("%zu elements are wrong: not what %s must leave", errors,
				w->kernel->name) :
			0;
}

static int command(struct np_worker *w, char **words, int n)
{
	struct np_when when = { 0 };
	unsigned long long operations;
	struct np_pages count;

	if (!strcmp(words[0], "pages") && n == 1) {
		if (count_pages(w, &count))
			return -1;
		np_emit(json_pack("{ss so}", "event", "pages", "pages", np_pages_json(&count)));
		return 0;
	}
	if (!strcmp(words[0], "work") && n == 2 &&
	    !np_parse_count(words[1], NP_MOST_OPERATIONS, &operations) && operations) {
		when.operations = (operations + w->threads - 1) / w->threads;
		return measure(w, &when);
	}
	if (strcmp(words[0], "run") || n < 2 || n > 4 ||
	    np_parse_double(words[1], 0.001, 86400, &when.seconds) ||
	    (n > 2 && np_parse_double(words[2], 0, 1e12, &when.start)) ||
	    (n > 3 && np_parse_double(words[3], 0, 86400, &when.warm)))
		return np_fail(
			"'%s' is not 'run SECONDS [START [WARM]]', 'work OPERATIONS', 'pages' or 'quit'",
			words[0]);
	return measure(w, &when);
}

static int serve(struct np_worker *w)
{
	char *words[5];
	int n;

	while ((n = np_read_words(words, 5)) >= 0) {
		if (!n)
			continue;
		if (!strcmp(words[0], "quit"))
			break;
		if (command(w, words, n))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct np_options o = { 0 };
	struct np_worker w = {
		.bytes = 64 << 20,
		.threads = 1,
		.partner = -1,
		.choice = { .variant = "auto",
			    .pattern = "sequential",
			    .alpha = 1.55,
			    .seed = 1,
			    .mix = "1:0",
			    .state = "dirty" },
	};

	if (!np_pages_available())
		return 3;
	if (np_options_parse(&o, &w, argc, argv))
		return 2;
	if (start(&w, &o))
		return 1;
	return (o.seconds > 0 ? measure(&w, &(struct np_when) { .seconds = o.seconds }) :
				serve(&w)) ?
		       1 :
		       0;
}
