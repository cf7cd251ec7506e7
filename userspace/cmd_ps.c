// SPDX-License-Identifier: GPL-2.0-only
/* numaplace ps */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../policies/plan.h"
#include "cmd.h"
#include "lib/list.h"
#include "lib/snapshot.h"

#define SAMPLE_MS 100
#define MAX_SAMPLE_MS 60000

struct arguments {
	struct np_pids pids;
	unsigned long sample_ms;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print one JSON object", 0 },
	{ "sample", 's', "MS", 0, "Watch for MS milliseconds how many CPUs each keeps busy "
	  "(100; 0: do not, and take one)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'j':
		np_json = true;
		return 0;
	case 's':
		return np_arg_number(arg, "--sample", MAX_SAMPLE_MS, &a->sample_ms);
	case ARGP_KEY_ARG:
		return np_arg_add_pid(arg, &a->pids);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[PID..]",
	.doc = "Shows tasks: the CPUs they may use, the node they run on, where their anonymous "
	       "pages are, and the share of them on that node. Without a PID, every process that "
	       "may be read.",
};

static void print_task(const struct np_machine *m, const struct np_tasks *t, size_t i)
{
	const struct np_task *task = &t->task[i];
	double locality = np_task_locality(m, task);
	char list[NP_LIST_LEN], node[16] = "-", local[16] = "-";

	if (task->node != NP_NODE_NONE)
		snprintf(node, sizeof(node), "%d", m->node[task->node].id);
	if (locality >= 0)
		snprintf(local, sizeof(local), "%.1f%%", locality * 100);
	printf("%7d %-15s %4u %5u  %-10s %4s %7s", task->pid, task->comm, task->threads,
	       task->cores, np_list_format(t->cpus[i], list, sizeof(list)), node, local);
	for (size_t k = 0; k < m->n_nodes; k++)
		printf(" %9llu", (unsigned long long)task->pages[k]);
	putchar('\n');
}

static void print_text(const struct np_machine *m, const struct np_tasks *t)
{
	printf("%7s %-15s %4s %5s  %-10s %4s %7s", "PID", "COMMAND", "THR", "CORES", "CPUS", "NODE",
	       "LOCAL");
	for (size_t k = 0; k < m->n_nodes; k++) {
		char title[24];

		snprintf(title, sizeof(title), "N%d", m->node[k].id);
		printf(" %9s", title);
	}
	putchar('\n');
	for (size_t i = 0; i < t->n; i++)
		print_task(m, t, i);
}

int cmd_ps(int argc, char **argv)
{
	struct arguments a = { .sample_ms = SAMPLE_MS };
	struct np_machine m = { 0 };
	struct np_tasks t = { 0 };
	char err[NP_ERR_LEN];
	int status = np_args(&argp, argc, argv, 0, &a);

	if (!status)
		status = np_cmd_machine(&m);
	if (!status && np_tasks_read(&t, &m, a.pids.pid, a.pids.n, (unsigned int)a.sample_ms, err,
				     sizeof(err))) {
		np_error("%s", err);
		status = NP_EXIT_FAIL;
	}
	if (!status && np_json)
		np_json_print(np_snapshot_json(np_machine_where(""), &m, &t));
	else if (!status)
		print_text(&m, &t);
	np_tasks_free(&t);
	np_machine_free(&m);
	free(a.pids.pid);
	return status;
}
