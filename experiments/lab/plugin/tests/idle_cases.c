// SPDX-License-Identifier: GPL-2.0-only
/* The clock of a machine whose CPUs have all halted, or that QEMU has stopped. */
#include "../in_flight.h"
#include "clock_fixture.h"

TEST(idle_time_goes_to_the_next_timer_at_once)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	then = cpu->ps / 1000;
	qemu.deadline_ns = then + 40 * MS;
	np_clock_idle(cpu);
	CU_ASSERT_EQUAL(qemu.notified, 1);
	CU_ASSERT_EQUAL(main_loop_ns(), then + 40 * MS);
	CU_ASSERT(qemu_clock_run_timers(1));
	end_with_one();
}

/* Looks at the devices as the main loop does when the timer of the host's time that it was given is due. */
static void look_again(void)
{
	host_ns = qemu.host_timer_ns;
	qemu.host_timer(NULL);
}

TEST(idle_time_is_the_host_s_while_a_device_may_be_at_work)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then, before;

	run(cpu, 10 * US);
	then = cpu->ps / 1000;
	qemu.deadline_ns = then + 40 * MS;
	np_in_flight_ask();
	np_clock_idle(cpu);
	host_ns += NP_IN_FLIGHT_GRACE_NS / 2;
	CU_ASSERT_EQUAL(main_loop_ns(), then + NP_IN_FLIGHT_GRACE_NS / 2);
	look_again(); /* no thread works */
	before = main_loop_ns();
	CU_ASSERT(before < then + 40 * MS);
	CU_ASSERT_EQUAL(main_loop_ns(), before); /* it has not looked at its files since */
	look_again();
	CU_ASSERT_EQUAL(main_loop_ns(), then + 40 * MS);
	end_with_one();
}

TEST(idle_time_is_the_host_s_up_to_the_next_timer)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	then = cpu->ps / 1000;
	np_clock_idle(cpu);
	host_ns += 3 * MS;
	CU_ASSERT_EQUAL(main_loop_ns(), then + 3 * MS);
	qemu.deadline_ns = then + 4 * MS;
	host_ns += 100 * MS; /* the host is late */
	CU_ASSERT_EQUAL(main_loop_ns(), then + 4 * MS);
	CU_ASSERT(qemu_clock_run_timers(1));
	host_ns += 2 * MS;
	CU_ASSERT_EQUAL(main_loop_ns(), then + 6 * MS);
	end_with_one();
}

/* All CPUs are halted, and QEMU's main loop does not ask meanwhile. */
TEST(no_time_passes_in_a_stopped_machine)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t at;

	np_clock_idle(cpu);
	at = main_loop_ns();
	qemu.run_or_stop(NULL, false, 0);
	host_ns += 50 * MS;
	CU_ASSERT_EQUAL(main_loop_ns(), at);
	qemu.run_or_stop(NULL, true, 0);
	CU_ASSERT_EQUAL(main_loop_ns(), at);
	host_ns += 2 * MS;
	CU_ASSERT_EQUAL(main_loop_ns(), at + 2 * MS);
	end_with_one();
}

TEST(waking_a_thread_of_the_host_takes_no_time)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	then = cpu->ps / 1000;
	np_clock_idle(cpu);
	qemu.deadline_ns = then + MS;
	qemu.timer_wakes = 2;
	host_ns += 5 * MS;
	CU_ASSERT_EQUAL(main_loop_ns(), then + MS);
	CU_ASSERT(qemu_clock_run_timers(1));
	host_ns += 5 * MS;
	CU_ASSERT_EQUAL(main_loop_ns(), then + MS);
	resume(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, (then + MS) * 1000);
	end_with_one();
}

TEST(a_device_s_time_is_the_host_s)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	then = cpu->ps / 1000;
	np_clock_idle(cpu);
	host_ns += 2 * MS;
	qemu.has_work[1] = true;
	CU_ASSERT_EQUAL(main_loop_ns(), then + 2 * MS);
	host_ns += 2 * MS;
	CU_ASSERT_EQUAL(main_loop_ns(), then + 2 * MS);
	resume(&cpu[1]);
	CU_ASSERT_EQUAL(cpu[1].ps, (then + 2 * MS) * 1000);
	end_with_one();
}

/* The interrupt that ends a request comes at the look at which nothing is in flight any more. */
TEST(a_device_that_wakes_a_cpu_skips_nothing)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	then = cpu->ps / 1000;
	qemu.deadline_ns = then + 40 * MS;
	np_in_flight_ask();
	np_clock_idle(cpu);
	main_loop_ns();
	look_again();
	main_loop_ns();
	look_again();
	qemu.has_work[1] = true;
	CU_ASSERT(main_loop_ns() < then + 4 * MS);
	resume(&cpu[1]);
	CU_ASSERT(cpu[1].ps < (then + 4 * MS) * 1000);
	end_with_one();
}

/* A CPU has run in between, and asked for more. */
TEST(each_request_is_looked_at_twice)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	np_in_flight_ask();
	np_clock_idle(cpu);
	host_ns += NP_IN_FLIGHT_GRACE_NS;
	CU_ASSERT(np_in_flight_any());
	resume(cpu);
	run(cpu, 10 * US);
	np_in_flight_ask();
	then = cpu->ps / 1000;
	qemu.deadline_ns = then + 40 * MS;
	np_clock_idle(cpu);
	host_ns += NP_IN_FLIGHT_GRACE_NS;
	np_in_flight_looked();
	CU_ASSERT(main_loop_ns() < then + 40 * MS);
	np_in_flight_looked();
	CU_ASSERT_EQUAL(main_loop_ns(), then + 40 * MS);
	end_with_one();
}

TEST(no_host_time_counts_while_a_woken_cpu_comes)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	then = cpu->ps;
	qemu.has_work[1] = true;
	np_clock_idle(cpu);
	host_ns += 5 * MS;
	main_loop_ns();
	resume(&cpu[1]);
	CU_ASSERT_EQUAL(cpu[1].ps, then);
	end_with_one();
}

/* Its thread goes to sleep while the work is queued, and is not told. */
TEST(time_goes_on_if_a_woken_cpu_does_not_come)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	then = cpu->ps / 1000;
	qemu.has_work[1] = true;
	np_clock_idle(cpu);
	qemu.deadline_ns = then + 4 * MS;
	for (int i = 0; i < 100 && main_loop_ns() < qemu.deadline_ns; i++)
		host_ns += 10 * MS;
	CU_ASSERT_EQUAL(main_loop_ns(), then + 4 * MS);
	CU_ASSERT(qemu_clock_run_timers(1));
	end_with_one();
}
