// SPDX-License-Identifier: GPL-2.0-only
/* Threads of the host with clocks of their own, one of them much slower than the other. */
#include "fixture.h"
#include "../together.h"

#include <pthread.h>
#include <unistd.h>

#define STEP_PS	 500000u
#define QUANTUM_PS 20000000u

static void step(struct np_cpu *cpu)
{
	np_show(cpu->ps, cpu->ps + STEP_PS);
	np_together(cpu);
}

static void halt(struct np_cpu *cpu)
{
	np_show(cpu->busy, false);
	np_together_without();
}

static void begin_busy(unsigned int cpus)
{
	begin();
	for (unsigned int i = 0; i < cpus; i++)
		np_sim.cpu[i].busy = true;
}

static void *go_slowly(void *data)
{
	for (int i = 0; i < 1000; i++) {
		usleep(20);
		step(data);
	}
	halt(data);
	return NULL;
}

static uint64_t ahead_of(const struct np_cpu *cpu, const struct np_cpu *other)
{
	uint64_t ps = np_look(other->ps);

	return np_look(other->busy) && cpu->ps > ps ? cpu->ps - ps : 0;
}

static void a_fast_cpu_waits_for_a_slow_one(void)
{
	struct np_cpu *fast, *slow;
	uint64_t furthest = 0;
	pthread_t thread;

	begin_busy(2);
	fast = &np_sim.cpu[0];
	slow = &np_sim.cpu[1];
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_slowly, slow));
	while (np_look(slow->busy)) {
		uint64_t ahead = ahead_of(fast, slow);

		furthest = ahead > furthest ? ahead : furthest;
		step(fast);
	}
	pthread_join(thread, NULL);
	CU_ASSERT(furthest > QUANTUM_PS / 2);	/* it is the faster one */
	CU_ASSERT(furthest < 4 * QUANTUM_PS);	/* each millisecond that the host keeps a thread away adds a step */
	end();
}

static void a_cpu_that_stands_still_stops_no_one(void)
{
	begin_busy(2);
	for (int i = 0; i < 60; i++)
		step(&np_sim.cpu[0]);
	CU_ASSERT_EQUAL(np_sim.cpu[0].ps, 60ull * STEP_PS);
	end();
}

static void *halt_soon(void *cpu)
{
	usleep(500);
	halt(cpu);
	return NULL;
}

static void a_cpu_that_halts_is_not_waited_for(void)
{
	pthread_t thread;

	begin_busy(2);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, halt_soon, &np_sim.cpu[1]));
	for (int i = 0; i < 100000; i++)
		step(&np_sim.cpu[0]);	/* a millisecond each would be minutes */
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(np_sim.cpu[0].ps, 100000ull * STEP_PS);
	end();
}

void add_together_cases(void)
{
	CU_TestInfo cases[] = {
		{ "a fast CPU waits for a slow one", a_fast_cpu_waits_for_a_slow_one },
		{ "a CPU that stands still stops no one", a_cpu_that_stands_still_stops_no_one },
		{ "a CPU that halts is not waited for", a_cpu_that_halts_is_not_waited_for },
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = { { "together", NULL, NULL, NULL, NULL, cases }, CU_SUITE_INFO_NULL };

	CU_register_suites(suites);
}
