// SPDX-License-Identifier: GPL-2.0-only
/* Simulated time of access sequences, without QEMU: charges and windows. */
#include "fixture.h"

#include "../contention.h"

#define LINES 60000u /* far more than the last level */

/* Moves a CPU's pending time to its clock, as a step does. */
static void step(struct np_cpu *cpu)
{
	cpu->ps += cpu->pending_ps;
	cpu->busy_ps += cpu->pending_ps;
	cpu->pending_ps = 0;
	np_contention_advance(cpu->ps);
}

static double chase_ns(unsigned int cpu_index, uint32_t first)
{
	struct np_cpu *cpu = &np_sim.cpu[cpu_index];
	uint64_t start = cpu->ps;

	for (uint32_t i = 0; i < LINES; i++) {
		uint32_t line = first + i * 40503u % LINES;

		np_timing_access(cpu, (uint64_t)line << 6, line, false);
		step(cpu);
	}
	return (cpu->ps - start) / 1000.0 / LINES;
}

TEST(a_pointer_chase_reads_the_latency)
{
	begin();
	CU_ASSERT_DOUBLE_EQUAL(chase_ns(0, 0), 80, 1);
	end();
	begin();
	CU_ASSERT_DOUBLE_EQUAL(chase_ns(0, NODE_LINES), 130, 1.5);
	end();
}

static void read_in_sequence(unsigned int cpus, uint32_t first)
{
	const uint32_t lines = LINES / 2;

	for (uint32_t i = 0; i < lines; i++)
		for (unsigned int n = 0; n < cpus; n++) {
			uint32_t line = first + n * lines + i;

			np_timing_access(&np_sim.cpu[n], (uint64_t)line << 6, line, false);
			np_sim.cpu[n].pending_ps += 1000;
			step(&np_sim.cpu[n]);
		}
}

/* GB/s that so many CPUs of node 0 read from one node, after some windows. */
static double stream_gb_s(unsigned int cpus, uint32_t first)
{
	uint64_t start;

	for (int round = 0; round < 10; round++)
		read_in_sequence(cpus, first);
	start = np_sim.cpu[0].ps;
	read_in_sequence(cpus, first);
	return 64.0 * (LINES / 2) * cpus * 1000 / (np_sim.cpu[0].ps - start);
}

TEST(streams_share_controller_and_link)
{
	static const struct {
		unsigned int cpus;
		uint32_t first;
		double gb_s;
	} table[] = {
		{ 1, 0, 64.0 * 10 / 80 }, /* what one core keeps in flight */
		{ 1, NODE_LINES, 64.0 * 10 / 130 },
		{ 2, 0, 12 },	      /* the controller */
		{ 2, NODE_LINES, 6 }, /* the link */
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		double gb_s;

		begin();
		gb_s = stream_gb_s(table[i].cpus, table[i].first);
		end();
		CU_ASSERT_DOUBLE_EQUAL(gb_s, table[i].gb_s, 0.05 * table[i].gb_s);
		if (gb_s < 0.95 * table[i].gb_s || gb_s > 1.05 * table[i].gb_s)
			printf("\n%.2f GB/s instead of %.2f\n", gb_s, table[i].gb_s);
	}
}

/* What is beyond the most flows of the model loads the controller all the same. */
TEST(flows_of_a_node_s_cpus_may_be_one)
{
	double gb_s;

	np_contention_flows = 1;
	begin();
	gb_s = stream_gb_s(2, 0);
	end();
	np_contention_flows = NP_MODEL_FLOWS;
	CU_ASSERT_DOUBLE_EQUAL(gb_s, 12, 0.6);
}

/* Each CPU in turn runs until it is ahead of the other: windows end while the clocks differ. */
static void leapfrog(uint32_t lines, uint64_t ahead_ps)
{
	uint32_t done[2] = { 0 };
	unsigned int n = 0;

	while (done[0] < lines && done[1] < lines) {
		struct np_cpu *cpu = &np_sim.cpu[n];
		uint32_t line = n * LINES / 2 + done[n]++ % (LINES / 2);

		np_timing_access(cpu, (uint64_t)line << 6, line, false);
		cpu->pending_ps += 1000;
		step(cpu);
		if (cpu->ps > np_sim.cpu[!n].ps + ahead_ps)
			n = !n;
	}
}

TEST(clocks_that_are_apart_cost_the_controller_nothing)
{
	const uint32_t lines = 2 * LINES;
	uint64_t start;
	double gb_s;

	begin();
	np_sim.cpu[0].busy = np_sim.cpu[1].busy = true;
	leapfrog(lines / 2, 40000000);
	start = np_sim.cpu[0].ps + np_sim.cpu[1].ps;
	leapfrog(lines, 40000000);
	gb_s = 2 * 64.0 * lines * 2 * 1000 / (np_sim.cpu[0].ps + np_sim.cpu[1].ps - start);
	end();
	CU_ASSERT_DOUBLE_EQUAL(gb_s, 12, 0.03 * 12);
	if (gb_s < 0.97 * 12 || gb_s > 1.03 * 12)
		printf("\n%.2f GB/s instead of 12\n", gb_s);
}

/*
 * CPU 0 writes to node 0 and CPU 1 to node 1, through one last level: each evicts the other's
 * lines.
 */
static void write_in_sequence(uint32_t lines)
{
	for (uint32_t i = 0; i < lines; i++)
		for (unsigned int n = 0; n < 2; n++) {
			uint32_t line = n * NODE_LINES + i % LINES;

			np_timing_access(&np_sim.cpu[n], (uint64_t)line << 6, line, true);
			np_sim.cpu[n].pending_ps += 1000;
			step(&np_sim.cpu[n]);
		}
}

TEST(a_neighbour_s_write_backs_are_traffic)
{
	uint64_t start;
	double gb_s;

	begin();
	np_sim.cpu[0].busy = np_sim.cpu[1].busy = true;
	write_in_sequence(2 * LINES);
	start = np_sim.cpu[0].ps;
	write_in_sequence(2 * LINES);
	gb_s = 64.0 * 2 * LINES * 1000 / (np_sim.cpu[0].ps - start);
	end();
	/* Half of the controller's 12 GB/s: each line is read, and written back. */
	CU_ASSERT_DOUBLE_EQUAL(gb_s, 6, 0.05 * 6);
	if (gb_s < 5.7 || gb_s > 6.3)
		printf("\n%.2f GB/s instead of 6\n", gb_s);
}

/* The window that ends at so many of its lengths, of a CPU that was busy. */
static void pass_window(unsigned int cpu, unsigned int window)
{
	np_sim.cpu[cpu].busy = true;
	np_sim.cpu[cpu].ps = np_sim.cpu[cpu].busy_ps = window * np_sim.config.window_ns * 1000;
}

/*
 * Queueing delay of a line while CPUs 2 and 3 read their node, and CPU `writer`
 * writes back to that node so many lines in windows by turns.
 */
static double queueing_ps(unsigned int writer, uint64_t even, uint64_t odd)
{
	const uint64_t written[2] = { even, odd };
	uint64_t sum = 0;

	begin();
	for (unsigned int window = 1; window <= 100; window++) {
		for (unsigned int cpu = 2; cpu < 4; cpu++) {
			pass_window(cpu, window);
			np_sim.cpu[cpu].traffic[1][NP_DRAM].prefetched += 6000;
		}
		pass_window(writer, window);
		np_sim.cpu[writer].traffic[1][NP_DRAM].written += written[window & 1];
		np_contention_advance(np_sim.cpu[writer].ps);
		sum += window > 50 ? np_sim.cpu[2].cost[1][NP_DRAM].extra_ps : 0;
	}
	end();
	return sum / 50.0;
}

TEST(write_backs_in_bursts_cost_what_steady_ones_do)
{
	double steady = queueing_ps(2, 6000, 6000);

	CU_ASSERT(steady > 1.5 * queueing_ps(2, 0, 0));
	CU_ASSERT_DOUBLE_EQUAL(queueing_ps(2, 0, 12000), steady, 0.05 * steady);
}

/* As after a migration: CPU 0's node writes back to one that it no longer reads. */
TEST(write_backs_to_an_unread_node_are_traffic)
{
	double quiet = queueing_ps(0, 0, 0), some = queueing_ps(0, 2000, 2000);

	CU_ASSERT(some > 1.1 * quiet);
	CU_ASSERT(queueing_ps(0, 4000, 4000) > 1.1 * some);
}

TEST(computing_overlaps_with_fetching_ahead)
{
	struct np_cpu *cpu = np_sim.cpu;

	begin();
	cpu = np_sim.cpu;
	for (uint32_t line = 0; line < LINES; line++) {
		cpu->pending_ps += 50000; /* far longer than a line takes */
		np_timing_access(cpu, (uint64_t)line << 6, line, false);
		step(cpu);
	}
	CU_ASSERT_DOUBLE_EQUAL(cpu->ps / 1000.0 / LINES, 50, 0.5);
	end();
}

/*
 * Nanoseconds of a line that one CPU reads in sequence, that waits in queues, and that it computes
 * with.
 */
static double through_port_ns(double port_bytes_per_s, uint64_t queue_ps, uint64_t compute_ps)
{
	struct np_cpu *cpu;
	double ns;

	begin();
	cpu = np_sim.cpu;
	np_sim.config.model.node[0].core_bytes_per_s = port_bytes_per_s;
	np_contention_exit();
	np_contention_init();
	for (uint32_t line = 0; line < LINES; line++) {
		cpu->cost[0][NP_DRAM].extra_ps = queue_ps; /* each window puts its own */
		cpu->pending_ps += compute_ps;
		np_timing_access(cpu, (uint64_t)line << 6, line, false);
		step(cpu);
	}
	ns = cpu->ps / 1000.0 / LINES;
	end();
	return ns;
}

TEST(a_core_takes_no_more_than_its_port)
{
	CU_ASSERT_DOUBLE_EQUAL(through_port_ns(1.6e9, 0, 1000), 40, 0.5);
	/* It computes meanwhile. */
	CU_ASSERT_DOUBLE_EQUAL(through_port_ns(1.6e9, 0, 30000), 40, 0.5);
	CU_ASSERT_DOUBLE_EQUAL(through_port_ns(1.6e9, 0, 50000), 50, 0.5);
	CU_ASSERT(through_port_ns(0, 0, 1000) < 15);
}

/* Nanoseconds that a line of a stream takes of its core, and that a load waits. */
static void streamed_ns(double stream_lines, double *stream, double *demand)
{
	struct np_cpu *cpu;

	begin();
	cpu = np_sim.cpu;
	np_sim.config.model.node[0].core_stream_lines = stream_lines;
	np_contention_exit();
	np_contention_init();
	*stream = cpu->cost[0][NP_DRAM].service_ps / 1000.0;
	*demand = cpu->cost[0][NP_DRAM].latency_ps / 1000.0;
	end();
}

TEST(a_stream_may_have_more_lines_in_flight_than_loads)
{
	double stream, demand;

	streamed_ns(0, &stream, &demand);
	CU_ASSERT_DOUBLE_EQUAL(stream, 8, 0.01);
	streamed_ns(20, &stream, &demand);
	CU_ASSERT_DOUBLE_EQUAL(stream, 4, 0.01);
	CU_ASSERT_DOUBLE_EQUAL(demand, 80, 0.01);
}

TEST(queues_come_on_top_of_a_core_s_port)
{
	CU_ASSERT_DOUBLE_EQUAL(through_port_ns(1.6e9, 20000, 1000), 60, 0.5);
}

/* Steps of a chase that writes to a line before it loads the next address from it, in ns. */
static double chase_after_stores(unsigned int n, bool loads)
{
	struct np_cpu *cpu;
	uint64_t before;

	begin();
	cpu = &np_sim.cpu[0];
	before = cpu->ps + cpu->pending_ps;
	for (unsigned int i = 0; i < n; i++) {
		uint32_t line = i * 7919u % NODE_LINES; /* no sequence */

		np_timing_access(cpu, (uint64_t)line << 6, line, true);
		CU_ASSERT(np_timing_arrives(cpu, line, false));
		if (loads)
			CU_ASSERT_FALSE(np_timing_arrives(cpu, line, true));
	}
	before = cpu->ps + cpu->pending_ps - before;
	end();
	return before / 1e3 / n;
}

TEST(a_load_waits_for_the_line_that_a_store_has_missed)
{
	CU_ASSERT_DOUBLE_EQUAL(chase_after_stores(200, true), 80, 2);
	CU_ASSERT(chase_after_stores(200, false) < 20);
}

/* What a CPU pays for a line that another has modified, in ns. */
static double read_modified(unsigned int writer, unsigned int reader, uint32_t line)
{
	struct np_cpu *cpu = &np_sim.cpu[reader];
	uint64_t before;

	np_timing_access(&np_sim.cpu[writer], (uint64_t)line << 6, line, true);
	before = cpu->pending_ps;
	np_timing_access(cpu, (uint64_t)line << 6, line, false);
	return (cpu->pending_ps - before) / 1e3;
}

TEST(a_modified_line_costs_what_the_machine_says)
{
	begin();
	np_sim.config.c2c.local_ns = 37;
	np_sim.config.c2c.remote_ns = 74;
	np_sim.config.c2c.remote_home_ns = 150;
	np_contention_exit();
	if (np_contention_init())
		abort();
	CU_ASSERT_DOUBLE_EQUAL(read_modified(0, 1, 1000), 37, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(read_modified(0, 2, 3000), 74, 1e-9); /* the writer's memory */
	CU_ASSERT_DOUBLE_EQUAL(read_modified(0, 2, NODE_LINES + 5000), 150,
			       1e-9); /* the reader's */
	end();
	begin_with("llc_cpus=1\nc2c=37 74 150 60\n");
	CU_ASSERT_DOUBLE_EQUAL(read_modified(0, 1, 1000), 60, 1e-9); /* another last level's */
	CU_ASSERT_DOUBLE_EQUAL(read_modified(0, 2, 3000), 74, 1e-9);
	CU_ASSERT(np_sim.cpu[1].llc_misses == 1 && !np_sim.cpu[1].remote_cache);
	CU_ASSERT_EQUAL(np_sim.cpu[2].remote_cache, 1);
	end();
	begin_with("llc_cpus=1\n");
	CU_ASSERT_DOUBLE_EQUAL(read_modified(0, 1, 1000), 80, 1e-9); /* as its memory */
	end();
}
