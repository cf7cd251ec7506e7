// SPDX-License-Identifier: GPL-2.0-only
/* Asks the policy of one shared object about three tasks on three nodes. */
#include <errno.h>

#include "policy/policy_plugin.h"

#define N 3

static uint64_t pages[N][N] = { { 100 }, { 0, 101 }, { 0, 0, 102 } };
static const uint8_t may[N] = { 3, 3, 3 };
static int distance[N * N] = { 10, 20, 20, 20, 10, 20, 20, 20, 10 };
static int cpu_node[N] = { 0, 1, 2 };

static void print(const struct np_plan *plan, const struct np_task *tasks)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct np_decision *d = &plan->decision[i];
		const uint8_t *w = plan->spread + (d->spread < 0 ? 0 : d->spread * N);

		printf("%d: to ", tasks[i].pid);
		printf(d->to < 0 ? "-" : "%d", d->to);
		printf(d->spread < 0 ? ", spread -" : ", spread %d (%d:%d:%d)", d->spread,
		       w ? w[0] : 0, w ? w[1] : 0, w ? w[2] : 0);
		printf(": %s\n", d->reason);
	}
}

static int ask(const struct np_policy *p)
{
	struct np_node node[N] = { 0 };
	struct np_task task[N] = { 0 };
	struct np_machine m = {
		.name = "three",
		.n_nodes = N,
		.node = node,
		.distance = distance,
		.n_cpus = N,
		.cpu_node = cpu_node,
		.page_size = 4096,
	};
	struct np_options o;
	struct np_plan plan;
	int e;

	for (int i = 0; i < N; i++) {
		node[i] = (struct np_node) { .id = i,
					     .cpus = 1,
					     .has_memory = true,
					     .mem_total = 1 << 30,
					     .mem_free = 1 << 29,
					     .bandwidth = (i + 1) * 1e9 };
		task[i] = (struct np_task) { .pid = 10 + i,
					     .threads = 1,
					     .cores = 1,
					     .node = i,
					     .pages = pages[i],
					     .may = may };
	}
	np_options_defaults(p, &o);
	e = np_plan_init(&plan, &m, N);
	if (!e)
		e = np_policy_plan(p, &m, task, N, &o, &plan);
	if (!e)
		print(&plan, task);
	np_plan_free(&plan);
	return e;
}

int main(int argc, char **argv)
{
	char word[32];
	struct np_err err = { "" };
	const struct np_policy *p = argc == 2 ? np_plugin_load(argv[1], &err) : NULL;

	if (!p) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%s:", p->name);
	for (size_t i = 0; i < np_options_count(p); i++)
		printf(" %s=%s", p->option[i].name,
		       np_option_text(&p->option[i], p->option[i].def, word, sizeof(word)));
	printf("\n");
	return ask(p) ? 1 : 0;
}
