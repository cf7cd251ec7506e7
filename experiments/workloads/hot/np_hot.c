// SPDX-License-Identifier: GPL-2.0-only
/* A load whose right placement is known: which pages are hot when. */
#include "../emit.h"
#include "hot.h"

#include <argp.h>
#include <errno.h>
#include <numa.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS 256

static const char *const patterns[] = { "static", "moving", "scan", "growth", "phases", "ballast" };

static struct hot_run *run;

static const char about[] =
	"A load whose right placement is known. PATTERN is one of\n"
	"  static   one part of the memory is hot, or with --zipf single pages all over it are\n"
	"  moving   the hot part is the next one after each period\n"
	"  scan     all of the memory is read in turn, as many lines as of the hot part\n"
	"  growth   the memory grows for three quarters of the time, and what came last is hot\n"
	"  phases   two processes, each with half of the memory: one works, the other sleeps\n"
	"  ballast  none: only holds the nodes with CPUs full of cold memory, but for --fast-percent, until it is ended";

/* clang-format off */
static const struct argp_option table[] = {
	{ "size", 's', "BYTES|N%", 0, "of the memory, with K, M or G (64M), or percent of what the nodes with CPUs have free", 0 },
	{ "hot", 'h', "PERCENT", 0, "of it that is hot (25)", 0 },
	{ "seconds", 'S', "S", 0, "of the work (1)", 0 },
	{ "period", 'p', "S", 0, "of moving and phases (1)", 0 },
	{ "threads", 't', "N", 0, "of each process (1)", 0 },
	{ "seed", 'r', "N", 0, "(1)", 0 },
	{ "writes", 'w', "PERCENT", 0, "of the accesses (20)", 0 },
	{ "zipf", 'z', "ALPHA", 0, "pages of static by Zipf's distribution", 0 },
	{ "ballast", 'b', NULL, 0, "first fill the nodes with CPUs with cold memory; where all have CPUs, its own", 0 },
	{ "fast-percent", 'R', "PERCENT", 0, "of --size that the ballast gives back before the work (0)", 0 },
	{ "oracle", 'c', NULL, 0, "moves its hot memory to the fast nodes itself, as soon as it is hot", 0 },
	{ 0 },
};
/* clang-format on */

static int find_pattern(struct hot_options *o, const char *name)
{
	for (unsigned int k = 0; k < sizeof(patterns) / sizeof(patterns[0]); k++)
		if (!strcmp(name, patterns[k])) {
			o->pattern = k;
			o->name = patterns[k];
			return 0;
		}
	return np_fail("'%s' is no pattern; see --help", name);
}

static int parse_number(struct hot_options *o, int key, const char *text)
{
	const struct {
		int key;
		double *value, least, most;
	} number[] = {
		{ 'h', &o->hot, 0, 100 },	   { 'S', &o->seconds, 0.001, 86400 },
		{ 'p', &o->period, 0.001, 86400 }, { 't', &o->threads, 1, MAX_THREADS },
		{ 'r', &o->seed, 0, 1e9 },	   { 'w', &o->writes, 0, 100 },
		{ 'z', &o->zipf, 0.01, 10 },	   { 'R', &o->fast_percent, 0, 1000 },
	};

	for (unsigned int k = 0; k < sizeof(number) / sizeof(number[0]); k++)
		if (number[k].key == key)
			return !np_parse_double(text, number[k].least, number[k].most,
						number[k].value) ?
				       0 :
				       np_fail("'%s' is not from %g to %g; see --help", text,
					       number[k].least, number[k].most);
	return ARGP_ERR_UNKNOWN;
}

static int parse_size(struct hot_options *o, char *text)
{
	char *percent = strchr(text, '%');

	if (percent && !percent[1]) {
		*percent = '\0';
		if (!np_parse_double(text, 1, 1000, &o->share))
			return 0;
		*percent = '%';
	}
	return np_parse_bytes(text, &o->bytes) ?
		       np_fail("--size %s: needs bytes, as in 64M, or percent, as in 50%%", text) :
		       0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct hot_options *o = state->input;
	int err = 0;

	if (key == 'b')
		o->ballast = true;
	else if (key == 'c')
		o->oracle = true;
	else if (key == 's')
		err = parse_size(o, text);
	else if (key == ARGP_KEY_ARG && !o->name)
		err = find_pattern(o, text);
	else if (key == ARGP_KEY_ARG || (key == ARGP_KEY_END && !o->name))
		err = np_fail("needs one pattern; see --help");
	else
		err = parse_number(o, key, text);
	if (key == 't' && !err && o->threads != (unsigned int)o->threads)
		err = np_fail("'%s' is not a whole number; see --help", text);
	if (key == ARGP_KEY_END && o->name && o->zipf > 0 && o->pattern != HOT_STATIC)
		err = np_fail("--zipf: is of the pattern static");
	if (err == -1)
		exit(2);
	return key == ARGP_KEY_END ? 0 : err;
}

/* For a program that runs beside it. */
static int hold(const struct hot_options *o)
{
	if (hot_ballast(o) || hot_make_room(o))
		return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* Equal parts of whole pages, a page of each hot at least. */
static int divide(void)
{
	size_t page = sysconf(_SC_PAGESIZE), part = run->o.bytes / run->workers / page;
	size_t hot = run->o.hot / 100 * part;

	if (!part)
		return np_fail("--size %zu: %u threads need a page each", run->o.bytes,
			       run->workers);
	for (unsigned int k = 0; k < run->workers; k++) {
		run->worker[k].tenant = k / (unsigned int)run->o.threads;
		run->worker[k].lines = part * page / HOT_LINE;
		run->worker[k].hot_lines = (hot ? hot : 1) * page / HOT_LINE;
		run->worker[k].random = np_random_from(run->o.seed * MAX_THREADS + k);
	}
	return 0;
}

static void start_all(void)
{
	if (run->o.ballast && hot_make_room(&run->o))
		exit(1);
	puts("ready");
	fflush(stdout);
	run->begin = np_now();
}

static void *work(void *argument)
{
	struct hot_worker *w = argument;
	int err = hot_fill(&run->o, w);

	if (err) {
		np_fail("cannot fill %zu bytes: %s", w->lines * HOT_LINE, strerror(-err));
		exit(1);
	}
	hot_sample(&run->o, w, 0, w->nodes[0]);
	pthread_barrier_wait(&run->barrier);
	if (w == run->worker)
		start_all();
	pthread_barrier_wait(&run->barrier);
	hot_work(&run->o, w, run->begin);
	pthread_barrier_wait(&run->barrier);
	hot_sample(&run->o, w, run->o.seconds - 1e-6 * run->o.period,
		   w->nodes[1]); /* in the last turn */
	w->right = hot_verify(w);
	pthread_barrier_wait(&run->barrier);
	return NULL;
}

static void work_all(unsigned int tenant)
{
	pthread_t thread[MAX_THREADS];
	struct hot_worker *first = &run->worker[tenant * (unsigned int)run->o.threads];

	for (unsigned int k = 1; k < run->o.threads; k++)
		if (pthread_create(&thread[k], NULL, work, &first[k])) {
			np_fail("cannot start thread %u", k);
			exit(1);
		}
	work(first);
	for (unsigned int k = 1; k < run->o.threads; k++)
		pthread_join(thread[k], NULL);
}

static void on_child(int signal)
{
	static const char text[] = "np-hot: its other process has ended too early\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1))
		_exit(1);
	_exit(1);
}

/* The other process waits for its end, so that one that ends before is a fault. */
static pid_t start_tenant(void)
{
	pid_t parent = getpid(), child;

	signal(SIGCHLD, on_child);
	child = fork();
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	work_all(1);
	for (;;)
		pause();
}

static json_t *shares(unsigned int when, double *fast)
{
	json_t *found = json_object();
	double node[HOT_NODES] = { 0 }, all = 0;
	char name[16];

	*fast = 0;
	for (unsigned int n = 0; n < HOT_NODES; n++) {
		for (unsigned int k = 0; k < run->workers; k++)
			node[n] += run->worker[k].nodes[when][n];
		all += node[n];
	}
	for (unsigned int n = 0; n < HOT_NODES; n++) {
		if (!node[n])
			continue;
		snprintf(name, sizeof(name), "%u", n);
		json_object_set_new(found, name, json_real(node[n] / all));
		*fast += hot_is_fast(n) ? node[n] / all : 0;
	}
	return found;
}

/*
 * (sum x)^2 / (n sum x^2): 1 where all have done as much, 1/n where one has done everything.
 * Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984.
 */
static double fairness(void)
{
	unsigned int n = run->o.pattern == HOT_PHASES ? 2 : run->workers;
	double sum = 0, squares = 0, x;

	for (unsigned int k = 0; k < n; k++) {
		x = 0;
		for (unsigned int w = 0; w < run->workers; w++)
			if ((run->o.pattern == HOT_PHASES ? run->worker[w].tenant : w) == k)
				x += run->worker[w].operations;
		sum += x;
		squares += x * x;
	}
	return squares > 0 ? sum * sum / (n * squares) : 1;
}

static int tell(void)
{
	struct np_histogram latency = { 0 };
	double operations = 0, late = 0, fast[2];
	bool right = true;
	json_t *start = shares(0, &fast[0]), *end = shares(1, &fast[1]);

	for (unsigned int k = 0; k < run->workers; k++) {
		struct hot_worker *w = &run->worker[k];

		operations += w->operations;
		late += w->late;
		right &= w->right;
		for (unsigned int b = 0; b < NP_HIST_BUCKETS; b++)
			latency.bucket[b] += w->latency.bucket[b];
		latency.count += w->latency.count;
		latency.max = w->latency.max > latency.max ? w->latency.max : latency.max;
	}
	np_emit(json_pack("{s:s, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:o, s:f, s:f, s:b}", "pattern", run->o.name,
			  "operations", operations, "ops_per_second", operations / run->o.seconds,
			  "late_ops_per_second", late / run->o.seconds * 3,
			  "fairness", fairness(), "p50_ns", (json_int_t)np_histogram_at(&latency, 0.5),
			  "p99_ns", (json_int_t)np_histogram_at(&latency, 0.99), "nodes_start", start, "nodes_end", end,
			  "fast_start", fast[0], "fast_end", fast[1], "right", right));
	return right ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct argp parser = { table, parse, "PATTERN", about, NULL, NULL, NULL };
	struct hot_options o = { .bytes = 64 << 20,
				 .hot = 25,
				 .seconds = 1,
				 .period = 1,
				 .threads = 1,
				 .seed = 1,
				 .writes = 20 };
	pthread_barrierattr_t shared;
	unsigned int workers;
	pid_t child = 0;

	argp_program_version = "np-hot " NP_VERSION "; " NP_BUILT_WITH;
	argp_err_exit_status = 2;
	argp_parse(&parser, argc, argv, 0, NULL, &o);
	if (o.share > 0)
		o.bytes = o.share / 100 * hot_free(true);
	if (o.pattern == HOT_BALLAST)
		return hold(&o);
	workers = o.threads * (o.pattern == HOT_PHASES ? 2 : 1);
	run = mmap(NULL, sizeof(*run) + workers * sizeof(run->worker[0]), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED)
		return -np_fail("no memory: %s", strerror(errno));
	run->o = o;
	run->workers = workers;
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&run->barrier, &shared, workers);
	if (divide())
		return 2;
	if (o.ballast && hot_ballast(&run->o))
		return 1;
	if (workers > o.threads && (child = start_tenant()) < 0)
		return -np_fail("cannot start the other process: %s", strerror(errno));
	work_all(0);
	if (child) {
		signal(SIGCHLD, SIG_DFL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return tell();
}
