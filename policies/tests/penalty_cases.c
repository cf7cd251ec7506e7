// SPDX-License-Identifier: GPL-2.0-only
/* Uses of distances: penalties measured at one of several, latencies of a derived model. */
#include "../plan/pages.h"
#include "../predict/derive_model.h"
#include "../predict/predict.h"
#include "fixture.h"

static struct fixture f;

/* Two sockets of two clusters (SNC): 10, 12 within the socket, 21 to the other. */
static void clusters(void)
{
	fixture_machine(&f, 4, 4);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			f.distance[i * 4 + j] = i == j ? 10 : i / 2 == j / 2 ? 12 : 21;
}

/* Four sockets in a ring: 16 to a neighbour, 22 across. */
static void ring(void)
{
	fixture_machine(&f, 4, 4);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			f.distance[i * 4 + j] = i == j ? 10 : (i - j) % 2 ? 16 : 22;
}

static void add(double penalty, int distance)
{
	f.pages[f.n][0] = 1000;
	fixture_task(&f, 0, penalty, UNKNOWN)->penalty_distance = distance;
}

/* Slowdown by the policies of a task of node 0 that runs on node. */
static double slowdown(int node)
{
	return 1 + (f.decision[0].penalty - 1) * np_remoteness(&f.m, np_distances(&f.m), node, 0);
}

TEST(by_distance)
{
	clusters();
	add(1.6, 21);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "none", NULL), 0);
	CU_ASSERT_DOUBLE_EQUAL(slowdown(2), 1.6, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(slowdown(1), 1 + 0.6 * 2 / 11, 1e-9);
	ring();
	add(1.6, NP_FARTHEST);
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "none", NULL), 0);
	CU_ASSERT_DOUBLE_EQUAL(slowdown(2), 1.6, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(slowdown(1), 1.3, 1e-9);
	f.task[0].penalty_distance = 0;
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "none", NULL), 0);
	CU_ASSERT_DOUBLE_EQUAL(slowdown(1), 1.6, 1e-9);
}

/* The same by the model, whose latencies follow the distances: away it is as slow as measured. */
TEST(by_latency)
{
	static struct np_model model;
	struct np_predictor p;
	char err[200];

	for (int machine = 0; machine < 2; machine++) {
		if (machine)
			ring();
		else
			clusters();
		add(1.6, machine ? 22 : 21);
		CU_ASSERT_EQUAL_FATAL(np_model_derive(&model, &f.m, err, sizeof(err)), 0);
		f.m.model = &model;
		CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "none", NULL), 0);
		CU_ASSERT_EQUAL_FATAL(np_predictor_init(&p, &f.m, f.task, f.decision, 1), 0);
		np_predict_run_on(&p, 0, 2);
		np_predict(&p, true);
		CU_ASSERT_DOUBLE_EQUAL(1 / p.speed[0], 1.6, 0.03);
		np_predict_run_on(&p, 0, 1);
		np_predict(&p, true);
		CU_ASSERT_DOUBLE_EQUAL(1 / p.speed[0], machine ? 1.3 : 1 + 0.6 * 2 / 11, 0.03);
		np_predictor_free(&p);
	}
}

/* Firmware's numbers count: 12.8 GB/s and 250 ns of a node without CPUs, as node 0 at 14 sees it. */
TEST(what_firmware_says)
{
	static struct np_model model;
	char err[200];

	fixture_machine(&f, 3, 4);
	f.node[2].cpus = 0;
	f.node[2].bandwidth = 12.8e9;
	f.node[2].latency_ns = 250;
	f.distance[0 * 3 + 2] = 14;
	f.distance[1 * 3 + 2] = 28;
	CU_ASSERT_EQUAL_FATAL(np_model_derive(&model, &f.m, err, sizeof(err)), 0);
	CU_ASSERT_DOUBLE_EQUAL(model.node[2].dram_bytes_per_s, 12.8e9, 1);
	CU_ASSERT_DOUBLE_EQUAL(model.node[0].dram_bytes_per_s, 2e10, 1);
	CU_ASSERT_DOUBLE_EQUAL(np_model_unloaded_ns(&model, 0, 2), 250, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(np_model_unloaded_ns(&model, 1, 2), 500, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(np_model_unloaded_ns(&model, 0, 0), 90, 1e-9);
}
