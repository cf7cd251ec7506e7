// SPDX-License-Identifier: GPL-2.0-only
/*
 * One process, three arrays of its own, pages where they were asked to be.
 *
 * A runner starts several of them, misplaced, lets a policy act, and then
 * makes all of them measure at once: commands come on stdin, results leave on
 * stdout, one JSON object a line.
 */
#include "emit.h"
#include "worker.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	size_t bytes;
	const char *kernel;
	struct bitmask *cpus, *nodes;
	unsigned long long threads;
	double seconds;
};

/* libnuma's own complaints would be a second line beside ours. */
void numa_warn(int num, char *fmt, ...)
{
	(void)num;
	(void)fmt;
}

static const char usage[] =
	"usage: np-triad [--size BYTES] [--mem NODES] [--cpus LIST] [--threads N]\n"
	"                [--kernel auto|plain|sse2-nt|avx2-nt] [--seconds S] [--version]\n"
	"  --size     of each of the three arrays, with K, M or G (default 64M)\n"
	"  --mem      node of the arrays; of several, each gets an equal run of every array\n"
	"  --cpus     where the threads may run\n"
	"  --seconds  measure once and leave; without it, commands come on stdin:\n"
	"             run SECONDS [START]   measure, from START of CLOCK_MONOTONIC on\n"
	"             pages                 where the arrays' pages are\n"
	"             quit\n";

static int parse_lists(struct options *o, int opt, const char *text)
{
	if (opt == 'c') {
		o->cpus = numa_parse_cpustring_all(text);
		return o->cpus ? 0 : np_fail("--cpus %s: no such CPU here; "
					     "'numaplace topology' lists them", text);
	}
	o->nodes = numa_parse_nodestring_all(text);
	if (o->nodes && numa_bitmask_weight(o->nodes))
		return 0;
	return np_fail("--mem %s: no such node with memory here; "
		       "'numaplace topology' lists them", text);
}

static int parse_value(struct options *o, int opt, const char *text)
{
	unsigned long long threads_max = 4096;

	switch (opt) {
	case 's':
		return np_parse_bytes(text, &o->bytes) || o->bytes % sysconf(_SC_PAGESIZE) ?
		       np_fail("--size %s: needs whole pages, as in 4M", text) : 0;
	case 't':
		return np_parse_count(text, threads_max, &o->threads) || !o->threads ?
		       np_fail("--threads %s: needs a number from 1 to %llu", text, threads_max) : 0;
	case 'S':
		return np_parse_double(text, 0.001, 86400, &o->seconds) ?
		       np_fail("--seconds %s: needs 0.001 to 86400", text) : 0;
	case 'k':
		o->kernel = text;
		return 0;
	default:
		return parse_lists(o, opt, text);
	}
}

static int parse_options(struct options *o, int argc, char **argv)
{
	static const struct option table[] = {
		{ "size", required_argument, NULL, 's' },
		{ "mem", required_argument, NULL, 'm' },
		{ "cpus", required_argument, NULL, 'c' },
		{ "threads", required_argument, NULL, 't' },
		{ "kernel", required_argument, NULL, 'k' },
		{ "seconds", required_argument, NULL, 'S' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (opt == 'v' || opt == 'h') {
			fputs(opt == 'v' ? "np-triad " NP_VERSION "; " NP_BUILT_WITH "\n" : usage, stdout);
			exit(0);
		}
		if (opt == '?' || parse_value(o, opt, optarg))
			return -1;
	}
	return optind == argc ? 0 : np_fail("'%s' is not an option; see --help", argv[optind]);
}

static json_t *pages_json(const struct np_pages *count)
{
	json_t *pages = json_object();
	char key[16];

	for (int node = 0; node < NP_MAX_NODES; node++) {
		if (!count->node[node])
			continue;
		snprintf(key, sizeof(key), "%d", node);
		json_object_set_new(pages, key, json_integer(count->node[node]));
	}
	return pages;
}

static int count_pages(struct np_worker *w, struct np_pages *count)
{
	int err = np_worker_pages(w, count);

	return err ? np_fail("cannot ask where the arrays' pages are (move_pages): %s",
			     strerror(-err)) : 0;
}

/* Refuses to go on when a page is not where it was asked to be. */
static int check_pages(const struct options *o, const struct np_pages *real)
{
	struct np_pages asked = { 0 };

	for (int k = 0; k < NP_ARRAYS && o->nodes; k++)
		np_pages_asked(o->bytes, o->nodes, &asked);
	for (int node = 0; node < NP_MAX_NODES && o->nodes; node++)
		if (asked.node[node] != real->node[node])
			return np_fail("%zu of the arrays' pages are on node %d, %zu were asked to be: "
				       "has the node enough free memory?",
				       real->node[node], node, asked.node[node]);
	return real->absent ? np_fail("%zu of the arrays' pages are absent", real->absent) : 0;
}

static json_t *array_addresses(const struct np_worker *w)
{
	json_t *arrays = json_object();
	char name[2] = "a", address[32];

	for (int k = 0; k < NP_ARRAYS; k++, name[0]++) {
		snprintf(address, sizeof(address), "%p", (void *)w->array[k]);
		json_object_set_new(arrays, name, json_string(address));
	}
	return arrays;
}

static int start(struct np_worker *w, const struct options *o)
{
	struct np_pages count;
	const char *step = NULL;
	int err;

	w->kernel = np_triad_find(o->kernel);
	if (!w->kernel)
		return np_fail("--kernel %s: not one this CPU can run; see --help", o->kernel);
	if (o->cpus && numa_sched_setaffinity(0, o->cpus))
		return np_fail("cannot run on the CPUs given with --cpus: %s", strerror(errno));
	err = np_worker_init(w, o->nodes, &step);
	if (err)
		return np_fail("cannot %s of %zu bytes: %s", step, w->bytes, strerror(-err));
	if (count_pages(w, &count) || check_pages(o, &count))
		return -1;
	np_emit(json_pack("{ss si ss sI si so so}", "event", "ready", "pid", (int)getpid(),
			  "kernel", w->kernel->name, "array_bytes", (json_int_t)w->bytes,
			  "threads", (int)w->threads, "arrays", array_addresses(w),
			  "pages", pages_json(&count)));
	return 0;
}

/* Returns 0, or -1 when the result is wrong. */
static int measure(struct np_worker *w, double seconds, double when)
{
	struct np_pages count;
	struct np_run run;
	size_t errors;
	int err = np_worker_run(w, seconds, when, &run);

	if (err)
		return np_fail("cannot measure: %s", strerror(-err));
	errors = np_triad_errors(w->array[0], w->array[1], w->array[2], np_worker_elements(w));
	if (count_pages(w, &count))
		return -1;
	np_emit(json_pack("{ss sf sf sf sI sI sI sf sf sb sI so}", "event", "result",
			  "started", run.started, "finished", run.finished,
			  "seconds", run.finished - run.started, "passes", (json_int_t)run.passes,
			  "bytes_credited", (json_int_t)(run.elements * NP_TRIAD_CREDITED),
			  "bytes_bus", (json_int_t)(run.elements * w->kernel->bus_bytes),
			  "mb_per_s", run.mb_per_s,
			  "mb_per_s_bus", run.mb_per_s * w->kernel->bus_bytes / NP_TRIAD_CREDITED,
			  "verified", !errors, "wrong_elements", (json_int_t)errors,
			  "pages", pages_json(&count)));
	return errors ? np_fail("%zu of %zu elements are wrong: a is not b + s * c",
				errors, np_worker_elements(w)) : 0;
}

static int command(struct np_worker *w, char **words, int n)
{
	struct np_pages count;
	double seconds, when = 0;

	if (!strcmp(words[0], "pages") && n == 1) {
		if (count_pages(w, &count))
			return -1;
		np_emit(json_pack("{ss so}", "event", "pages", "pages", pages_json(&count)));
		return 0;
	}
	if (strcmp(words[0], "run") || n < 2 || n > 3 ||
	    np_parse_double(words[1], 0.001, 86400, &seconds) ||
	    (n == 3 && np_parse_double(words[2], 0, 1e12, &when)))
		return np_fail("'%s' is not 'run SECONDS [START]', 'pages' or 'quit'", words[0]);
	return measure(w, seconds, when);
}

static int serve(struct np_worker *w)
{
	char *words[4];
	int n;

	while ((n = np_read_words(words, 4)) >= 0) {
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
	struct options o = { .bytes = 64 << 20, .kernel = "auto", .threads = 1 };
	struct np_worker w = { 0 };

	if (numa_available() < 0) {
		np_fail("this kernel has no NUMA system calls; one built with CONFIG_NUMA is needed");
		return 3;
	}
	if (parse_options(&o, argc, argv))
		return 2;
	w.bytes = o.bytes;
	w.threads = o.threads;
	if (start(&w, &o))
		return 1;
	return (o.seconds > 0 ? measure(&w, o.seconds, 0) : serve(&w)) ? 1 : 0;
}
