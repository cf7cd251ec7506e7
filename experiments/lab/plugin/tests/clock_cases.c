// SPDX-License-Identifier: GPL-2.0-only
/* Halting and resuming of CPUs, with the calls that QEMU would make for the guest's kernel. */
#include "fixture.h"
#include "../clock.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define US 1000000ull /* ps */

static struct np_lab_shared shared;
static bool stop;

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
	np_clock_step(cpu);
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

static void work_of_an_idle_cpu_is_time(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then = cpu[0].ps;

	take_timer_tick(&cpu[1], 15 * US);
	np_clock_resume(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, then + 15 * US);
	np_clock_resume(&cpu[3]); /* no tick */
	run(&cpu[3], 5 * US);
	CU_ASSERT_EQUAL(shared.now_ns, (then + 20 * US) / 1000);
	end_with_one();
}

static void woken_cpu_resumes_at_the_ipi_s_time(void)
{
	static const struct {
		uint64_t went_on, later;
	} table[] = { { 8 * US, 0 }, { 50 * US, 30 * US } };

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct np_cpu *cpu = begin_with_one();
		uint64_t then;

		run(cpu, 100 * US);
		then = cpu->ps;
		np_clock_interrupt(cpu);
		run(cpu, table[i].went_on); /* until the host lets the other */
		np_clock_resume(&cpu[1]);
		CU_ASSERT_EQUAL(cpu[1].ps, then + table[i].later);
		end_with_one();
	}
}

static void a_tick_does_not_use_another_s_wake_up(void)
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

static void a_short_answer_expects_no_cpu(void)
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

static void a_woken_cpu_is_not_expected_again(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 100 * US);
	np_clock_interrupt(cpu);
	np_clock_resume(&cpu[1]); /* ticks */
	np_clock_resume(&cpu[2]); /* was interrupted */
	shared.cpu[1].ticks++;
	run(&cpu[1], 5 * US);
	np_clock_idle(&cpu[1]);
	run(cpu, 100 * US);
	then = cpu->ps;
	np_clock_resume(&cpu[3]);
	CU_ASSERT_EQUAL(cpu[3].ps, then);
	end_with_one();
}

/* No CPU resumes: the interrupted CPU is the sender or was not halted. */
static void time_passes_if_no_cpu_resumes(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	np_clock_interrupt(cpu);
	np_clock_idle(cpu);
	then = shared.now_ns;
	for (int i = 0; i < 1000 && shared.now_ns < then + 4000000; i++) {
		host_ns += 100000;
		take_timer_tick(&cpu[1], 3 * US);
	}
	CU_ASSERT(shared.now_ns >= then + 4000000);
	end_with_one();
}

static void time_passes_while_there_are_only_ticks(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then = cpu->ps;

	np_clock_resume(&cpu[1]);
	np_clock_idle(cpu);
	shared.cpu[1].ticks++;
	run(&cpu[1], 5 * US);
	CU_ASSERT_EQUAL(shared.now_ns, (then + 5 * US) / 1000);
	np_clock_idle(&cpu[1]);
	end_with_one();
}

static void ticks_put_no_cpu_ahead(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then = cpu->ps;

	for (int i = 0; i < 100; i++)
		take_timer_tick(&cpu[1], 5 * US);
	np_clock_resume(&cpu[1]);
	CU_ASSERT_EQUAL(cpu[1].ps, then);
	end_with_one();
}

static void a_tick_that_interrupts_is_work(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then = cpu->ps;

	np_clock_resume(&cpu[1]);
	shared.cpu[1].ticks++;
	run(&cpu[1], 5 * US);
	np_clock_interrupt(&cpu[1]);
	CU_ASSERT_EQUAL(shared.now_ns, (then + 5 * US) / 1000);
	np_clock_resume(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, then + 5 * US);
	end_with_one();
}

static void a_wake_up_sets_no_clock_back(void)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	np_clock_resume(&cpu[1]);
	run(&cpu[1], 50 * US);
	then = cpu[1].ps;
	np_clock_idle(&cpu[1]);
	run(cpu, 45 * US);
	np_clock_interrupt(cpu); /* 5 us before the other halted */
	np_clock_resume(&cpu[1]);
	CU_ASSERT_EQUAL(cpu[1].ps, then);
	end_with_one();
}

static void *go_on(void *cpu)
{
	np_clock_resume(cpu);
	return NULL;
}

static void a_sender_waits_until_the_target_resumes(void)
{
	struct np_cpu *cpu = begin_with_one();

	np_write(woken, 0);
	/* The other CPU may be faster, and the host may delay it for longer than the wait lasts. */
	for (int i = 0; i < 10000 && !np_read(woken); i++) {
		pthread_t thread;

		CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_on, &cpu[1]));
		np_clock_interrupt(cpu);
		pthread_join(thread, NULL);
		np_clock_idle(&cpu[1]);
	}
	CU_ASSERT(np_read(woken));
	end_with_one();
}

static double ms_of_interrupting(struct np_cpu *cpu)
{
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC, &before);
	np_clock_interrupt(cpu);
	clock_gettime(CLOCK_MONOTONIC, &after);
	return (after.tv_sec - before.tv_sec) * 1e3 + (after.tv_nsec - before.tv_nsec) / 1e6;
}

static void a_cpu_that_does_not_arrive_is_waited_for_a_while(void)
{
	struct np_cpu *cpu = begin_with_one();

	CU_ASSERT(ms_of_interrupting(cpu) >= 0.5);
	end_with_one();
}

static void *go_ahead(void *data)
{
	struct np_cpu *cpu = data;

	while (!np_read(stop))
		run(cpu, US / 10);
	return NULL;
}

/* Possibly by the interrupted CPU: it cannot resume before its sender. */
static void cpu_that_others_wait_for_does_not_wait(void)
{
	struct np_cpu *cpu = begin_with_one();
	double least = 1e9;
	pthread_t thread;

	np_write(stop, false);
	np_clock_resume(&cpu[1]);
	run(&cpu[1], 10 * US);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_ahead, &cpu[1]));
	for (int i = 0; i < 1000 && least >= 0.45; i++) {
		double ms = ms_of_interrupting(cpu);

		least = ms < least ? ms : least;
	}
	CU_ASSERT(least < 0.45); /* ten waits are 0.5 */
	np_write(stop, true);
	pthread_join(thread, NULL);
	end_with_one();
}

static CU_TestInfo clock_tests[] = {
	{ "an idle CPU's tick is no time for others", an_idle_cpu_s_tick_is_no_time_for_others },
	{ "work of an idle CPU is time", work_of_an_idle_cpu_is_time },
	{ "a woken CPU resumes at the IPI's time", woken_cpu_resumes_at_the_ipi_s_time },
	{ "a tick does not use another's wake-up", a_tick_does_not_use_another_s_wake_up },
	{ "a short answer expects no CPU", a_short_answer_expects_no_cpu },
	{ "a woken CPU is not expected again", a_woken_cpu_is_not_expected_again },
	{ "time passes if no CPU resumes", time_passes_if_no_cpu_resumes },
	{ "time passes while there are only ticks", time_passes_while_there_are_only_ticks },
	{ "ticks put no CPU ahead", ticks_put_no_cpu_ahead },
	{ "a tick that interrupts is work", a_tick_that_interrupts_is_work },
	{ "a wake-up sets no clock back", a_wake_up_sets_no_clock_back },
	{ "a sender waits until the target resumes", a_sender_waits_until_the_target_resumes },
	{ "a CPU that does not arrive is waited for a while",
	  a_cpu_that_does_not_arrive_is_waited_for_a_while },
	{ "a CPU that others wait for does not wait", cpu_that_others_wait_for_does_not_wait },
	CU_TEST_INFO_NULL,
};

TEST_SUITE("clock", clock_tests);
