// SPDX-License-Identifier: GPL-2.0-only
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../predict/derive_model.h"

int test_rounds(void)
{
	const char *rounds = getenv("NUMAPLACE_ROUNDS");

	return rounds ? atoi(rounds) : 300;
}

uint64_t fixture_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

void fixture_holds(bool condition, int round, const char *what, const char *text, const char *file,
		   unsigned int line)
{
	char name[200] = "";

	if (!condition)
		snprintf(name, sizeof(name), "round %d, %s: %s", round, what, text);
	CU_assertImplementation(condition, line, name, file, "", CU_TRUE);
}

void fixture_machine(struct fixture *f, size_t n_nodes, unsigned int cpus)
{
	memset(f, 0, sizeof(*f));
	f->m.n_nodes = n_nodes;
	f->m.node = f->node;
	f->m.distance = f->distance;
	f->m.page_size = 4096;
	for (size_t i = 0; i < n_nodes; i++) {
		f->node[i] = (struct np_node) {
			.id = (int)i,
			.cpus = cpus,
			.has_memory = true,
			.mem_total = 1ULL << 30,
			.mem_free = 1ULL << 30,
		};
		for (size_t j = 0; j < n_nodes; j++)
			f->distance[i * n_nodes + j] = i == j ? 10 : 21;
	}
}

struct np_task *fixture_task(struct fixture *f, int node, double penalty, double mpki)
{
	struct np_task *t = &f->task[f->n];

	*t = (struct np_task) {
		.pid = 100 + (int)f->n,
		.comm = "task",
		.threads = 1,
		.cores = 1,
		.node = node,
		.pages = f->pages[f->n],
		.penalty = penalty,
		.penalty_source = penalty == UNKNOWN ? NP_PROVENANCE_NONE : NP_PROVENANCE_DECLARED,
		.mpki = mpki,
		.mpki_source = mpki == UNKNOWN ? NP_PROVENANCE_NONE : NP_PROVENANCE_DECLARED,
	};
	f->n++;
	return t;
}

static int set_options(const struct np_policy *p, struct np_options *o, const char *options)
{
	char *copy = strdup(options), *rest = copy, *one, err[256];
	int result = 0;

	while (!result && (one = strsep(&rest, ",")))
		result = np_options_set(p, o, one, err, sizeof(err));
	free(copy);
	return result;
}

int fixture_plan(struct fixture *f, const char *name, const char *options)
{
	const struct np_policy *p = np_policy_find(name);
	static struct np_model derived;
	static uint8_t *rows;
	struct np_machine m = f->m;
	char why[200];
	int err;

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	np_options_defaults(p, &f->options);
	err = options ? set_options(p, &f->options, options) : 0;
	f->plan = (struct np_plan) {
		.n = f->n,
		.decision = f->decision,
		.pages_after = f->after,
	};
	if (!m.model && !strncmp(p->needs, "contention model", 16)) {
		CU_ASSERT_EQUAL_FATAL(np_model_derive(&derived, &m, why, sizeof(why)), 0);
		m.model = &derived;
	}
	if (!err)
		err = np_policy_plan(p, &m, f->task, f->n, &f->options, &f->plan);
	free(rows);
	rows = f->plan.spread;
	return err;
}

uint64_t fixture_pages(const struct fixture *f, size_t task)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->m.n_nodes; i++)
		sum += f->pages[task][i];
	return sum;
}

bool fixture_goes_to(const struct fixture *f, size_t n, const int *to)
{
	for (size_t i = 0; i < n; i++)
		if (f->decision[i].to != to[i]) {
			printf("task %zu is to run on node %d, not on %d\n", i, f->decision[i].to,
			       to[i]);
			return false;
		}
	return true;
}
