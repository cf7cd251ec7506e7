// SPDX-License-Identifier: GPL-2.0-only
/* numaplace migrate: its words. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "../lib/base/grow.h"
#include "../lib/engine/module.h"
#include "migrate_targets.h"

enum {
	KEY_LIMIT = NP_KEY_OWN,
	KEY_SPLIT,
	KEY_THREADS,
	KEY_SHARED,
	KEY_FILE,
	KEY_SHM,
	KEY_SPREAD,
	KEY_DRY_RUN
};

static const struct argp_option options[] = {
	{ "from", 'f', "NODES", 0, "Only pages on these nodes (any)", 0 },
	{ "to", 't', "NODE", 0, "The node that they go to", 0 },
	{ "spread", KEY_SPREAD, "NODES", 0,
	  "In place of --to: page by page over these nodes, evenly, or by weights as in 0:3,1:1",
	  0 },
	{ "file", KEY_FILE, "PATH", 0, "Of this file, whoever maps its pages or nobody", 0 },
	{ "shm", KEY_SHM, "ID", 0, "Of this System V segment, as ipcs -m numbers them", 0 },
	NP_CGROUP_OPTION,
	NP_UNIT_OPTION,
	{ "range", 'r', "START-END", 0, "Only these addresses, in hexadecimal; may be repeated",
	  0 },
	{ "limit", KEY_LIMIT, "PAGES", 0, "End when so many pages have moved (no limit)", 0 },
	{ "shared", KEY_SHARED, NULL, 0, "Also pages that other processes map", 0 },
	{ "split", KEY_SPLIT, NULL, 0,
	  "Break up transparent huge pages that cannot be moved whole; module only", 0 },
	{ "threads", KEY_THREADS, "N", 0, "So many threads move pages (4); module only", 0 },
	{ "dry-run", KEY_DRY_RUN, NULL, 0, "Move nothing, and say what would be tried", 0 },
	NP_PACE_OPTIONS,
	NP_ENGINE_OPTION,
	NP_JSON_OPTION,
	{ 0 },
};

static int parse_range(const char *text, struct np_migrate_words *w)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
	struct np_address_range range;
	char *dash, *end;

	errno = 0;
	range.start = strtoull(text, &dash, 16);
	if (isxdigit((unsigned char)*text) && *dash == '-' && isxdigit((unsigned char)dash[1])) {
		range.end = strtoull(dash + 1, &end, 16);
		if (!*end && !errno && range.start < range.end &&
		    !((range.start | range.end) % page)) {
			if (np_grow(&w->range, w->n_ranges, sizeof(range)))
				return ENOMEM;
			w->range[w->n_ranges++] = range;
			return 0;
		}
	}
	return np_failed(ECANCELED,
			 "--range \"%s\" is not START-END in hexadecimal, multiples of %lx, as "
			 "/proc/PID/maps writes them",
			 text, page);
}

/* Refuses 0, which stands for an option that is not given. */
static int parse_count(const char *text, const char *option, unsigned long most, unsigned long *n)
{
	int e = np_arg_number(text, option, most, n);

	if (e || *n)
		return e;
	return np_failed(ECANCELED, "%s 0 would move nothing", option);
}

/* Why the words do not go together; NULL: they do. */
static const char *find_conflict(const struct np_migrate_words *w)
{
	bool processes = w->common.pids.n || w->common.cgroup || w->common.unit;

	if (processes + !!w->file + (w->segment >= 0) != 1)
		return "name processes, a cgroup, --file or --shm";
	if (!w->to && !w->spread)
		return "say where to: --to NODE or --spread NODES";
	if (w->to && w->spread)
		return "--to and --spread are two ways to say where to";
	if (w->spread && (w->from || w->r.limit || w->r.split || w->r.threads || w->r.dry))
		return "--spread takes no --from, --limit, --split, --threads and --dry-run";
	if (!processes && w->r.shared)
		return "--shared is of processes: pages of a file or a segment move whoever maps them";
	if (w->n_ranges && (w->common.pids.n != 1 || w->common.cgroup || w->common.unit))
		return "--range is of one process";
	return NULL;
}

static int check(const struct np_migrate_words *w)
{
	const char *conflict = find_conflict(w);

	return conflict ? np_failed(ECANCELED, "migrate: %s", conflict) : 0;
}

static int parse_number(int key, const char *arg, struct np_migrate_words *w)
{
	unsigned long n = 0;
	int e = key == KEY_LIMIT ? parse_count(arg, "--limit", LONG_MAX, &n) :
		key == KEY_SHM	 ? np_arg_number(arg, "--shm", INT_MAX, &n) :
				   parse_count(arg, "--threads", NP_MODULE_MAX_THREADS, &n);

	if (key == KEY_LIMIT)
		w->r.limit = n;
	else if (key == KEY_SHM)
		w->segment = (int)n;
	else
		w->r.threads = (unsigned int)n;
	return e;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct np_migrate_words *w = state->input;

	switch (key) {
	case KEY_LIMIT:
	case KEY_SHM:
	case KEY_THREADS:
		return parse_number(key, arg, w);
	case KEY_SPLIT:
		w->r.split = true;
		return 0;
	case KEY_SHARED:
		w->r.shared = true;
		return 0;
	case KEY_DRY_RUN:
		w->r.dry = true;
		return 0;
	case KEY_FILE:
		w->file = arg;
		return 0;
	case KEY_SPREAD:
		w->spread = arg;
		return 0;
	case 'f':
		w->from = arg;
		return 0;
	case 't':
		w->to = arg;
		return 0;
	case 'r':
		return parse_range(arg, w);
	case ARGP_KEY_END:
		return check(w);
	}
	return np_common_parse(key, arg, &w->common);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PID..\n--cgroup PATH\n--file PATH\n--shm ID",
	.doc = "Moves the pages of running processes to a node and says what became of each page: "
	       "moved, already there, or why it stayed. Ctrl-C ends the move; what has moved stays "
	       "moved.\v"
	       "Where a process runs is not changed; `numaplace place` does that. Pages that "
	       "several processes map move with --shared alone. Of a cgroup those are moved too that are "
	       "started meanwhile.",
};

int cmd_migrate(int argc, char **argv)
{
	struct np_migrate_words w = { .segment = -1 };
	struct np_machine m = { 0 };
	int status = np_args(&argp, argc, argv, 0, &w);

	if (!status)
		status = np_cmd_machine(&m);
	if (!status)
		status = np_migrate_targets(&w, &m);
	np_machine_free(&m);
	np_common_free(&w.common);
	free(w.range);
	return status;
}
