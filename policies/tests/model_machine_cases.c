// SPDX-License-Identifier: GPL-2.0-only
/* Queues of a node, links, routes, nodes without CPUs or memory, and bad input. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fixture.h"
#include "model_fixture.h"

#define NODE "core_outstanding=10 dram_bytes_per_s=2e10 dram_latency_ns=80 dram_variability=1 "
#define WIRE "bytes_per_s=1e10 latency_ns=40 "
#define TWO(extra) \
	"machine name=two line_bytes=64\nnode 0 " NODE extra "\nnode 1 " NODE extra "\n" \
	"link 0 1 " WIRE "header_bytes=8 variability=0.1\n"

TEST(a_reserved_share_protects_either_side)
{
	struct np_model free = model_of(TWO("")), reserved = model_of(TWO("dram_local_share=0.5 "));
	struct np_model_flow one = model_triad(0, 0, 1), crowd = model_triad(0, 0, 40);

	CU_ASSERT(model_beside(&reserved, model_triad(1, 0, 1), crowd) >
		  3 * model_beside(&free, model_triad(1, 0, 1), crowd));
	reserved.link[0].bytes_per_s = free.link[0].bytes_per_s = 0;
	crowd = model_triad(1, 0, 40);
	CU_ASSERT(model_beside(&reserved, one, crowd) > 3 * model_beside(&free, one, crowd));
	CLOSE(model_alone(&reserved, crowd).bytes_per_s, model_alone(&free, crowd).bytes_per_s,
	      SAME);
}

/*
 * Queues without variability: nothing waits, and nothing moves, until one is
 * full. The remote class leaves 8 of its 18 GB/s idle and lends the cube of
 * that part of them: the local class gets its own 2 GB/s and 1.58.
 */
TEST(a_reserved_share_is_no_more_than_that)
{
	struct np_model m = model_of(TWO("dram_local_share=0.1 "));
	struct np_model_flow local = model_triad(0, 0, 8), remote = model_triad(1, 0, 8);

	m.node[0].dram_variability = m.link[0].variability = m.link[0].bytes_per_s = 0;
	local.demand_bytes_per_s = 5e8;
	remote.demand_bytes_per_s = 1.25e9;
	CLOSE(model_alone(&m, local).bytes_per_s, 4e9, SAME);
	CLOSE(model_beside(&m, local, remote), 2e9 + 18e9 * pow(8.0 / 18, 3), 0.01);
	CLOSE(model_beside(&m, remote, local), 1e10, SAME);
}

TEST(lines_beyond_the_entries_cost_capacity)
{
	struct np_model m = model_of(TWO("local_entries=32 local_overflow_loss=0.5 "));
	struct np_model_flow flow[] = { model_triad(0, 0, 3), model_triad(1, 0, 4) };
	struct np_model_result result[2];
	struct model_load load;

	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 2, result), 0);
	model_load_of(&m, flow, 2, result, &load);
	CLOSE(load.dram_capacity[0], 2e10, 1e-9);
	flow[0].cores = 4; /* 40 lines, a quarter more than 32 */
	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 2, result), 0);
	model_load_of(&m, flow, 2, result, &load);
	CLOSE(load.dram_capacity[0], 2e10 / 1.125, 1e-9);
}

/* A triad writes a quarter of its traffic. */
TEST(writes_may_take_a_controller_longer)
{
	struct np_model plain = model_of(TWO("")), turns = model_of(TWO("write_loss=0.4 "));
	struct np_model_flow read = { .from = 0, .to = 0, .cores = 40 };
	double all = model_alone(&plain, model_triad(0, 0, 40)).bytes_per_s;

	CLOSE(model_alone(&turns, model_triad(0, 0, 40)).bytes_per_s, all / 1.1, 0.01);
	CLOSE(model_alone(&turns, read).bytes_per_s, 2e10, 0.01);
}

/*
 * Each kind of request has its entries and its price: 40 remote lines are 2.5 times 16, 30 local
 * ones fit.
 */
TEST(remote_lines_beyond_theirs_cost_their_own_price)
{
	struct np_model m = model_of(TWO("local_entries=32 local_overflow_loss=0.5 "
					 "remote_entries=16 remote_overflow_loss=0.1 "));
	struct np_model_flow flow[] = { model_triad(0, 0, 3), model_triad(1, 0, 4) };
	struct np_model_result result[2];
	struct model_load load;

	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 2, result), 0);
	model_load_of(&m, flow, 2, result, &load);
	CLOSE(load.dram_capacity[0], 2e10 / 1.15, 1e-9);
}

/* 40 of the own cores' lines are a quarter more than 32: their share grows by a quarter of 0.4. */
TEST(own_cores_that_overflow_have_a_larger_share)
{
	struct np_model_flow flow[] = { model_triad(0, 0, 4), model_triad(1, 0, 4) };
	struct np_model_result before[2], after[2];
	struct np_model m = model_of(TWO("dram_local_share=0.5 local_entries=32 "));

	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 2, before), 0);
	m = model_of(TWO("dram_local_share=0.5 local_entries=32 local_overflow_share=0.4 "));
	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 2, after), 0);
	CLOSE(after[0].bytes_per_s / before[0].bytes_per_s, 1.1, 0.01);
	CLOSE(after[1].bytes_per_s / before[1].bytes_per_s, 0.9, 0.01);
	flow[0].cores = 3;
	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 2, after), 0);
	m = model_of(TWO("dram_local_share=0.5 local_entries=32 "));
	CU_ASSERT_EQUAL_FATAL(np_model_solve(&m, flow, 2, before), 0);
	CLOSE(after[0].bytes_per_s, before[0].bytes_per_s, SAME);
}

TEST(streams_cost_capacity)
{
	struct np_model m = model_of(TWO("stream_loss=0.01 "));
	struct np_model_flow flow = model_triad(0, 0, 4);
	struct np_model_result result = model_alone(&m, flow);
	struct model_load load;

	model_load_of(&m, &flow, 1, &result, &load);
	CLOSE(load.dram_capacity[0], 2e10 / 1.11, 1e-9);
}

/* Reads alone load a link one way only, but for the headers of their requests. */
TEST(the_ways_of_a_link_are_apart)
{
	struct np_model m = model_of(TWO(""));
	struct np_model_flow there = { .from = 0, .to = 1, .cores = 4 };
	struct np_model_flow back = { .from = 1, .to = 0, .cores = 4 };

	m.link[0].header_bytes = 0;
	CLOSE(model_beside(&m, there, back), model_alone(&m, there).bytes_per_s, SAME);
	there.write_fraction = back.write_fraction = 0.4;
	CU_ASSERT(model_beside(&m, there, back) < 0.9 * model_alone(&m, there).bytes_per_s);
}

TEST(a_port_is_shared_as_its_weight_says)
{
	struct np_model m = model_of(TWO("port_bytes_per_s=8e9 port_remote_weight=1 "));
	double shared = model_beside(&m, model_triad(0, 0, 2), model_triad(0, 1, 2));

	CU_ASSERT(shared < 0.8 * model_alone(&m, model_triad(0, 0, 2)).bytes_per_s);
	m.node[0].port_remote_weight = 0;
	CLOSE(model_beside(&m, model_triad(0, 0, 2), model_triad(0, 1, 2)),
	      model_alone(&m, model_triad(0, 0, 2)).bytes_per_s, SAME);
}

TEST(a_route_takes_the_fewest_links)
{
	struct np_model m = model_of(
		"machine name=ring line_bytes=64\n"
		"node 0 " NODE "\nnode 1 " NODE "\nnode 2 " NODE "\nnode 3 " NODE "\n"
		"link 0 1 " WIRE "\nlink 1 2 " WIRE "\nlink 2 3 " WIRE "\nlink 3 0 " WIRE "\n");
	struct np_model_flow flow = model_triad(0, 2, 1);
	struct np_model_result result = model_alone(&m, flow);
	struct model_load load;

	CLOSE(np_model_unloaded_ns(&m, 0, 2), 160, 1e-9);
	CLOSE(np_model_unloaded_ns(&m, 0, 3), 120, 1e-9);
	model_load_of(&m, &flow, 1, &result, &load);
	CLOSE(load.link_bytes_per_s[0][0], result.bytes_per_s * 0.25, 1e-9);
	CLOSE(load.link_bytes_per_s[1][1], result.bytes_per_s * 0.75, 1e-9);
	CU_ASSERT_EQUAL(load.link_bytes_per_s[2][0] + load.link_bytes_per_s[3][0], 0);
}

TEST(a_node_may_lack_cpus_or_memory)
{
	struct np_model m = model_of("machine name=odd line_bytes=64\nnode 0 " NODE "\n"
				     "node 1 dram_bytes_per_s=1e10 dram_latency_ns=110\n"
				     "node 2 core_outstanding=10 cache_latency_ns=20\n"
				     "link 0 1 " WIRE "\nlink 0 2 " WIRE "\n");
	struct np_model_flow flow = model_triad(1, 0, 1);
	struct np_model_result result;

	CU_ASSERT_EQUAL(np_model_solve(&m, &flow, 1, &result), -EINVAL);
	CU_ASSERT(model_alone(&m, model_triad(0, 1, 4)).latency_ns >= 150);
	CU_ASSERT(model_alone(&m, model_triad(2, 1, 4)).bytes_per_s <= 1e10);
	flow = model_triad(0, 2, 1);
	CU_ASSERT_EQUAL(np_model_solve(&m, &flow, 1, &result), -EINVAL);
	CU_ASSERT_EQUAL(np_model_unloaded_ns(&m, 0, 2), 0);
	flow.from_cache = true;
	CU_ASSERT(model_alone(&m, flow).latency_ns >= 60);
}

TEST(a_cache_serves_without_the_controller)
{
	struct np_model m = model_of(TWO("cache_latency_ns=20 "));
	struct np_model_flow flow = model_triad(0, 1, 2);

	flow.from_cache = true;
	m.link[0].bytes_per_s = 0;
	CLOSE(model_beside(&m, flow, model_triad(1, 1, 40)), model_alone(&m, flow).bytes_per_s,
	      SAME);
	CLOSE(model_alone(&m, flow).latency_ns, 60, 1e-9);
}

static void check_refused(struct np_model_flow flow)
{
	struct np_model m = model_of(TWO(""));
	struct np_model_result result;

	CU_ASSERT_EQUAL(np_model_solve(&m, &flow, 1, &result), -EINVAL);
}

TEST(bad_flows_are_refused)
{
	struct np_model_flow good = model_triad(0, 1, 1), bad;
	struct np_model m = model_of(TWO(""));

	CU_ASSERT_EQUAL(np_model_solve(&m, &good, NP_MODEL_FLOWS + 1, NULL), -EINVAL);
#define REFUSED(field, value) (bad = good, bad.field = (value), check_refused(bad))
	REFUSED(from, 2);
	REFUSED(from, -1);
	REFUSED(to, 2);
	REFUSED(cores, -1);
	REFUSED(cores, NAN);
	REFUSED(cores, HUGE_VAL);
	REFUSED(outstanding, -1);
	REFUSED(demand_bytes_per_s, NAN);
	REFUSED(streams, -3);
	REFUSED(write_fraction, 1.1);
	REFUSED(write_fraction, 0.2); /* less than is posted */
	REFUSED(posted_fraction, -0.1);
#undef REFUSED
}

static void check_text(const char *text, const char *why)
{
	struct np_model m;
	char err[200] = "";

	CU_ASSERT_EQUAL(np_model_parse(&m, text, err, sizeof(err)), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(err, why));
}

#define ONE "machine name=x line_bytes=64\nnode 0 " NODE "\n"

TEST(bad_text_is_reported_with_its_line)
{
	check_text("machine name=x line_bytes=64\nnode 0 speed=3\n",
		   "line 2: there is no key 'speed'");
	check_text("machine name=x line_bytes=no\n", "line 1: not a number: 'no'");
	check_text("machine name=x line_bytes\n", "line 1: expected key=value, not 'line_bytes'");
	check_text("machine name=\n", "line 1: the name");
	check_text("cpu 0\n", "line 1: expected machine, node or link, not 'cpu'");
	check_text("node\n", "line 1: a node's number is missing");
	check_text("node 64\n", "line 1: not a node's number: '64'");
	check_text(ONE "node 2\n", "line 3: nodes must come in order");
	check_text(ONE "link 0 x\n", "line 3: not a node's number: 'x'");
}

TEST(machines_that_make_no_sense_are_refused)
{
	check_text("", "0 nodes, must be 1 to 64");
	check_text("machine name=x line_bytes=1\nnode 0 " NODE "\n", "line_bytes is 1");
	check_text("machine name=x line_bytes=64\nnode 0\n", "node 0: has neither cores");
	check_text(ONE "node 1 dram_bytes_per_s=1e9\n", "node 1: has DRAM but no dram_latency_ns");
	check_text(ONE "node 1 " NODE "\n", "nodes 0 and 1: no route");
	check_text(ONE "link 0 0 bytes_per_s=1\n", "link 0: joins node 0 to itself");
	check_text(ONE "link 0 3 bytes_per_s=1\n", "link 0: there is no node 3");
	check_text("machine name=x line_bytes=64\nnode 0 " NODE "dram_local_share=1\n",
		   "node 0: dram_local_share is 1, must be 0 to 0.99");
	check_text("machine name=x line_bytes=64\nnode 0 " NODE "stream_loss=nan\n",
		   "node 0: stream_loss is nan");
}
