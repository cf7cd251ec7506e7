// SPDX-License-Identifier: GPL-2.0-only
/* Who halts, who goes on, and when: the guest's kernel and QEMU are played by hand. */
#include "fixture.h"
#include "../clock.h"

#include <pthread.h>
#include <time.h>

#define US 1000000ull	/* ps */

static struct np_lab_shared shared;

/* CPU 0 runs, all others are halted. The furthest clock stays from case to case. */
static struct np_cpu *begin_with_one(void)
{
	begin();
	memset(shared.cpu, 0, sizeof(shared.cpu));
	np_sim.shared = &shared;
	np_clock_init();
	np_clock_resume(&np_sim.cpu[0]);
	return np_sim.cpu;
}

static void end_with_one(void)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		np_clock_idle(&np_sim.cpu[i]);
	end();
}

static void run(struct np_cpu *cpu, uint64_t ps)
{
	cpu->pending_ps += ps;
	np_clock_tick(cpu);
}

static void take_timer_tick(struct np_cpu *cpu, uint64_t ps)
{
	np_clock_resume(cpu);
	shared.cpu[cpu->index].ticks++;
	run(cpu, ps);
	np_clock_idle(cpu);
}

static void an_idle_cpu_s_tick_is_no_time_for_others(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then = cpu[0].ps;

	take_timer_tick(&cpu[1], 5 * US);
	np_clock_resume(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, then);
	CU_ASSERT_EQUAL(shared.now_ns, then / 1000);
	end_with_one();
}

static void what_an_idle_cpu_goes_on_to_do_is(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then = cpu[0].ps;

	take_timer_tick(&cpu[1], 15 * US);
	np_clock_resume(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, then + 15 * US);
	np_clock_resume(&cpu[3]);	/* no tick */
	run(&cpu[3], 5 * US);
	CU_ASSERT_EQUAL(shared.now_ns, (then + 20 * US) / 1000);
	end_with_one();
}

static void who_is_woken_begins_when_it_was_interrupted(void)
{
	static const struct { uint64_t went_on, later; } table[] = { { 8 * US, 0 }, { 50 * US, 30 * US } };

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct np_cpu *cpu = begin_with_one();
		uint64_t then;

		run(cpu, 100 * US);
		then = cpu->ps;
		np_clock_interrupt(cpu);
		run(cpu, table[i].went_on);	/* until the host lets the other */
		np_clock_resume(&cpu[1]);
		CU_ASSERT_EQUAL(cpu[1].ps, then + table[i].later);
		end_with_one();
	}
}

static void a_tick_does_not_take_another_s_waking(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 100 * US);
	then = cpu->ps;
	np_clock_interrupt(cpu);
	run(cpu, 8 * US);
	take_timer_tick(&cpu[1], 2 * US);
	np_clock_resume(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, then);
	end_with_one();
}

static void a_short_answer_expects_nobody(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 100 * US);
	np_clock_interrupt(cpu);
	np_clock_resume(&cpu[1]);
	run(&cpu[1], 5 * US);
	np_clock_idle(&cpu[1]);
	run(cpu, 100 * US);
	then = cpu->ps;
	np_clock_resume(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, then);
	end_with_one();
}

static void *go_on(void *cpu)
{
	np_clock_resume(cpu);
	return NULL;
}

static void who_interrupts_waits_until_the_other_goes_on(void)
{
	struct np_cpu *cpu = begin_with_one();

	np_show(woken, 0);
	/* The other may be the faster one, and the host may keep it away for longer than it is waited for. */
	for (int i = 0; i < 10000 && !np_look(woken); i++) {
		pthread_t thread;

		CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_on, &cpu[1]));
		np_clock_interrupt(cpu);
		pthread_join(thread, NULL);
		np_clock_idle(&cpu[1]);
	}
	CU_ASSERT(np_look(woken));
	end_with_one();
}

static void who_does_not_come_is_waited_for_a_while(void)
{
	struct np_cpu *cpu = begin_with_one();
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	np_clock_interrupt(cpu);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CU_ASSERT((after.tv_sec - before.tv_sec) * 1e9 + after.tv_nsec - before.tv_nsec >= 500000);
	end_with_one();
}

void add_clock_cases(void)
{
	CU_TestInfo cases[] = {
		{ "an idle CPU's tick is no time for others", an_idle_cpu_s_tick_is_no_time_for_others },
		{ "what an idle CPU goes on to do is", what_an_idle_cpu_goes_on_to_do_is },
		{ "who is woken begins when it was interrupted", who_is_woken_begins_when_it_was_interrupted },
		{ "a tick does not take another's waking", a_tick_does_not_take_another_s_waking },
		{ "a short answer expects nobody", a_short_answer_expects_nobody },
		{ "who interrupts waits until the other goes on", who_interrupts_waits_until_the_other_goes_on },
		{ "who does not come is waited for a while", who_does_not_come_is_waited_for_a_while },
		CU_TEST_INFO_NULL,
	};
	CU_SuiteInfo suites[] = { { "clock", NULL, NULL, NULL, NULL, cases }, CU_SUITE_INFO_NULL };

	CU_register_suites(suites);
}
