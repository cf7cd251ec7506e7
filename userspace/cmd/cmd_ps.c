// SPDX-License-Identifier: GPL-2.0-only
/* ps: tasks, the nodes that they run on and have memory on, and the cost of remote memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/files/penalty.h"
#include "../lib/files/snapshot.h"
#include "../lib/host/query_pages.h"
#include "../lib/plan/reserved_cpus.h"
#include "arg_units.h"
#include "cmd_args.h"
#include "task_table.h"

#define SAMPLE_MS	100
#define MAX_SAMPLE_MS	60000
#define COUNT_TASKS	64
#define MAX_COUNT_TASKS 4096
#define MAX_SIZE_MIB	(1 << 30)
#define LINE		16384

enum {
	KEY_COUNT = NP_KEY_OWN,
	KEY_WALK,
	KEY_SAMPLE_ABOVE,
	KEY_COLUMNS,
	KEY_LIMIT,
	KEY_NODE,
	KEY_FILES
};

struct ps_args {
	struct np_common common;
	unsigned long sample_ms, most, limit;
	const char *node;
	bool walk, files;
	struct np_task_table view;
};

static const struct argp_option options[] = {
	{ "sample", 's', "TIME", 0,
	  "Watch and count for so long; twice where --count leaves some out "
	  "(100ms; 0: do neither)",
	  0 },
	{ "count", KEY_COUNT, "N", 0, "Count what the N busiest tasks do (64)", 0 },
	{ "walk", KEY_WALK, NULL, 0,
	  "Ask for the node of every page (move_pages) instead of reading numa_maps", 0 },
	{ "files", KEY_FILES, NULL, 0,
	  "Count pages of files too, as such that no plan moves; "
	  "`numaplace files` shows them file by file",
	  0 },
	{ "sample-above", KEY_SAMPLE_ABOVE, "SIZE", 0,
	  "Ask for the node of some pages only of tasks that "
	  "have more, and say how exact that is (8GiB; 0: of none)",
	  0 },
	{ "sort", 'S', "KEY", 0,
	  "cost, busy, remote, mpki, penalty, local (the least first), pages or pid (cost)", 0 },
	{ "columns", KEY_COLUMNS, "LIST", 0,
	  "Only these, in this order: pid, command, threads, busy, node, local, "
	  "ipc, mpki, remote (REM/s), penalty, from, shm, pages (one for each node), most (the nodes "
	  "with the most pages), memory (the policy that was chosen), cpus (all; on more than 8 nodes most for pages)",
	  0 },
	{ "limit", KEY_LIMIT, "N", 0, "Print the first N only", 0 },
	{ "busy", 'b', NULL, 0, "Only tasks that ran meanwhile", 0 },
	{ "command", 'c', "TEXT", 0,
	  "Only tasks whose name holds TEXT, or is like a pattern with *, ? or [..]", 0 },
	{ "node", KEY_NODE, "NODE", 0, "Only tasks that run on this node or have pages there", 0 },
	NP_CGROUP_OPTION,
	NP_UNIT_OPTION,
	NP_JSON_OPTION,
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ps_args *a = state->input;
	double mib = 0;
	int e;

	switch (key) {
	case KEY_COLUMNS:
		return np_arg_columns(arg, &a->view);
	case 's':
		return np_arg_milliseconds(arg, "--sample", MAX_SAMPLE_MS, &a->sample_ms);
	case KEY_COUNT:
		return np_arg_number(arg, "--count", MAX_COUNT_TASKS, &a->most);
	case KEY_SAMPLE_ABOVE:
		e = np_arg_size(arg, "--sample-above", MAX_SIZE_MIB, &mib);
		np_tasks_sample_above((uint64_t)(mib * (1 << 20)));
		return e;
	case KEY_WALK:
		a->walk = true;
		return 0;
	case KEY_FILES:
		a->files = true;
		return 0;
	case KEY_LIMIT:
		return np_arg_number(arg, "--limit", 1000000000, &a->limit);
	case 'b':
		a->view.busy = true;
		return 0;
	case 'c':
		a->view.comm = arg;
		return 0;
	case KEY_NODE:
		a->node = arg;
		return 0;
	case 'S':
		return np_arg_sort(arg, &a->view.sort);
	}
	return np_common_parse(key, arg, &a->common);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[PID..]",
	.doc = "Shows tasks: the CPUs they keep busy, the node they run on, where their pages "
	       "are, and the share of them on that node: their own and those of shared memory, not "
	       "those of files. SHM: those of shared memory and of mappings with a memory policy of "
	       "their own, of which no plan moves any. Without a PID, every process that "
	       "may be read.\v"
	       "The costliest come first: remote memory accesses a second (REM/s) * penalty (PENLTY); "
	       "without a counter, pages on other nodes * CPUs kept busy * penalty. IPC, MPKI "
	       "and REM/s are \"-\" where they cannot be counted; --json says why. FROM is where "
	       "the penalty comes from: two-runs or fit, of a machine file that measure-penalty wrote. "
	       "--json prints a snapshot, which plan and predict read.",
};

/* CPUs that no task may be given; policies that numaplace has set are nobody's choice. */
static int find_reserved(struct np_machine *m, struct np_tasks *t)
{
	struct np_reserved *reserved = np_reserved_open("");

	if (!reserved)
		return -ENOMEM;
	np_reserved_subtract(reserved, m);
	for (size_t i = 0; i < t->n; i++)
		np_reserved_memory(reserved, t->task[i].pid, t->task[i].memory);
	np_reserved_close(reserved);
	return 0;
}

static void count_files(const struct np_machine *m, struct np_tasks *t)
{
	for (size_t i = 0; i < t->n * m->n_nodes; i++) {
		t->pages[i] += t->file_pages[i];
		t->shm_pages[i] += t->file_pages[i];
	}
}

static int read_tasks(const struct ps_args *a, struct np_machine *m, struct np_tasks *t)
{
	struct np_err err;
	int e = (a->common.cgroup || a->common.unit ?
			 np_tasks_read_some :
			 np_tasks_read)(t, m, a->common.pids.pid, a->common.pids.n, &err);

	if (!e && a->walk)
		e = np_query_pages(t, m, &err);
	if (!e && a->files)
		count_files(m, t);
	/* Missing counters are reported task by task. */
	if (!e && a->sample_ms)
		np_tasks_watch(t, m, a->most, (unsigned int)a->sample_ms, &err);
	if (!e)
		e = np_penalties_apply(t, &err);
	if (!e && find_reserved(m, t))
		e = np_fail(&err, -ENOMEM, "out of memory");
	if (!e && np_tasks_denied(t, &err))
		fprintf(stderr, "numaplace: %s\n", err.text);
	if (!e && !a->walk && np_tasks_were_sampled(t, &err))
		fprintf(stderr, "numaplace: %s; --walk or --sample-above 0 counts every page\n",
			err.text);
	if (!e)
		return NP_EXIT_OK;
	return np_failed(NP_EXIT_FAIL, "%s", err.text);
}

static int print_text(const struct ps_args *a)
{
	char line[LINE];

	np_task_table_heading(&a->view, line, sizeof(line));
	puts(line);
	for (size_t i = 0; i < a->view.n && (!a->limit || i < a->limit); i++) {
		np_task_table_line(&a->view, i, line, sizeof(line));
		puts(line);
	}
	if (!a->view.n_columns && a->view.m->n_nodes > NP_VIEW_NODES)
		fprintf(stderr,
			"numaplace: of %zu nodes those with the most pages of a task are shown; "
			"--columns pid,command,pages or --json shows all\n",
			a->view.m->n_nodes);
	return NP_EXIT_OK;
}

static int print(struct ps_args *a, const struct np_machine *m, const struct np_tasks *t)
{
	size_t n;

	a->view.m = m;
	a->view.t = t;
	if (np_task_table_arrange(&a->view))
		return np_failed(NP_EXIT_FAIL, "out of memory");
	if (!np_json)
		return print_text(a);
	n = a->limit && a->limit < a->view.n ? a->limit : a->view.n;
	np_json_print(np_snapshot_json_of(np_machine_platform(""), m, t, a->view.row, n));
	return NP_EXIT_OK;
}

int cmd_ps(int argc, char **argv)
{
	struct ps_args a = { .sample_ms = SAMPLE_MS, .most = COUNT_TASKS };
	struct np_machine m = { 0 };
	struct np_tasks t = { 0 };
	int status;

	np_tasks_sample_above(NP_VIEW_SAMPLE_ABOVE);
	status = np_args(&argp, argc, argv, 0, &a);
	if (!status)
		status = np_cmd_machine(&m);
	if (!status)
		status = np_arg_node(&m, "ps", a.node, -1, &a.view.node);
	if (!status)
		status = np_common_resolve(&a.common);
	if (!status)
		status = read_tasks(&a, &m, &t);
	if (!status)
		status = print(&a, &m, &t);
	np_task_table_free(&a.view);
	np_tasks_free(&t);
	np_machine_free(&m);
	np_common_free(&a.common);
	return status;
}
