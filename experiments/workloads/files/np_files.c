// SPDX-License-Identifier: GPL-2.0-only
/* Processes that share one file or segment: its bytes are loaded by another than those that use them. */
#include "../emit.h"
#include "../pages.h"
#include "shared.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 256

static const struct np_use *const uses[] = { &np_stream, &np_sweep, NULL };

static const char about[] =
	"Processes that use one file or segment, which another process has loaded. OPERATION is one of\n"
	"  stream  each reads all of it from the beginning to the end, again and again, as a model is for each token\n"
	"  sweep   each reads buffers of 8 KiB in random order; one in eight is replaced, which a clock sweep chooses,\n"
	"          as in the shared buffers of PostgreSQL";

/* clang-format off */
static const struct argp_option table[] = {
	{ "size", 's', "BYTES", 0, "of what is shared, with K, M or G (16M)", 0 },
	{ "kind", 'k', "KIND", 0, "file (in --folder), memfd or shm, a System V segment (file)", 0 },
	{ "folder", 'f', "PATH", 0, "where the file is; it is removed at the end (.)", 0 },
	{ "processes", 'p', "N", 0, "that use it (2)", 0 },
	{ "loaded", 'l', "NODE", 0, "on which its pages are at first: first or last of those with memory, or a number (last)", 0 },
	{ "seconds", 'S', "S", 0, "of the work (1)", 0 },
	{ "seed", 'r', "N", 0, "of random order (1)", 0 },
	{ 0 },
};
/* clang-format on */

struct options {
	struct np_shared shared;
	const struct np_use *use;
	const char *loaded;
	unsigned long long processes, seed;
	double seconds;
};

/* What a process has done, in memory that parent and children share. */
struct done {
	double rate, operations; /* bytes and operations a second */
	double late;		 /* bytes a second in the second half of the time */
	bool wrong;
};

static int find_use(struct options *o, const char *name)
{
	for (size_t i = 0; uses[i]; i++)
		if (!strcmp(uses[i]->name, name)) {
			o->use = uses[i];
			return 0;
		}
	return np_fail("'%s' is no operation; see --help", name);
}

static int parse_number(int key, const char *text, struct options *o)
{
	switch (key) {
	case 's':
		return np_parse_bytes(text, &o->shared.bytes) || o->shared.bytes < NP_SHARED_LEAST ?
			       np_fail("--size %s: needs 1M at least", text) :
			       0;
	case 'p':
		return np_parse_count(text, MAX_PROCESSES, &o->processes) || !o->processes ?
			       np_fail("--processes %s: is not from 1 to %d", text, MAX_PROCESSES) :
			       0;
	case 'S':
		return np_parse_double(text, 0.001, 86400, &o->seconds) ?
			       np_fail("--seconds %s: is not from 0.001 to 86400", text) :
			       0;
	default:
		return np_parse_count(text, ~0ULL, &o->seed) ?
			       np_fail("--seed %s: is no number", text) :
			       0;
	}
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct options *o = state->input;
	int err = 0;

	if (key == 's' || key == 'p' || key == 'S' || key == 'r')
		err = parse_number(key, text, o);
	else if (key == 'k')
		err = np_shared_kind(text, &o->shared.kind) ?
			      np_fail("--kind %s: needs file, memfd or shm", text) :
			      0;
	else if (key == 'f')
		o->shared.folder = text;
	else if (key == 'l')
		o->loaded = text;
	else if (key == ARGP_KEY_ARG && !o->use)
		err = find_use(o, text);
	else if (key == ARGP_KEY_ARG || (key == ARGP_KEY_END && !o->use))
		err = np_fail("needs one operation; see --help");
	else if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	if (err)
		exit(2);
	return 0;
}

/* The kernel's number of the node, or -1 after a line. */
static int find_node(const char *word)
{
	unsigned long long number;
	int found = -1;

	if (!np_parse_count(word, NP_MAX_NODES - 1, &number)) {
		if (number <= (unsigned int)numa_max_node() &&
		    numa_bitmask_isbitset(numa_all_nodes_ptr, (unsigned int)number))
			return (int)number;
		return np_fail("--loaded %s: no node of that number has memory", word);
	}
	if (strcmp(word, "first") && strcmp(word, "last"))
		return np_fail("--loaded %s: needs first, last or a number", word);
	for (int node = 0; node <= numa_max_node(); node++) {
		if (!numa_bitmask_isbitset(numa_all_nodes_ptr, (unsigned int)node))
			continue;
		found = node;
		if (!strcmp(word, "first"))
			break;
	}
	return found;
}

/* In a process of its own, so that those that use it never had its memory policy. */
static int load(const struct options *o, int node)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(np_shared_load(&o->shared, o->use, node) ? 1 : 0);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return np_fail("cannot start the process that loads it: %s", strerror(errno));
	return status ? -1 : 0;
}

static void use(const struct options *o, unsigned long long number, struct done *done)
{
	struct np_turn turn = { .shared = &o->shared,
				.random = np_random_from(o->seed * MAX_PROCESSES + number) };
	double begin = np_now(), half = begin + o->seconds / 2, middle = 0, end = begin;
	unsigned long long before = 0;

	while (end < begin + o->seconds) {
		o->use->work(&turn);
		end = np_now();
		if (!middle && end >= half) {
			middle = end;
			before = turn.bytes;
		}
	}
	*done = (struct done) {
		.rate = (double)turn.bytes / (end - begin),
		.operations = (double)turn.operations / (end - begin),
		.late = end > middle ? (double)(turn.bytes - before) / (end - middle) : 0,
		.wrong = turn.wrong,
	};
}

/* Each says that it has its memory, and begins when all have: the first ones would be alone with it. */
struct gate {
	int touched[2], open[2]; /* pipes: a byte of each; its end */
};

static void work_behind(const struct options *o, unsigned long long number, struct gate *g,
			struct done *done)
{
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(g->open[1]);
	np_shared_touch(&o->shared);
	if (write(g->touched[1], &byte, 1) != 1)
		_exit(1);
	close(g->touched[1]); /* one that ends before its byte is seen by that */
	while (read(g->open[0], &byte, 1) < 0 && errno == EINTR)
		;
	use(o, number, done);
	_exit(0);
}

static int start(const struct options *o, struct gate *g, struct done *done, pid_t *pids)
{
	char byte;

	if (pipe(g->touched) || pipe(g->open))
		return np_fail("no pipe: %s", strerror(errno));
	for (unsigned long long i = 1; i < o->processes; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return np_fail("process %llu cannot be started: %s", i, strerror(errno));
		if (!pids[i])
			work_behind(o, i, g, &done[i]);
	}
	close(g->touched[1]);
	np_shared_touch(&o->shared);
	for (unsigned long long i = 1; i < o->processes; i++)
		if (read(g->touched[0], &byte, 1) != 1)
			return np_fail("a process has ended before it had its memory");
	return 0;
}

static int report(const struct options *o, const struct done *done, const pid_t *pids)
{
	struct done all = { 0 };
	int status;

	for (unsigned long long i = 0; i < o->processes; i++) {
		if (i && (waitpid(pids[i], &status, 0) != pids[i] || status))
			return np_fail("process %llu has failed", i);
		all.rate += done[i].rate;
		all.operations += done[i].operations;
		all.late += done[i].late;
		all.wrong |= done[i].wrong;
	}
	np_emit(json_pack("{s:s, s:s, s:I, s:f, s:f, s:f, s:b}", "operation", o->use->name, "kind",
			  np_shared_kind_name(o->shared.kind), "processes", (json_int_t)o->processes, "bytes_per_second",
			  all.rate, "late_bytes_per_second", all.late, "operations_per_second", all.operations, "right",
			  !all.wrong));
	return 0;
}

/* "ready" when each process has its memory; then the work begins. This process is the first of them: no task idles. */
static int run(const struct options *o)
{
	struct done *done = mmap(NULL, MAX_PROCESSES * sizeof(*done), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[MAX_PROCESSES];
	struct gate g;

	if (done == MAP_FAILED)
		return np_fail("no memory for results: %s", strerror(errno));
	if (start(o, &g, done, pids))
		return -1;
	puts("ready");
	fflush(stdout);
	close(g.open[1]);
	use(o, 0, &done[0]);
	return report(o, done, pids);
}

int main(int argc, char **argv)
{
	static const struct argp parser = { table, parse, "OPERATION", about, NULL, NULL, NULL };
	struct options o = { .shared = { .bytes = 16 << 20, .folder = "." },
			     .loaded = "last",
			     .processes = 2,
			     .seconds = 1,
			     .seed = 1 };
	int node, status;

	argp_program_version = "np-files " NP_VERSION "; " NP_BUILT_WITH;
	argp_err_exit_status = 2;
	argp_parse(&parser, argc, argv, 0, NULL, &o);
	if (!np_pages_available())
		return 3;
	node = find_node(o.loaded);
	if (node < 0)
		return 2;
	status = np_shared_open(&o.shared) || load(&o, node) || run(&o);
	np_shared_close(&o.shared);
	return status ? 1 : 0;
}
