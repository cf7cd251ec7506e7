// SPDX-License-Identifier: GPL-2.0-only
/* numaplace migrate */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/base/cpulist.h"
#include "../lib/host/numa_maps.h"
#include "../lib/host/proc.h"
#include "cmd_args.h"
#include "progress.h"

struct arguments {
	struct np_common common;
	const char *from, *to;
	struct np_migrate_request r; /* but for its nodes and its throttle */
};

enum { KEY_DUTY = NP_KEY_OWN, KEY_LIMIT, KEY_PAUSE, KEY_SPLIT, KEY_THREADS, KEY_SHARED };

static const struct argp_option options[] = {
	{ "from", 'f', "NODES", 0, "Only pages on these nodes (any)", 0 },
	{ "to", 't', "NODE", 0, "The node that they go to", 0 },
	{ "range", 'r', "START-END", 0, "Only these addresses, in hexadecimal", 0 },
	{ "limit", KEY_LIMIT, "PAGES", 0, "End when so many pages have moved (no limit)", 0 },
	{ "shared", KEY_SHARED, NULL, 0, "Also pages that other processes map", 0 },
	{ "pause", KEY_PAUSE, "WHEN", 0,
	  "Stop the threads that run while pages move: auto, always or never (auto); module only",
	  0 },
	{ "duty", KEY_DUTY, "PERCENT", 0,
	  "Part of the time for which threads may be stopped (50); module only", 0 },
	{ "split", KEY_SPLIT, NULL, 0,
	  "Break up transparent huge pages that cannot be moved whole; module only", 0 },
	{ "threads", KEY_THREADS, "N", 0, "So many threads move pages (4); module only", 0 },
	NP_PACE_OPTIONS,
	NP_ENGINE_OPTION,
	NP_JSON_OPTION,
	{ 0 },
};

static int parse_range(const char *text, struct arguments *a)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
	char *dash, *end;

	errno = 0;
	a->r.start = strtoull(text, &dash, 16);
	if (isxdigit((unsigned char)*text) && *dash == '-' && isxdigit((unsigned char)dash[1])) {
		a->r.end = strtoull(dash + 1, &end, 16);
		if (!*end && !errno && a->r.start < a->r.end && !((a->r.start | a->r.end) % page))
			return 0;
	}
	return np_failed(ECANCELED,
			 "--range \"%s\" is not START-END in hexadecimal, multiples of %lx, as "
			 "/proc/PID/maps writes them",
			 text, page);
}

static int parse_pause(const char *text, struct arguments *a)
{
	if (strcmp(text, "auto") && strcmp(text, "always") && strcmp(text, "never"))
		return np_failed(ECANCELED, "--pause \"%s\" is not auto, always or never", text);
	a->r.pause = text;
	return 0;
}

/* Refuses 0, which stands for an option that is not given. */
static int parse_count(const char *text, const char *option, unsigned long most, unsigned long *n)
{
	int e = np_arg_number(text, option, most, n);

	if (e || *n)
		return e;
	return np_failed(ECANCELED, "%s 0 would move nothing", option);
}

static int check(const struct arguments *a)
{
	if (a->common.pids.n == 1 && a->to)
		return 0;
	return np_failed(ECANCELED, "migrate: %s",
			 a->common.pids.n == 1 ? "say where to: --to NODE" : "name one process");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	unsigned long n = 0;
	int e;

	switch (key) {
	case KEY_DUTY:
		e = parse_count(arg, "--duty", 100, &n);
		a->r.duty = (unsigned int)n;
		return e;
	case KEY_LIMIT:
		e = parse_count(arg, "--limit", LONG_MAX, &n);
		a->r.limit = n;
		return e;
	case KEY_PAUSE:
		return parse_pause(arg, a);
	case KEY_SPLIT:
		a->r.split = true;
		return 0;
	case KEY_THREADS:
		e = parse_count(arg, "--threads", NUMAPLACE_MAX_THREADS, &n);
		a->r.threads = (unsigned int)n;
		return e;
	case KEY_SHARED:
		a->r.shared = true;
		return 0;
	case 'f':
		a->from = arg;
		return 0;
	case 't':
		a->to = arg;
		return 0;
	case 'r':
		return parse_range(arg, a);
	case ARGP_KEY_END:
		return check(a);
	}
	return np_common_parse(key, arg, &a->common);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID",
	.doc = "Moves the pages of a running process to a node and says what became of each page: "
	       "moved, already there, or why it stayed. Ctrl-C ends the move; what has moved stays "
	       "moved.\v"
	       "Where the process runs is not changed; `numaplace place` does that. Pages of files "
	       "and of shared memory move with move_pages(2) alone, where only this process maps "
	       "them or with --shared: with --engine auto and syscall, not with module.",
};

struct expected {
	const struct np_migrate_request *r;
	uint64_t pages; /* that will be asked about, for the progress bar */
};

static int expect(const struct np_mapping *map, void *arg)
{
	struct expected *x = arg;

	if ((x->r->start || x->r->end) && (map->start < x->r->start || map->start >= x->r->end))
		return 0;
	x->pages += map->total;
	return 0;
}

/* Called while pages move: draws the bar, and ends the move after Ctrl-C. */
static bool progress(const struct np_migrate_result *so_far, void *arg)
{
	const struct expected *x = arg;

	/* The module also counts every hole; those were not expected. */
	if (x->pages)
		np_progress_draw((double)(so_far->asked - so_far->absent) / (double)x->pages,
				 so_far->moved, so_far->bytes, so_far->ns);
	return !np_stopped;
}

static void print_counts(const struct np_migrate_result *out)
{
	const char *separator = "";

#define X(name) \
	if (out->name) { \
		printf("%s%llu %s", separator, (unsigned long long)out->name, #name); \
		separator = ", "; \
	}
	NUMAPLACE_COUNTS(X)
#undef X
	printf("%s", *separator ? "" : "none");
}

static void report(const struct np_migrate_request *r, const struct np_migrate_result *out,
		   const char *from, bool cancelled)
{
	struct np_proc_stat st = { .comm = "exited" };

	np_proc_stat(r->pid, &st);
	if (np_json) {
		np_json_print(json_pack("{s:i,s:o,s:s,s:i,s:b,s:o}", "pid", r->pid, "comm",
					np_json_text(st.comm), "from", from ? from : "any", "to", r->to, "cancelled",
					cancelled, "migrate", np_json_migrate(out)));
		return;
	}
	printf("%s %d (%s) to node %d: %llu pages: ", cancelled ? "cancelled, moving" : "moved",
	       r->pid, st.comm, r->to, (unsigned long long)out->asked);
	print_counts(out);
	printf("; %.1f MiB in %.3f s (%s)\n", (double)out->bytes / (1 << 20), (double)out->ns / 1e9,
	       out->engine);
}

static int migrate(const struct arguments *a, struct np_migrate_request *r)
{
	struct expected x = { .r = r };
	struct np_migrate_result out;
	const struct np_engine_ops *ops;
	struct np_err err;
	int status, e;

	ops = np_cmd_engine(a->common.engine, &status);
	if (!ops)
		return status;
	if (np_progress_watched())
		np_mappings(r->pid, (uint64_t)sysconf(_SC_PAGESIZE), expect, &x);
	np_stop_by_signals(0);
	r->progress = progress;
	r->progress_arg = &x;
	e = ops->migrate(r, &out, &err);
	if (x.pages)
		np_progress_clear();
	if (!e || e == -ECANCELED)
		report(r, &out, a->from, e);
	else
		np_error("%s", err.text);
	return np_engine_exit(e);
}

/* Checks the nodes against the machine, then moves. */
static int resolve_and_migrate(const struct arguments *a, const struct np_machine *m)
{
	struct np_migrate_request r = a->r;
	int status = NP_EXIT_USAGE;
	struct bitmask *from = NULL;
	struct np_err err;
	struct np_node_args s;

	if (m->n_nodes == 1)
		return np_failed(NP_EXIT_CANNOT,
				 "this machine has one node (%d), so there is nowhere to move pages; "
				 "`numaplace lab run` gives a machine with several",
				 m->node[0].id);
	r.pid = a->common.pids.pid[0];
	r.files = true;
	r.max_stall_us = a->common.throttle.max_stall_us;
	r.rate_mib = a->common.throttle.rate_mib;
	np_node_args_open(&s, m);
	r.to = np_node_args_one(&s.memory, a->to, &err);
	if (r.to >= 0 && a->from)
		from = np_list_parse(a->from, &s.node, &err);
	if (r.to < 0 || (a->from && !from)) {
		np_error("%s", err.text);
	} else {
		r.from = from;
		status = migrate(a, &r);
	}
	np_node_args_close(&s);
	if (from)
		numa_bitmask_free(from);
	return status;
}

int cmd_migrate(int argc, char **argv)
{
	struct arguments a = { 0 };
	struct np_machine m = { 0 };
	int status = np_args(&argp, argc, argv, 0, &a);

	if (!status)
		status = np_cmd_machine(&m);
	if (!status)
		status = resolve_and_migrate(&a, &m);
	np_machine_free(&m);
	np_common_free(&a.common);
	return status;
}
