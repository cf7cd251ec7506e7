// SPDX-License-Identifier: GPL-2.0-only
/*
 * measured: answers worked out by hand from the model. A core that does nothing but
 * wait keeps 10 lines of 64 bytes in flight: 8 GB/s at 80 ns, 5.33 GB/s at 80 + 40 ns.
 * Queues without variability add no wait before they are full.
 */
#include "fixture.h"
#include "model_fixture.h"

#define MACHINE(port) \
	"machine name=x line_bytes=64\n" \
	"node 0 core_outstanding=10 port_remote_weight=1 dram_bytes_per_s=2e10 " \
	"dram_latency_ns=80 " port "\n" \
	"node 1 core_outstanding=10 port_remote_weight=1 dram_bytes_per_s=2e10 " \
	"dram_latency_ns=80 " port "\n" \
	"link 0 1 bytes_per_s=1e11 latency_ns=40 header_bytes=8\n"

#define ONE_PERCENT(value) ((value) / 100)

static struct fixture f;
static struct np_model model;

static void machine(const char *text)
{
	fixture_machine(&f, 2, 4);
	model = model_of(text);
	f.m.model = &model;
	f.m.model_origin = NP_MODEL_FILE;
}

/* A task that streams, of which counters read what it gets where it is. */
static void add_stream_that_reads(int node, unsigned int cores, int home, double bytes_per_s)
{
	struct np_task *t;

	f.pages[f.n][home] = 1000;
	t = fixture_task(&f, node, UNKNOWN, UNKNOWN);
	t->cores = cores;
	t->bandwidth = (struct np_known) { bytes_per_s, NP_PROVENANCE_COUNTERS };
}

/* One with the machine to itself: its cores do nothing but wait for memory. */
static void add_stream(int node, unsigned int cores, int home)
{
	add_stream_that_reads(node, cores, home, cores * (node == home ? 8e9 : 8e9 * 80 / 120));
}

static void plan(const char *options)
{
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, "measured", options), 0);
}

static void throughput_is(double before, double after)
{
	CU_ASSERT_DOUBLE_EQUAL(f.plan.throughput[0].value, before, ONE_PERCENT(before));
	CU_ASSERT_DOUBLE_EQUAL(f.plan.throughput[1].value, after, ONE_PERCENT(after));
}

/*
 * Four cores ask one controller of 20 GB/s for 32: counters read 10 for each task, each
 * core runs at 20/32 = 0.625, in all 2.5. A task and its pages on each node: 16 of 20 GB/s,
 * all run as if alone, in all 4.
 */
TEST(two_crowd_one_controller)
{
	machine(MACHINE(""));
	add_stream_that_reads(0, 2, 0, 1e10);
	add_stream_that_reads(0, 2, 0, 1e10);
	plan(NULL);
	throughput_is(2.5, 4);
	for (int i = 0; i < 2; i++) {
		int to = f.decision[i].to == NP_NODE_NONE ? 0 : f.decision[i].to;

		CU_ASSERT_EQUAL(f.after[i * 2 + to], 1000);
	}
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move + f.decision[1].pages_to_move, 1000);
}

/*
 * Luo et al.: machines of the same shape want opposite placements. Two streams whose
 * pages stay on node 0. Where a node's cores share a port of 8 GB/s, both at home get 8
 * together (1 in all); with one of them away it is 8 + 5.33 (1.67 in all).
 */
TEST(a_narrow_port_wants_them_apart)
{
	machine(MACHINE("port_bytes_per_s=8e9"));
	add_stream_that_reads(0, 1, 0, 4e9);
	add_stream_that_reads(0, 1, 0, 4e9);
	plan("pages=stay");
	throughput_is(1, 1 + 80. / 120);
	CU_ASSERT((f.decision[0].to == 1) != (f.decision[1].to == 1));
	plan("pages=stay,objective=fairness");
	CU_ASSERT_DOUBLE_EQUAL(f.plan.fairness[0].value, 0.5, 0.005);
	CU_ASSERT_DOUBLE_EQUAL(f.plan.fairness[1].value, 80. / 120, 0.007);
}

/* Without that port both have 8 GB/s at home, 2 in all, and being apart costs a third of one. */
TEST(a_wide_port_wants_them_together)
{
	machine(MACHINE(""));
	add_stream(0, 1, 0);
	add_stream(1, 1, 0);
	plan("pages=stay");
	throughput_is(1 + 80. / 120, 2);
	CU_ASSERT_EQUAL(f.decision[1].to, 0);
}

/* Three quarters of a controller's rate for one node, a quarter for the other: pages split. */
TEST(pages_split_as_the_controllers_are)
{
	machine("machine name=x line_bytes=64\n"
		"node 0 core_outstanding=40 port_remote_weight=1 dram_bytes_per_s=1.5e10 dram_latency_ns=80\n"
		"node 1 core_outstanding=40 port_remote_weight=1 dram_bytes_per_s=5e9 dram_latency_ns=80\n"
		"link 0 1 bytes_per_s=1e11 latency_ns=1 header_bytes=8\n");
	add_stream_that_reads(0, 1, 0, 1.5e10);
	plan("horizon=0");
	CU_ASSERT_DOUBLE_EQUAL((double)f.after[0], 750, 5);
	CU_ASSERT_DOUBLE_EQUAL((double)f.after[1], 250, 5);
}

/* 1000 pages of 4 KiB at 0.39 MiB/s take 10 s, a tenth of 100 s: more than 0.05 of a speed-up. */
TEST(a_move_that_does_not_pay_is_left)
{
	machine(MACHINE(""));
	add_stream_that_reads(0, 1, 1, 64e7 * 10 / 4); /* a line every 400 ns, 360 at home */
	f.node[1].cpus = 0;
	plan("rate=0.390625,horizon=100"); /* 1.11 before the move's 0.1 */
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
	plan("rate=0.390625,horizon=1000");
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 1000);
}
