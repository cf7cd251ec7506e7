// SPDX-License-Identifier: GPL-2.0-only
/* Properties of every policy on any machine: hundreds of machines, always the same ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

#define ROUNDS test_rounds()

static uint64_t state;
static int round_number;
static const char *policy = "";

/* Ends the test at the first round in which it does not hold, and names round and policy. */
#define HOLDS(condition) FIXTURE_HOLDS(condition, round_number, policy)

static struct fixture f;

static uint64_t random_below(uint64_t limit)
{
	return fixture_random(&state) % limit;
}

static bool one_in(uint64_t n)
{
	return random_below(n) == 0;
}

/* Sparse ids, asymmetric distances, nodes without CPUs or memory, full nodes. */
static void random_machine(struct fixture *f)
{
	size_t k = 1 + random_below(MAX_NODES);

	fixture_machine(f, k, 1);
	for (size_t i = 0; i < k; i++) {
		struct np_node *node = &f->node[i];

		node->id = (int)(2 * i + random_below(2));
		node->cpus = one_in(6) ? 0 : 1 + (unsigned int)random_below(8);
		node->has_memory = !one_in(6);
		node->mem_total = node->has_memory ? 1ULL << 30 : 0;
		node->mem_free = one_in(4) ? 0 : random_below(node->mem_total + 1);
		for (size_t j = 0; j < k; j++)
			f->distance[i * k + j] = i == j ? 10 : 11 + (int)random_below(40);
	}
	f->node[random_below(k)].cpus = 4;
}

static void random_task(struct fixture *f, unsigned int most_cores)
{
	struct np_task *t;
	double penalty = one_in(4) ? UNKNOWN : 1 + (double)random_below(20) / 10;
	double mpki = one_in(4) ? UNKNOWN : (double)random_below(60);

	for (size_t i = 0; i < f->m.n_nodes; i++)
		if (f->node[i].has_memory && one_in(2))
			f->pages[f->n][i] = random_below(20000);
	t = fixture_task(f, (int)random_below(f->m.n_nodes + 1) - 1, penalty, mpki);
	if (t->node != NP_NODE_NONE && !f->node[t->node].cpus)
		t->node = NP_NODE_NONE;
	t->cores = 1 + (unsigned int)random_below(most_cores);
}

static unsigned int all_cpus(const struct fixture *f)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < f->m.n_nodes; i++)
		sum += f->node[i].cpus;
	return sum;
}

static void random_case(struct fixture *f, unsigned int most_cores)
{
	size_t n = random_below(MAX_TASKS + 1);

	random_machine(f);
	while (f->n < n)
		random_task(f, most_cores);
}

static unsigned int busy_on(const struct fixture *f, int node)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->decision[i].to == node)
			sum += f->task[i].cores;
	return sum;
}

static void check_decision(const struct fixture *f, size_t i)
{
	const struct np_decision *d = &f->decision[i];

	HOLDS(d->to >= NP_NODE_NONE && d->to < (int)f->m.n_nodes);
	HOLDS(d->to == NP_NODE_NONE || f->node[d->to].cpus > 0);
	HOLDS(d->from == f->task[i].node);
	HOLDS(d->home == np_task_home(&f->m, &f->task[i]));
	HOLDS(d->reason[0] && strlen(d->reason) < NP_REASON_LEN - 1);
	HOLDS(d->penalty >= 1 && d->penalty_source != NP_PROVENANCE_NONE);
	HOLDS(d->cost >= 0 && d->gain > 0);
	if (d->pages_to == NP_NODE_NONE) {
		HOLDS(d->pages_to_move == 0 || d->spread != NP_NODE_NONE);
	} else {
		HOLDS(f->node[d->pages_to].has_memory);
		HOLDS(d->pages_to_move <= fixture_pages(f, i) - f->pages[i][d->pages_to]);
	}
}

/* No page is lost, and what comes to a node fits into what is free and what leaves it. */
static void check_memory(const struct fixture *f)
{
	for (size_t node = 0; node < f->m.n_nodes; node++) {
		uint64_t before = 0, after = 0;

		for (size_t i = 0; i < f->n; i++) {
			before += f->pages[i][node];
			after += f->after[i * f->m.n_nodes + node];
		}
		HOLDS(after <= before + f->node[node].mem_free / f->m.page_size);
	}
	for (size_t i = 0; i < f->n; i++) {
		uint64_t after = 0;

		for (size_t node = 0; node < f->m.n_nodes; node++)
			after += f->after[i * f->m.n_nodes + node];
		HOLDS(after == fixture_pages(f, i));
	}
}

/* Not the defaults where those move no page, or take their time. */
static const char *test_options(const char *policy)
{
	if (!strcmp(policy, "n-mass"))
		return "pages=follow";
	return strcmp(policy, "measured") ? NULL : "effort=0.02,horizon=0,hysteresis=0";
}

TEST(every_decision_makes_sense)
{
	state = 1;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		random_case(&f, 3);
		for (size_t k = 0; np_policies[k]; k++) {
			const char *name = policy = np_policies[k]->name;

			HOLDS(fixture_plan(&f, name, test_options(name)) == 0);
			for (size_t i = 0; i < f.n; i++)
				check_decision(&f, i);
			check_memory(&f);
		}
	}
}

/* Every task of one core gets one, and no node more than it has, when they suffice. */
TEST(capacity_is_respected)
{
	state = 2;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		random_case(&f, 1);
		if (f.n > all_cpus(&f))
			f.n = all_cpus(&f);
		for (size_t k = 0; np_policies[k]; k++) {
			const char *name = policy = np_policies[k]->name;

			HOLDS(fixture_plan(&f, name, test_options(name)) == 0);
			for (size_t i = 0; i < f.n && !strcmp(np_policies[k]->needs, "penalty");
			     i++)
				HOLDS(f.decision[i].to != NP_NODE_NONE);
			for (size_t i = 0; i < f.m.n_nodes; i++)
				HOLDS(busy_on(&f, (int)i) <= f.node[i].cpus);
		}
	}
}

/* When they do not suffice no node is shared while another has a core free. */
TEST(sharing_is_even)
{
	state = 3;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		bool shared = false, idle = false;

		random_case(&f, 1);
		HOLDS(fixture_plan(&f, "maximum-local", NULL) == 0);
		for (size_t i = 0; i < f.m.n_nodes; i++) {
			shared |= busy_on(&f, (int)i) > f.node[i].cpus;
			idle |= busy_on(&f, (int)i) < f.node[i].cpus;
		}
		HOLDS(!(shared && idle));
	}
}

TEST(same_input_same_plan)
{
	state = 4;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		struct np_decision first[MAX_TASKS];

		random_case(&f, 3);
		for (size_t k = 0; np_policies[k]; k++) {
			const char *name = policy = np_policies[k]->name;

			memset(f.decision, 0x55, sizeof(f.decision));
			fixture_plan(&f, name, test_options(name));
			memcpy(first, f.decision, sizeof(first));
			fixture_plan(&f, name, test_options(name));
			HOLDS(memcmp(first, f.decision, f.n * sizeof(*first)) == 0);
		}
	}
}

/* The input's own placement, if it gives no node more tasks than CPUs. */
static bool input_fits(const struct fixture *f)
{
	for (size_t node = 0; node < f->m.n_nodes; node++) {
		unsigned int busy = 0;

		for (size_t i = 0; i < f->n; i++)
			busy += f->task[i].node == (int)node;
		if (busy > f->node[node].cpus)
			return false;
	}
	return true;
}

static uint64_t local_pages_before(const struct fixture *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->task[i].node != NP_NODE_NONE)
			sum += f->pages[i][f->task[i].node];
	return sum;
}

/* Pages that a decision moves all count only if they reach the task's own node. */
static uint64_t local_pages_after(const struct fixture *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct np_decision *d = &f->decision[i];

		if (d->to == NP_NODE_NONE)
			continue;
		sum += f->pages[i][d->to];
		if (d->pages_to == d->to)
			sum += d->pages_to_move;
	}
	return sum;
}

/* With memory for all, maximum-local never leaves fewer pages local than it found. */
TEST(maximum_local_never_loses_pages)
{
	state = 5;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		random_case(&f, 1);
		for (size_t i = 0; i < f.m.n_nodes; i++) {
			f.node[i].has_memory = true;
			f.node[i].mem_free = f.node[i].mem_total = 1ULL << 40;
		}
		HOLDS(fixture_plan(&f, "maximum-local", NULL) == 0);
		HOLDS(local_pages_after(&f) >= local_pages_before(&f));
	}
}

/* Of every page that maximum-local moves the distance to its task becomes shorter, also where many nodes are equally near. */
TEST(maximum_local_shortens_distances)
{
	state = 7;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		random_case(&f, 1);
		for (size_t i = 0; i < f.m.n_nodes * f.m.n_nodes; i++)
			f.distance[i] = i % (f.m.n_nodes + 1) ? 20 + 10 * (int)random_below(2) : 10;
		HOLDS(fixture_plan(&f, "maximum-local", NULL) == 0);
		for (size_t i = 0; i < f.n; i++) {
			const struct np_decision *d = &f.decision[i];
			const uint64_t *after = f.after + i * f.m.n_nodes;

			for (int from = 0; d->to != NP_NODE_NONE && from < (int)f.m.n_nodes; from++)
				HOLDS(after[from] >= f.pages[i][from] ||
				      np_distance(&f.m, d->to, d->pages_to) <
					      np_distance(&f.m, d->to, from));
		}
	}
}

/* Even where no page moves it never has fewer tasks at home than it found. */
TEST(maximum_local_never_loses_homes)
{
	size_t tried = 0;

	state = 6;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		size_t before = 0, after = 0;

		random_case(&f, 1);
		f.n = f.n % 8;
		if (!input_fits(&f))
			continue;
		HOLDS(fixture_plan(&f, "maximum-local", "pages=stay") == 0);
		for (size_t i = 0; i < f.n; i++) {
			bool has_home = f.decision[i].home != NP_NODE_NONE;

			before += has_home && f.task[i].node == f.decision[i].home;
			after += has_home && f.decision[i].to == f.decision[i].home;
		}
		HOLDS(after >= before);
		tried++;
	}
	CU_ASSERT_TRUE(tried > (size_t)ROUNDS / 10);
}

/* Carrying a plan out and planning again changes no node. */
TEST(planning_again_changes_nothing)
{
	state = 7;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		random_case(&f, 1);
		for (size_t i = 0; i < f.m.n_nodes; i++)
			f.node[i].has_memory = true;
		if (f.n > all_cpus(&f))
			f.n = all_cpus(&f);
		HOLDS(fixture_plan(&f, "maximum-local", "pages=stay") == 0);
		for (size_t i = 0; i < f.n; i++)
			f.task[i].node = f.decision[i].to;
		HOLDS(fixture_plan(&f, "maximum-local", "pages=stay") == 0);
		for (size_t i = 0; i < f.n; i++)
			HOLDS(f.task[i].node == f.decision[i].to);
	}
}

static double unevenness(const struct fixture *f)
{
	double pressure[MAX_NODES] = { 0 }, sum = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->decision[i].to != NP_NODE_NONE &&
		    f->task[i].mpki_source != NP_PROVENANCE_NONE)
			pressure[f->decision[i].to] += f->task[i].mpki * f->task[i].cores;
	for (size_t i = 0; i < f->m.n_nodes; i++)
		sum += pressure[i] * pressure[i];
	return sum;
}

TEST(n_mass_never_presses_less_evenly)
{
	size_t better = 0;

	state = 8;
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		double local, n_mass;

		random_case(&f, 2);
		HOLDS(fixture_plan(&f, "maximum-local", NULL) == 0);
		local = unevenness(&f);
		HOLDS(fixture_plan(&f, "n-mass", NULL) == 0);
		n_mass = unevenness(&f);
		HOLDS(n_mass <= local);
		better += n_mass < local;
	}
	CU_ASSERT_TRUE(better > (size_t)ROUNDS / 100);
}

/* By its own predictor the search never ends below where it began. */
TEST(measured_is_never_below_none)
{
	static const char *const options[] = {
		"effort=0.02,horizon=0,hysteresis=0",
		"effort=0.02,hysteresis=0",
		"effort=0.02,horizon=0,hysteresis=0,pages=stay",
	};
	size_t better = 0;

	state = 9;
	policy = "measured";
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		double none;

		random_case(&f, 2);
		if (!f.n)
			continue;
		HOLDS(fixture_plan(&f, policy, options[round_number % 3]) == 0);
		none = f.plan.throughput[0].value;
		HOLDS(f.plan.throughput[1].value >= none * (1 - 1e-6));
		better += f.plan.throughput[1].value > none * 1.01;
	}
	CU_ASSERT_TRUE(better > (size_t)ROUNDS / 10);
}
