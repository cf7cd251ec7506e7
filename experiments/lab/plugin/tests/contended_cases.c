// SPDX-License-Identifier: GPL-2.0-only
/* Lines that CPUs take from each other: by clocks that a test sets, and by threads of the host. */
#include "clock_fixture.h"
#include "../decode/block_memory.h"
#include "../clock_sync.h"
#include "../contended.h"
#include "../decode/dataflow.h"
#include "../host_time.h"

#include <pthread.h>

#define LOCAL_NS  37
#define REMOTE_NS 74
#define TRIPS	  10000 /* so many that the 20 us by which the threads start apart are nothing */
#define SPAN_PS	  (2 * NP_CONTENDED_PS)

/* CPUs 0 to 2 run, at the same time; the clocks go on from case to case, so each has a line of its own. */
static void begin_transfers(void)
{
	begin_with_one();
	np_sim.config.c2c.local_ns = LOCAL_NS;
	np_sim.config.c2c.remote_ns = np_sim.config.c2c.remote_home_ns = REMOTE_NS;
	np_contention_exit();
	if (np_contention_init())
		abort();
	np_sim.step_ps = 500000;
	for (unsigned int i = 0; i < 3; i++) {
		np_clock_resume(&np_sim.cpu[i]);
		np_sim.cpu[i].step_ps = UINT64_MAX; /* timers are no matter here */
	}
}

/* A CPU uses a line, some time after its last step; returns what it took, in ns. */
static double touch(unsigned int index, uint32_t line, enum np_access access)
{
	struct np_cpu *cpu = &np_sim.cpu[index];
	uint64_t before = cpu->ps + cpu->pending_ps;
	bool writable;

	np_hierarchy_invalidate(&np_sim.hierarchy.cpu[index]);
	np_timing_use(cpu, (uint64_t)line << 6, line, access, &writable);
	return (cpu->ps + cpu->pending_ps - before) / 1e3;
}

TEST(a_line_is_contended_from_its_second_change_of_hands)
{
	begin_transfers();
	touch(0, 101, NP_ATOMIC);
	CU_ASSERT_FALSE(np_contended_is(101));
	touch(1, 101, NP_ATOMIC);
	CU_ASSERT_FALSE(np_contended_is(101));
	touch(0, 101, NP_ATOMIC);
	CU_ASSERT(np_contended_is(101));
	/* One at a time is no contention. */
	np_sim.cpu[0].ps += SPAN_PS;
	touch(0, 101, NP_ATOMIC);
	CU_ASSERT_FALSE(np_contended_is(101));
	end_with_one();
}

/* The address of the second load is what the first brings, from memory. */
TEST(a_line_that_becomes_contended_is_taken_when_its_address_is_known)
{
	const struct np_dataflow_insn follow = {
		.reads = 1, .writes = 1, .address = 1, .loads = true
	};
	struct np_dataflow *flow;
	struct np_cpu *cpu;
	uint64_t before;
	uint8_t index;

	begin_transfers();
	flow = np_dataflow_make(&follow, 1, 100, 0, false, &index);
	CU_ASSERT_FATAL(flow != NULL);
	touch(0, 103, NP_ATOMIC);
	touch(1, 103, NP_ATOMIC);
	cpu = &np_sim.cpu[0];
	before = cpu->ps + cpu->pending_ps;
	np_outstanding_begin(cpu, flow);
	touch(0, 5003, NP_LOAD);
	np_outstanding_begin(cpu, flow);
	touch(0, 103, NP_LOAD);
	CU_ASSERT(np_contended_is(103));
	np_outstanding_drain(cpu);
	CU_ASSERT_DOUBLE_EQUAL((cpu->ps + cpu->pending_ps - before) / 1e3, 80 + LOCAL_NS, 1);
	end_with_one();
	np_block_memory_forget();
}

static void contend(unsigned int a, unsigned int b, uint32_t line)
{
	for (int i = 0; i < 2; i++) {
		touch(a, line, NP_ATOMIC);
		touch(b, line, NP_ATOMIC);
	}
	np_sim.cpu[a].ps = np_sim.cpu[b].ps;
}

TEST(a_change_of_hands_costs_what_the_machine_says)
{
	begin_transfers();
	contend(0, 1, 102);
	CU_ASSERT_DOUBLE_EQUAL(touch(0, 102, NP_ATOMIC), LOCAL_NS, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(touch(0, 102, NP_ATOMIC), 0, 1e-9);
	np_sim.cpu[2].ps = np_sim.cpu[0].ps;
	CU_ASSERT_DOUBLE_EQUAL(touch(2, 102, NP_ATOMIC), REMOTE_NS, 1e-9);
	end_with_one();
}

/* The thread of a CPU that is behind runs after that of the one that has the line now. */
TEST(a_line_is_not_taken_before_it_is_there)
{
	struct np_cpu *late;

	begin_transfers();
	contend(0, 1, 103);
	late = &np_sim.cpu[0];
	np_sim.cpu[1].ps += 600000;
	touch(1, 103, NP_ATOMIC);
	CU_ASSERT_DOUBLE_EQUAL(touch(0, 103, NP_ATOMIC), 600 + LOCAL_NS, 1e-9);
	CU_ASSERT_EQUAL(late->ps, np_sim.cpu[1].ps + LOCAL_NS * 1000);
	end_with_one();
}

/* A CPU that reads a line over and over has it a transfer after it was written, whenever it looks. */
TEST(a_waiting_reader_sees_a_store_a_transfer_later)
{
	begin_transfers();
	contend(0, 1, 104);
	touch(1, 104, NP_STORE);
	touch(0, 104, NP_LOAD);
	touch(0, 104, NP_LOAD);
	np_sim.cpu[1].ps = np_sim.cpu[0].ps;
	touch(1, 104, NP_STORE);
	np_sim.cpu[0].pending_ps += 7000;
	CU_ASSERT_DOUBLE_EQUAL(touch(0, 104, NP_LOAD), LOCAL_NS - 7, 1e-9);
	end_with_one();
}

/* A wait of longer than CPUs are held to each other: the waiting one's thread comes late. */
TEST(a_long_wait_ends_after_the_store_that_ends_it)
{
	begin_transfers();
	contend(0, 1, 106);
	touch(0, 106, NP_LOAD);
	touch(0, 106, NP_LOAD);
	np_sim.cpu[1].ps = np_sim.cpu[0].ps + 15000000;
	touch(1, 106, NP_STORE);
	touch(0, 106, NP_LOAD);
	CU_ASSERT(np_sim.cpu[0].ps >= np_sim.cpu[1].ps + LOCAL_NS * 1000);
	end_with_one();
}

/* The first reader takes the line from its writer, and the others find a copy. */
TEST(no_reader_sees_a_store_before_it_is_made)
{
	begin_transfers();
	np_clock_resume(&np_sim.cpu[3]);
	contend(0, 1, 107);
	touch(2, 107, NP_LOAD);
	touch(3, 107, NP_LOAD);
	np_sim.cpu[2].ps = np_sim.cpu[3].ps = np_sim.cpu[1].ps;
	np_sim.cpu[1].ps += 900000;
	touch(1, 107, NP_STORE);
	touch(2, 107, NP_LOAD);
	touch(3, 107, NP_LOAD);
	CU_ASSERT(np_sim.cpu[2].ps + np_sim.cpu[2].pending_ps > np_sim.cpu[1].ps);
	CU_ASSERT(np_sim.cpu[3].ps + np_sim.cpu[3].pending_ps > np_sim.cpu[1].ps);
	end_with_one();
}

TEST(an_atomic_access_waits_for_the_line_that_a_store_has_missed)
{
	begin_transfers();
	touch(0, 200000, NP_STORE);
	CU_ASSERT(touch(0, 200000, NP_ATOMIC) > 70);
	end_with_one();
}

static unsigned int turn;

/* What the plugin does at an instruction of a nanosecond that uses the line. */
static void execute(unsigned int self)
{
	struct np_cpu *cpu = &np_sim.cpu[self];

	touch(self, 105, NP_ATOMIC);
	cpu->pending_ps += 1000;
	if (cpu->pending_ps >= np_sim.step_ps)
		np_clock_step(cpu);
}

static void *take_turns(void *arg)
{
	unsigned int self = (uintptr_t)arg;

	np_write(np_sim.cpu[self].state, np_host_open_state());
	for (int i = 0; i < TRIPS; i++) {
		unsigned int mine = self;

		while (!__atomic_compare_exchange_n(&turn, &mine, !self, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST)) {
			mine = self;
			execute(self);
		}
		execute(self);
	}
	np_clock_idle(&np_sim.cpu[self]);
	return NULL;
}

TEST(threads_hand_a_line_over_in_the_machine_s_time)
{
	pthread_t thread[2];
	uint64_t begin_ps;
	double ns;

	begin_transfers();
	turn = 0;
	begin_ps = np_sim.cpu[0].ps;
	np_clock_idle(&np_sim.cpu[2]);
	for (uintptr_t i = 0; i < 2; i++)
		CU_ASSERT_FATAL(!pthread_create(&thread[i], NULL, take_turns, (void *)i));
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	ns = (np_sim.cpu[0].ps - begin_ps) / 1e3 / (2 * TRIPS);
	CU_ASSERT_DOUBLE_EQUAL(ns, LOCAL_NS, 0.15 * LOCAL_NS);
	if (ns < 0.85 * LOCAL_NS || ns > 1.15 * LOCAL_NS)
		printf("\n%.1f ns a hand-over instead of %d\n", ns, LOCAL_NS);
	end_with_one();
}
