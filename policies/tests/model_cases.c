// SPDX-License-Identifier: GPL-2.0-only
/* Each part of the contention model, alone. */
#include <math.h>

#include "fixture.h"
#include "model_fixture.h"

#define CORES 4
#define LINE  64.0
#define NODE  "core_outstanding=10 dram_bytes_per_s=2e10 dram_latency_ns=80 dram_variability=1 "
#define LINK  "link 0 1 bytes_per_s=1e10 latency_ns=40 header_bytes=8 variability=0.1\n"
#define TWO(extra) \
	"machine name=two line_bytes=64\nnode 0 " NODE extra "\nnode 1 " NODE extra "\n" LINK

TEST(one_flow_alone_gets_its_unloaded_rate)
{
	struct np_model m = model_of(TWO(""));
	struct np_model_flow chase = { .from = 0, .to = 0, .cores = 1, .outstanding = 1 };
	struct np_model_result result = model_alone(&m, chase);

	CLOSE(result.bytes_per_s, LINE / 80e-9, 0.01);
	CLOSE(result.latency_ns, 80, 0.01);
	chase.to = 1;
	result = model_alone(&m, chase);
	CLOSE(result.bytes_per_s, LINE / 120e-9, 0.01);
	CLOSE(result.latency_ns, np_model_unloaded_ns(&m, 0, 1), 0.01);
}

TEST(a_controller_may_wait_in_proportion_to_its_load)
{
	struct np_model m = model_of(TWO("dram_load_ns=50"));

	for (double part = 0.2; part < 1; part += 0.2) {
		const struct np_model_flow flow[] = {
			{ .cores = 1, .outstanding = 1 },
			{ .cores = CORES, .demand_bytes_per_s = part * 2e10 / CORES },
		};
		struct np_model_result result[2];
		double busy;

		CU_ASSERT_FATAL(!np_model_solve(&m, flow, 2, result));
		busy = (result[0].bytes_per_s + result[1].bytes_per_s) / 2e10;
		CLOSE(result[0].latency_ns, 80 + LINE / 20 * busy / (1 - busy) + 50 * busy, 0.01);
	}
}

TEST(a_rate_limit_hides_latency_but_not_contention)
{
	struct np_model m = model_of(TWO("core_bytes_per_s=2e9 "));
	double local = model_alone(&m, model_triad(0, 0, 1)).bytes_per_s;

	CLOSE(model_alone(&m, model_triad(0, 1, 1)).bytes_per_s, local, 0.02);
	CU_ASSERT(model_beside(&m, model_triad(0, 0, 1), model_triad(0, 0, 40)) < 0.5 * local);
}

TEST(streams_may_have_more_lines_in_flight)
{
	struct np_model m = model_of(TWO("core_stream_lines=13 "));
	struct np_model_flow flow = { .from = 0, .to = 0, .cores = 1 };

	CLOSE(model_alone(&m, flow).bytes_per_s, 13 * LINE / 80e-9, 0.05);
	flow.outstanding = 10;
	CLOSE(model_alone(&m, flow).bytes_per_s, 10 * LINE / 80e-9, 0.05);
}

TEST(outstanding_lines_are_bounded_by_the_core)
{
	struct np_model m = model_of(TWO(""));
	struct np_model_flow flow = model_triad(0, 0, 1);
	double most = model_alone(&m, flow).bytes_per_s;

	flow.outstanding = 1000;
	CU_ASSERT_EQUAL(model_alone(&m, flow).bytes_per_s, most);
	flow.outstanding = 5;
	CU_ASSERT(model_alone(&m, flow).bytes_per_s < 0.7 * most);
}

/* Lines in flight = rate of the lines that are waited for x their latency. */
TEST(littles_law_holds_under_load)
{
	struct np_model m = model_of(TWO(""));
	struct np_model_flow flow[] = { model_triad(0, 0, CORES), model_triad(1, 0, CORES) };
	struct np_model_result result[2];

	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 2, result), 0);
	for (int i = 0; i < 2; i++)
		CLOSE(result[i].bytes_per_s * 0.75 / LINE * result[i].latency_ns * 1e-9, CORES * 10,
		      1e-9);
}

TEST(more_cores_never_get_less_together)
{
	struct np_model m = model_of(TWO("port_bytes_per_s=1.6e10 port_variability=0.1 "));
	double before = 0, latency = 0;

	for (int cores = 1; cores <= 16; cores++) {
		struct np_model_result result = model_alone(&m, model_triad(0, 0, cores));

		CU_ASSERT(result.bytes_per_s >= before * (1 - SAME));
		CU_ASSERT(result.latency_ns >= latency * (1 - SAME));
		before = result.bytes_per_s;
		latency = result.latency_ns;
	}
	CU_ASSERT(before > 1.5e10 && before <= 1.6e10);
}

TEST(a_competitor_never_helps)
{
	struct np_model m = model_of(TWO(""));

	for (int to = 0; to < 2; to++) {
		double before = HUGE_VAL;

		for (int others = 0; others <= 8; others++) {
			double got = model_beside(&m, model_triad(0, to, 2),
						  model_triad(1, 0, others));

			CU_ASSERT(got <= before * (1 + SAME));
			before = got;
		}
	}
}

TEST(more_capacity_never_hurts)
{
	struct np_model m = model_of(TWO(""));
	double before = 0;

	for (double capacity = 1e9; capacity < 1e12; capacity *= 1.5) {
		m.node[0].dram_bytes_per_s = capacity;
		double got = model_alone(&m, model_triad(0, 0, CORES)).bytes_per_s;

		CU_ASSERT(got >= before * (1 - SAME) && got <= capacity);
		before = got;
	}
}

TEST(equal_nodes_are_treated_alike)
{
	struct np_model m = model_of(TWO("dram_local_share=0.5 "));
	struct np_model_flow flow[] = { model_triad(0, 0, 3), model_triad(0, 1, 1),
					model_triad(1, 1, 3), model_triad(1, 0, 1) };
	struct np_model_result result[4];

	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 4, result), 0);
	CLOSE(result[0].bytes_per_s, result[2].bytes_per_s, SAME);
	CLOSE(result[1].bytes_per_s, result[3].bytes_per_s, SAME);
}

TEST(neither_order_nor_grouping_of_flows_matters)
{
	struct np_model m = model_of(TWO("dram_local_share=0.5 "));
	struct np_model_flow apart[CORES + 1];
	struct np_model_result result[CORES + 1];
	double together, sum = 0;

	together = model_beside(&m, model_triad(0, 0, CORES), model_triad(1, 0, 3));
	apart[0] = model_triad(1, 0, 3);
	for (int i = 1; i <= CORES; i++)
		apart[i] = model_triad(0, 0, 1);
	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, apart, CORES + 1, result), 0);
	for (int i = 1; i <= CORES; i++)
		sum += result[i].bytes_per_s;
	CLOSE(sum, together, SAME);
}

TEST(a_machine_twice_as_fast_grants_twice_as_much)
{
	struct np_model m = model_of(TWO("dram_local_share=0.5 ")), fast = m;
	char err[200];

	for (int i = 0; i < 2; i++) {
		fast.node[i].dram_bytes_per_s *= 2;
		fast.node[i].dram_latency_ns /= 2;
	}
	fast.link[0].bytes_per_s *= 2;
	fast.link[0].latency_ns /= 2;
	CU_ASSERT_EQUAL_FATAL(np_model_prepare(&fast, err, sizeof(err)), 0);
	for (int cores = 1; cores <= 8; cores++)
		CLOSE(model_beside(&fast, model_triad(0, 0, cores), model_triad(1, 0, 4)),
		      2 * model_beside(&m, model_triad(0, 0, cores), model_triad(1, 0, 4)), SAME);
}

TEST(without_traffic_nothing_is_granted)
{
	struct np_model m = model_of(TWO(""));
	struct np_model_result result = model_alone(&m, model_triad(0, 1, 0));

	CU_ASSERT_EQUAL(np_model_solve(&m, NULL, 0, NULL), 0);
	CU_ASSERT_EQUAL(result.bytes_per_s, 0);
	CLOSE(result.latency_ns, 120, 1e-9);
	CLOSE(model_beside(&m, model_triad(0, 0, 4), model_triad(1, 0, 0)),
	      model_alone(&m, model_triad(0, 0, 4)).bytes_per_s, 1e-9);
}
