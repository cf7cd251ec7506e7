// SPDX-License-Identifier: GPL-2.0-only
/* Predictions made from what counters would read of tasks whose demands are known here. */
#include "../predict/predict.h"
#include "fixture.h"
#include "model_fixture.h"

#define NODE(k) \
	"core_outstanding=10 port_remote_weight=1 dram_bytes_per_s=2e10 dram_latency_ns=80 " \
	"dram_variability=" k "\n"
#define TWO_NODES(k) \
	"machine name=x line_bytes=64\nnode 0 " NODE(k) "node 1 " NODE( \
		k) "link 0 1 bytes_per_s=2e10 latency_ns=40 header_bytes=8 variability=" k "\n"

static struct np_model model;
static struct fixture f;
static struct np_predictor p;

/* A task's true demand. */
struct truth {
	double lines, think_ns;
};

static void machine(const char *text)
{
	fixture_machine(&f, 2, 8);
	model = model_of(text);
	f.m.model = &model;
}

static struct np_task *add(int node, int home, unsigned int cores)
{
	struct np_task *t;

	f.pages[f.n][home] = 100;
	t = fixture_task(&f, node, UNKNOWN, UNKNOWN);
	t->cores = cores;
	return t;
}

static void init(void)
{
	CU_ASSERT_EQUAL_FATAL(np_predictor_init(&p, &f.m, f.task, f.decision, f.n), 0);
	np_predict(&p, true);
}

/* Gives every task the bandwidth that counters read of it, and the speeds that it truly has. */
static void count(const struct truth *truth, float *speed)
{
	for (size_t i = 0; i < f.n; i++)
		f.task[i].bandwidth = (struct np_known) { 1, NP_PROVENANCE_COUNTERS };
	init();
	for (size_t i = 0; i < f.n; i++) {
		p.own[i].lines = truth[i].lines;
		p.own[i].think_ns = truth[i].think_ns;
	}
	np_predict_classes(&p);
	np_predict(&p, true);
	for (size_t i = 0; i < f.n; i++) {
		f.task[i].bandwidth.value = np_predict_traffic(&p, i);
		speed[i] = p.speed[i];
	}
	np_predictor_free(&p);
}

static double error(size_t i)
{
	return np_predict_traffic(&p, i) / f.task[i].bandwidth.value - 1;
}

/* Two streams of two cores crowd a controller: 10 GB/s each are read, 32 asked for. */
TEST(a_full_controller_is_seen)
{
	static const char *const variability[] = { TWO_NODES("0"), TWO_NODES("0.1") };

	for (int v = 0; v < 2; v++) {
		const struct truth truth[] = { { 10, 0 }, { 10, 0 } };
		float speed[2];

		machine(variability[v]);
		add(0, 0, 2);
		add(0, 0, 2);
		count(truth, speed);
		CU_ASSERT(f.task[0].bandwidth.value > 9.5e9);
		init();
		CU_ASSERT_DOUBLE_EQUAL(p.speed[0], speed[0], 0.05 * (double)speed[0]);
		CU_ASSERT(p.speed[0] < 0.7);
		np_predict_run_on(&p, 1, 1);
		np_predict_pages_on(&p, 1, 1);
		np_predict(&p, true);
		CU_ASSERT(p.speed[0] > 0.9 && p.speed[1] > 0.9);
		np_predictor_free(&p);
	}
}

/* A chase of 0.8 GB/s alone: away it is as much slower as its penalty says. */
TEST(a_chase_is_no_stream)
{
	const struct truth truth[] = { { 1, 0 } };
	float speed[1];

	machine(TWO_NODES("0.1"));
	add(0, 0, 1);
	count(truth, speed);
	CU_ASSERT_DOUBLE_EQUAL(f.task[0].bandwidth.value, 8e8, 1e7);
	f.task[0].penalty = 1.5;
	f.task[0].penalty_source = NP_PROVENANCE_RUNS;
	init();
	CU_ASSERT_DOUBLE_EQUAL(error(0), 0, 0.01);
	CU_ASSERT_DOUBLE_EQUAL(p.own[0].lines, 1, 0.02);
	np_predict_run_on(&p, 0, 1);
	np_predict(&p, true);
	CU_ASSERT_DOUBLE_EQUAL(1 / p.speed[0], 1.5, 0.02);
	np_predictor_free(&p);
}

/* Beside streams that fill the controller, the chase still has one line in flight. */
TEST(a_chase_beside_streams)
{
	const struct truth truth[] = { { 10, 0 }, { 1, 0 } };
	float speed[2];

	machine(TWO_NODES("0.1"));
	add(0, 0, 4);
	add(0, 0, 1);
	count(truth, speed);
	f.task[1].penalty = 1.5;
	f.task[1].penalty_source = NP_PROVENANCE_RUNS;
	init();
	CU_ASSERT_DOUBLE_EQUAL(p.own[1].lines, 1, 0.1);
	CU_ASSERT_DOUBLE_EQUAL(p.speed[1], speed[1], 0.05 * (double)speed[1]);
	CU_ASSERT_DOUBLE_EQUAL(p.speed[0], speed[0], 0.05 * (double)speed[0]);
	np_predictor_free(&p);
}

/* Of a task with a penalty and nothing else, no more is assumed than the mean of the two kinds. */
TEST(a_penalty_alone_is_no_stream)
{
	machine(TWO_NODES("0.1"));
	add(0, 0, 1);
	f.task[0].penalty = 1.5;
	f.task[0].penalty_source = NP_PROVENANCE_RUNS;
	init();
	CU_ASSERT_DOUBLE_EQUAL(np_predict_traffic(&p, 0), sqrt(10) * 64 / 80e-9, 1e8);
	np_predictor_free(&p);
}

/* 10 misses in 1000 instructions, one instruction a cycle: 1 GHz moves 0.64 GB/s, 3 GHz 1.92. */
TEST(cycles_are_counted)
{
	machine(TWO_NODES("0.1"));
	for (int ghz = 1; ghz <= 3; ghz += 2) {
		f.n = 0;
		add(0, 0, 1);
		f.task[0].mpki = 10;
		f.task[0].mpki_source = NP_PROVENANCE_COUNTERS;
		f.task[0].ipc = (struct np_known) { 1, NP_PROVENANCE_COUNTERS };
		f.task[0].cycles = (struct np_known) { ghz * 1e9, NP_PROVENANCE_COUNTERS };
		init();
		CU_ASSERT_DOUBLE_EQUAL(np_predict_traffic(&p, 0), ghz * 6.4e8, ghz * 1e7);
		np_predictor_free(&p);
	}
}

/* What is written back is traffic too: 4 lines a block of a triad, 3 that a core waits for. */
TEST(writes_are_part_of_what_was_counted)
{
	machine(TWO_NODES("0.1"));
	add(0, 0, 1);
	f.task[0].writes = (struct np_known) { 0.25, NP_PROVENANCE_COUNTERS };
	f.task[0].bandwidth = (struct np_known) { 4e9, NP_PROVENANCE_COUNTERS };
	init();
	CU_ASSERT_DOUBLE_EQUAL(np_predict_traffic(&p, 0), 4e9, 4e7);
	np_predictor_free(&p);
}

/*
 * Two triads of one core fill a controller, written lines included: one that leaves
 * gives the other all that it can use. Had only the reads been counted, a quarter of
 * the controller would seem to be free, and each would seem to ask for no more than
 * it gets.
 */
TEST(triads_fill_a_controller_with_writes)
{
	for (int reads_only = 0; reads_only < 2; reads_only++) {
		const struct truth truth[] = { { 10, 0 }, { 10, 0 }, { 10, 0 } };
		float speed[3];

		machine(TWO_NODES("0.1"));
		for (int i = 0; i < 3; i++) {
			add(0, 0, 1);
			f.task[i].writes = (struct np_known) { 0.25, NP_PROVENANCE_COUNTERS };
		}
		count(truth, speed);
		for (int i = 0; reads_only && i < 3; i++) {
			f.task[i].bandwidth.value *= 0.75;
			f.task[i].writes.value = 1. / 3;
		}
		init();
		for (int i = 0; i < 3; i++)
			CU_ASSERT_DOUBLE_EQUAL(error((size_t)i), 0, 0.055);
		for (int i = 1; i < 3; i++) {
			np_predict_run_on(&p, (size_t)i, 1);
			np_predict_pages_on(&p, (size_t)i, 1);
		}
		np_predict(&p, true);
		if (reads_only)
			CU_ASSERT(np_predict_traffic(&p, 0) < 1.3 * f.task[0].bandwidth.value)
		else
			CU_ASSERT(np_predict_traffic(&p, 0) > 1.5 * f.task[0].bandwidth.value)
		np_predictor_free(&p);
	}
}

static uint64_t state = 0x9e3779b97f4a7c15;

static double between(double low, double high)
{
	return low + (high - low) * (double)(fixture_random(&state) % (1 << 20)) / (1 << 20);
}

/* Whatever runs where: what was read is what is predicted of the present. */
TEST(the_present_is_predicted)
{
	for (int round = 0; round < 2000; round++) {
		size_t n = 1 + (size_t)round % (round % 10 ? 8 : 40);
		struct truth truth[MAX_TASKS];
		float speed[MAX_TASKS];

		machine(TWO_NODES("0.1"));
		f.node[0].cpus = f.node[1].cpus = 40;
		for (size_t i = 0; i < n; i++) {
			add((int)between(0, 2), (int)between(0, 2),
			    1 + (unsigned int)between(0, 3));
			truth[i] = (struct truth) { between(1, 10), between(0, 500) };
		}
		count(truth, speed);
		init();
		/* Classes of more than 16 tasks are averages. */
		for (size_t i = 0; i < n; i++)
			CU_ASSERT_DOUBLE_EQUAL(error(i), 0, n > NP_PREDICT_CLASSES ? 0.15 : 0.055);
		np_predictor_free(&p);
	}
}
