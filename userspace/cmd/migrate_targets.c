// SPDX-License-Identifier: GPL-2.0-only
#include "migrate_targets.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/base/cpulist.h"
#include "../lib/base/printable.h"
#include "../lib/engine/migrate_file.h"
#include "../lib/host/numa_maps.h"
#include "../lib/host/proc.h"
#include "progress.h"

#define MAX_WEIGHT 1000000

struct moving {
	const struct np_migrate_words *w;
	const struct np_engine_ops *ops;
	struct np_migrate_request r;
	double share[NP_MAX_NODES]; /* of r, where pages are spread */
	size_t named;		    /* processes by number: the first of all */
	uint64_t expected;	    /* pages that will be asked about, for the progress bar */
	json_t *moves;		    /* an object for each target */
};

/* Called while pages move: draws the bar, and ends the move after Ctrl-C. */
static bool progress(const struct np_migrate_result *so_far, void *arg)
{
	const struct moving *g = arg;

	/* The module also counts every hole; those were not expected. */
	if (g->expected)
		np_progress_draw((double)(so_far->asked - so_far->absent) / (double)g->expected,
				 so_far->moved, so_far->bytes, so_far->ns);
	return !np_stopped;
}

static int expect(const struct np_mapping *map, void *arg)
{
	struct moving *g = arg;
	bool all = !g->w->n_ranges;

	for (size_t i = 0; i < g->w->n_ranges && !all; i++)
		all = map->start >= g->w->range[i].start && map->start < g->w->range[i].end;
	g->expected += all ? map->total : 0;
	return 0;
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

/* What the pages are of: a process, a file or a segment, as words and as JSON. */
static json_t *describe(const struct np_migrate_words *w, pid_t pid, char *words, size_t len)
{
	struct np_proc_stat st = { .comm = "exited" };

	if (w->file) {
		snprintf(words, len, "%s", w->file);
		return json_pack("{s:o}", "file", np_json_text(w->file));
	}
	if (w->segment >= 0) {
		snprintf(words, len, "segment %d", w->segment);
		return json_pack("{s:i}", "shm", w->segment);
	}
	np_proc_stat(pid, &st);
	snprintf(words, len, "%d (%s)", pid, st.comm);
	return json_pack("{s:i,s:o}", "pid", pid, "comm", np_json_text(st.comm));
}

static void print_move(const struct moving *g, const char *words,
		       const struct np_migrate_result *out, bool cancelled)
{
	const char *begin = g->r.dry ? "would move" : cancelled ? "cancelled, moving" : "moved";

	if (g->w->spread)
		printf("%s %s over nodes %s: ", begin, words, g->w->spread);
	else
		printf("%s %s to node %d: ", begin, words, g->r.to);
	printf("%llu pages: ", (unsigned long long)out->asked);
	print_counts(out);
	printf("; %.1f MiB in %.3f s (%s)\n", (double)out->bytes / (1 << 20), (double)out->ns / 1e9,
	       out->engine);
}

static void report(struct moving *g, const struct np_migrate_result *out, bool cancelled)
{
	const struct np_migrate_words *w = g->w;
	char words[PATH_MAX];
	json_t *what = describe(w, g->r.pid, words, sizeof(words));

	np_printable(words); /* a file's name may have a newline or more than that */
	if (!np_json)
		print_move(g, words, out, cancelled);
	if (w->spread)
		json_object_set_new(what, "spread", json_string(w->spread));
	else
		json_object_update_new(what, json_pack("{s:s,s:i}", "from", w->from ? w->from : "any", "to", g->r.to));
	if (g->r.dry)
		json_object_set_new(what, "dry_run", json_true());
	json_object_update_new(what, json_pack("{s:b,s:o}", "cancelled", cancelled, "migrate", np_json_migrate(out)));
	json_array_append_new(g->moves, what);
}

/* All that was named of a process. Its limit is one of all ranges together. */
static int move_process(struct moving *g, struct np_migrate_result *out, struct np_err *err)
{
	const struct np_migrate_words *w = g->w;
	uint64_t limit = g->r.limit;
	int e = 0;

	if (!w->n_ranges)
		return g->ops->migrate(&g->r, out, err);
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; !e && i < w->n_ranges && (!limit || out->moved < limit); i++) {
		struct np_migrate_result one = { .engine = g->ops->name };

		g->r.start = w->range[i].start;
		g->r.end = w->range[i].end;
		g->r.limit = limit ? limit - out->moved : 0;
		e = g->ops->migrate(&g->r, &one, err);
		np_migrate_add(out, &one);
	}
	g->r.limit = limit;
	return e;
}

/* It is mapped here meanwhile. */
static int move_file(struct moving *g, struct np_migrate_result *out, struct np_err *err)
{
	struct np_mapped_file file = { 0 };
	int e = g->w->file ? np_mapped_file_open(&file, g->w->file, err) :
			     np_mapped_file_attach(&file, g->w->segment, err);

	if (!e)
		e = np_migrate_file(&file, g->ops, &g->r, out, err);
	np_mapped_file_close(&file);
	return e;
}

/* One target: pid 0 is the file or the segment. strict: that it has ended is an error. An exit status. */
static int move_target(struct moving *g, pid_t pid, bool strict)
{
	struct np_migrate_result out = { .engine = g->ops->name };
	struct np_err err;
	int e;

	g->r.pid = pid ? pid : getpid();
	g->expected = 0;
	if (pid && np_progress_watched())
		np_mappings(pid, (uint64_t)sysconf(_SC_PAGESIZE), expect, g);
	e = pid ? move_process(g, &out, &err) : move_file(g, &out, &err);
	if (g->expected)
		np_progress_clear();
	if (g->r.limit)
		g->r.limit = g->r.limit > out.moved ? g->r.limit - out.moved : UINT64_MAX;
	/* What has moved before an error has moved. */
	if (!e || e == -ECANCELED || out.asked)
		report(g, &out, e == -ECANCELED);
	if (e == -ESRCH && !strict)
		e = 0;
	if (e && e != -ECANCELED)
		np_error("%s", err.text);
	return np_engine_exit(e);
}

/* The processes of *pids from number `first` on. Of a cgroup's some end meanwhile. */
static int move_each(struct moving *g, const struct np_pids *pids, size_t first)
{
	int status = NP_EXIT_OK;
	size_t i;

	for (i = first; i < pids->n && !np_stopped && g->r.limit != UINT64_MAX; i++) {
		int one = move_target(g, pids->pid[i], i < g->named);

		status = status ? status : one;
	}
	if (i < pids->n && np_stopped)
		return np_failed(NP_EXIT_FAIL, "cancelled: %zu of %zu processes were not begun",
				 pids->n - i, pids->n);
	return status;
}

/*
 * Those that have been started in the cgroup meanwhile come last. Once: their parents have moved by
 * then, and a cgroup that starts processes all the time has always more. It may go with its last one.
 */
static int move_processes(struct moving *g, struct np_common *c)
{
	size_t n = c->pids.n;
	int status = move_each(g, &c->pids, 0), more, e;
	struct np_err err;

	e = np_stopped ? 0 : np_common_find(c, &err);
	more = e && e != -ENOENT ? np_failed(np_engine_exit(e), "%s", err.text) :
				   move_each(g, &c->pids, n);
	return status ? status : more;
}

static bool parse_weight(const char *text, double *weight)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*weight += (double)value;
	return *text >= '0' && *text <= '9' && !*end && value >= 1 && value <= MAX_WEIGHT;
}

/* A weight for each node, "0:3,1:1". 0, or -EINVAL with one line in err. */
static int parse_weights(const char *text, const struct np_node_args *s, double *weight,
			 struct np_err *err)
{
	char *words = strdup(text), *save = NULL;
	int e = words ? 0 : np_fail(err, -ENOMEM, "out of memory");

	for (char *word = words ? strtok_r(words, ",", &save) : NULL; word && !e;
	     word = strtok_r(NULL, ",", &save)) {
		char *colon = strchr(word, ':');
		int node;

		if (colon)
			*colon = '\0';
		node = np_node_args_one(&s->memory, word, err);
		if (node < 0)
			e = -EINVAL;
		else if (!colon || !parse_weight(colon + 1, &weight[node]))
			e = np_fail(err, -EINVAL,
				    "--spread %s: node %d needs a weight from 1 to %d, as in 0:3,1:1",
				    text, node, MAX_WEIGHT);
	}
	free(words);
	return e;
}

/* Shares by node number of NODES, or of weights. */
static int parse_spread(struct moving *g, const struct np_node_args *s, struct np_err *err)
{
	const char *text = g->w->spread;
	struct bitmask *nodes;
	double sum = 0;
	int e = 0;

	if (strchr(text, ':')) {
		e = parse_weights(text, s, g->share, err);
	} else if ((nodes = np_list_parse(text, &s->memory, err))) {
		for (unsigned int node = 0; node < nodes->size && node < NP_MAX_NODES; node++)
			g->share[node] = numa_bitmask_isbitset(nodes, node) ? 1 : 0;
		numa_bitmask_free(nodes);
	} else {
		e = -EINVAL;
	}
	/* Pages of every node of the machine are to be spread, also of those that get none. */
	for (size_t i = 0; !e && i < s->m->n_nodes; i++) {
		size_t id = (size_t)s->m->node[i].id;

		sum += g->share[id];
		g->r.n_nodes = id + 1 > g->r.n_nodes ? id + 1 : g->r.n_nodes;
	}
	for (size_t node = 0; !e && node < g->r.n_nodes; node++)
		g->share[node] /= sum;
	g->r.share = g->share;
	return e;
}

/* Nodes that were named become numbers. *from is the caller's to free. 0, or -errno with one line in err. */
static int resolve_nodes(struct moving *g, const struct np_machine *m, struct bitmask **from,
			 struct np_err *err)
{
	const struct np_migrate_words *w = g->w;
	struct np_node_args s;
	int e = 0;

	np_node_args_open(&s, m);
	if (w->to && (g->r.to = np_node_args_one(&s.memory, w->to, err)) < 0)
		e = -EINVAL;
	if (!e && w->from && !(*from = np_list_parse(w->from, &s.node, err)))
		e = -EINVAL;
	if (!e && w->spread)
		e = parse_spread(g, &s, err);
	np_node_args_close(&s);
	g->r.from = *from;
	return e;
}

static void set_request(struct moving *g, const struct np_migrate_words *w)
{
	g->r = w->r;
	g->r.files = true;
	g->r.max_stall_us = w->common.throttle.max_stall_us;
	g->r.rate_mib = w->common.throttle.rate_mib;
	g->r.progress = progress;
	g->r.progress_arg = g;
}

/* One target is an object of its own; several are a list. */
static void print_json(const struct moving *g)
{
	const struct np_common *c = &g->w->common;
	bool one = c->pids.n <= 1 && !c->cgroup && !c->unit;

	if (np_json && !one)
		np_json_print(json_pack("{s:O}", "moves", g->moves));
	else if (np_json && json_array_size(g->moves))
		np_json_print(json_incref(json_array_get(g->moves, 0)));
}

static int move_all(struct moving *g, struct np_migrate_words *w)
{
	int status = np_common_resolve(&w->common);

	if (status)
		return status;
	g->ops = np_cmd_engine(w->common.engine, &status);
	if (!g->ops)
		return status;
	np_stop_by_signals(0);
	status = w->file || w->segment >= 0 ? move_target(g, 0, true) :
					      move_processes(g, &w->common);
	print_json(g);
	return status;
}

int np_migrate_targets(struct np_migrate_words *w, const struct np_machine *m)
{
	struct moving g = { .w = w, .named = w->common.pids.n };
	struct bitmask *from = NULL;
	struct np_err err;
	int status = NP_EXIT_USAGE;

	if (m->n_nodes == 1)
		return np_failed(NP_EXIT_CANNOT,
				 "this machine has one node (%d), so there is nowhere to move pages; "
				 "`numaplace lab run` gives a machine with several",
				 m->node[0].id);
	g.moves = json_array();
	set_request(&g, w);
	if (resolve_nodes(&g, m, &from, &err))
		np_error("%s", err.text);
	else
		status = move_all(&g, w);
	if (from)
		numa_bitmask_free(from);
	json_decref(g.moves);
	return status;
}
