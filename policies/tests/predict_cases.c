// SPDX-License-Identifier: GPL-2.0-only
/* Predicted speeds, against what can be worked out by hand and against the model itself. */
#include "../predict/predict.h"
#include "fixture.h"
#include "model_fixture.h"

#define NODE \
	"core_outstanding=10 port_remote_weight=1 dram_bytes_per_s=2e10 dram_latency_ns=80 " \
	"dram_variability=0.1\n"
#define TWO_NODES \
	"machine name=x line_bytes=64\nnode 0 " NODE "node 1 " NODE \
	"link 0 1 bytes_per_s=1e10 latency_ns=40 header_bytes=8 variability=0.1\n"

static struct np_model model;
static struct fixture f;
static struct np_predictor p;

static void machine_of_two(unsigned int cpus)
{
	fixture_machine(&f, 2, cpus);
	model = model_of(TWO_NODES);
	f.m.model = &model;
	f.m.model_origin = NP_MODEL_FILE;
}

static struct np_task *add(int node, uint64_t pages0, uint64_t pages1, double penalty)
{
	f.pages[f.n][0] = pages0;
	f.pages[f.n][1] = pages1;
	return fixture_task(&f, node, penalty, UNKNOWN);
}

static void predict(void)
{
	for (size_t i = 0; i < f.n; i++)
		f.decision[i].penalty = f.task[i].penalty;
	CU_ASSERT_EQUAL_FATAL(np_predictor_init(&p, &f.m, f.task, f.decision, f.n), 0);
	np_predict(&p, true);
}

/* Nearly alone, the predicted slowdown is the penalty of the demand. */
TEST(a_penalty_comes_back)
{
	static const double penalty[] = { 1.1, 1.25, 1.4 };

	for (size_t i = 0; i < 3; i++) {
		machine_of_two(2);
		model.node[0].dram_bytes_per_s = model.node[1].dram_bytes_per_s = 1e12;
		model.link[0].bytes_per_s = 1e12;
		add(0, 100, 0, penalty[i]);
		predict();
		CU_ASSERT_DOUBLE_EQUAL(p.speed[0], 1, 1e-3);
		np_predict_run_on(&p, 0, 1);
		np_predict(&p, true);
		CU_ASSERT_DOUBLE_EQUAL(1 / p.speed[0], penalty[i], 2e-3);
		np_predict_spread(&p, 0, (uint8_t[]) { 1, 1 });
		np_predict(&p, true);
		CU_ASSERT_DOUBLE_EQUAL(1 / p.speed[0], (1 + penalty[i]) / 2, 2e-3);
		np_predictor_free(&p);
	}
}

/* Four streams share one controller as np_model_solve() says; two do not fill it. */
TEST(crowding_is_the_models)
{
	struct np_model_flow four = { .from = 0, .to = 0, .cores = 4, .streams = 1 };
	struct np_model_result result;

	machine_of_two(4);
	for (int i = 0; i < 4; i++)
		add(0, 100, 0, 1.5)->outstanding = (struct np_known) { 10, NP_PROVENANCE_DECLARED };
	predict();
	CU_ASSERT_EQUAL_FATAL(np_model_solve(&model, &four, 1, &result), 0);
	CU_ASSERT_DOUBLE_EQUAL(p.speed[3], 80 / result.latency_ns, 1e-4);
	CU_ASSERT(p.speed[3] < 0.7);
	for (int i = 0; i < 2; i++) {
		np_predict_run_on(&p, (size_t)i, 1);
		np_predict_pages_on(&p, (size_t)i, 1);
	}
	np_predict(&p, true);
	CU_ASSERT(p.fairness > 0.9 && p.throughput > 3.6);
	np_predictor_free(&p);
}

TEST(a_crowded_cpu_is_shared)
{
	machine_of_two(1);
	add(0, 0, 0, 1.5);
	add(0, 0, 0, 1.5);
	add(NP_NODE_NONE, 0, 0, 1);
	predict();
	CU_ASSERT_DOUBLE_EQUAL(p.speed[0], 1 / 2.5, 1e-4);
	CU_ASSERT_DOUBLE_EQUAL(p.speed[2], 0.5 * (1 / 2.5 + 1), 1e-4);
	np_predictor_free(&p);
}

/* 2,000 tasks of a hundred kinds are no other than their classes say, within a few percent. */
TEST(classes_stand_for_their_tasks)
{
	enum { N = 2000 };
	static struct np_task task[N];
	static struct np_decision decision[N];
	static const uint64_t pages[] = { 100, 0 };

	machine_of_two(N);
	model.node[0].dram_bytes_per_s = 1e15;
	for (int i = 0; i < N; i++)
		task[i] = (struct np_task) {
			.cores = 1,
			.threads = 1,
			.node = 1,
			.pages = pages,
			.penalty = 1 + 0.4 * (i % 100 + 1) / 100,
			.penalty_source = NP_PROVENANCE_DECLARED,
		};
	model.link[0].bytes_per_s = 1e15;
	CU_ASSERT_EQUAL_FATAL(np_predictor_init(&p, &f.m, task, decision, N), 0);
	np_predict(&p, true);
	CU_ASSERT(p.n_classes > 4 && p.n_classes <= NP_PREDICT_CLASSES);
	for (int i = 0; i < N; i++)
		CU_ASSERT_DOUBLE_EQUAL(1 / p.speed[i], task[i].penalty, 0.1);
	np_predictor_free(&p);
}

static void plan_is_finite(const char *policy)
{
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, policy, NULL), 0);
	for (size_t i = 0; i < f.n; i++)
		CU_ASSERT(isfinite(f.decision[i].gain) && f.decision[i].gain > 0);
	CU_ASSERT(isfinite(f.plan.throughput[0].value) && isfinite(f.plan.throughput[1].value));
}

/* Node 1's CPUs are isolated: no task is placed there, and one that runs there stays. */
TEST(a_node_whose_cpus_are_kept_free)
{
	static const uint8_t both[] = { 1, 1 }, kept[] = { 0, 1 };

	machine_of_two(4);
	f.node[1].cpus = 0;
	add(1, 0, 100, 1.5)->on = both;
	add(1, 0, 100, 1.5)->on = kept;
	add(NP_NODE_NONE, 0, 100, 1.5)->on = kept;
	for (size_t at = 0; np_policies[at]; at++)
		plan_is_finite(np_policies[at]->name);
	f.m.model = NULL;
	plan_is_finite("none");
	CU_ASSERT_DOUBLE_EQUAL(f.decision[2].gain, 1, 1e-6);
	f.m.model = &model;
	predict();
	CU_ASSERT_DOUBLE_EQUAL(np_predict_cpu_share(&p, 0), 1, 1e-6);
	CU_ASSERT(p.speed[0] > 0.5 && p.speed[0] <= 1.01);
	np_predictor_free(&p);
}

/* The address sanitizer's build says whether more cells are noted than there are. */
TEST(many_where_cpus_are_kept_free)
{
	machine_of_two(4);
	f.node[1].cpus = 0;
	for (int i = 0; i < MAX_TASKS; i++)
		add(1, 100, 100, 1.1);
	predict();
	CU_ASSERT(p.n_used && p.n_used <= p.k * p.k * p.n_classes);
	CU_ASSERT(isfinite(p.throughput) && p.fairness > 0);
	np_predictor_free(&p);
}
