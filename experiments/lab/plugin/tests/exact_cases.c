// SPDX-License-Identifier: GPL-2.0-only
/* One thread runs all CPUs, and nothing depends on the host's time. */
#include "clock_fixture.h"

static struct np_cpu *begin_exact(void)
{
	struct np_cpu *cpu = begin_with_one();

	np_sim.config.exact = true;
	qemu.has_work[0] = true;
	np_qemu_clock_thread(cpu);
	return cpu;
}

static void come(struct np_cpu *cpu)
{
	resume(cpu);
	qemu.has_work[cpu->index] = true;
}

static void halt(struct np_cpu *cpu)
{
	np_clock_idle(cpu);
	qemu.has_work[cpu->index] = false;
}

static void end_exact(void)
{
	np_sim.config.exact = false;
	end_with_one();
}

static unsigned int at(unsigned int index)
{
	current_cpu = qemu_get_cpu(index);
	return np_qemu_clock_switch();
}

TEST(the_cpu_is_the_one_that_qemu_is_at)
{
	begin_exact();
	CU_ASSERT_EQUAL(at(0), 0);
	CU_ASSERT_EQUAL(at(3), 3);
	CU_ASSERT_EQUAL(at(1), 1);
	CU_ASSERT_EQUAL(at(1), 1);
	end_exact();
}

static void go(struct np_cpu *cpu, uint64_t ps)
{
	at(cpu->index);
	cpu->pending_ps += ps;
	np_clock_step(cpu);
}

TEST(a_cpu_that_is_ahead_lets_the_others_run)
{
	struct np_cpu *cpu = begin_exact();

	come(&cpu[1]);
	go(&cpu[0], 15 * US);
	CU_ASSERT_PTR_NULL(qemu.work);
	go(&cpu[0], 10 * US);
	CU_ASSERT_PTR_NOT_NULL(qemu.work);
	CU_ASSERT_EQUAL(qemu.work_data, 0);
	fake_qemu_work();
	go(&cpu[1], 10 * US);
	CU_ASSERT_PTR_NULL(qemu.work);
	go(&cpu[1], 50 * US);
	CU_ASSERT_EQUAL(qemu.work_data, 1);
	fake_qemu_work();
	end_exact();
}

TEST(who_wakes_another_lets_it_run)
{
	struct np_cpu *cpu = begin_exact();

	go(&cpu[0], 5 * US);
	qemu.has_work[2] = true;
	np_clock_interrupt(&cpu[0]);
	CU_ASSERT_PTR_NOT_NULL(qemu.work);
	fake_qemu_work();
	come(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, cpu[0].ps);
	end_exact();
}

TEST(the_main_loop_finds_no_timer_due)
{
	struct np_cpu *cpu = begin_exact();

	qemu.deadline_ns = cpu->ps / 1000 + 5000;
	go(&cpu[0], 100 * US);
	np_qemu_clock_thread(NULL);
	host_ns += 100 * MS;
	CU_ASSERT_FALSE(qemu_clock_run_timers(1));
	fake_qemu_work();
	CU_ASSERT_EQUAL(qemu.timers_ran, 1);
	end_exact();
}

TEST(a_machine_whose_cpus_all_halt_goes_from_timer_to_timer)
{
	struct np_cpu *cpu = begin_exact();
	uint64_t due;

	go(&cpu[0], 10 * US);
	due = cpu->ps / 1000 + 3 * MS;
	qemu.deadline_ns = due;
	halt(&cpu[0]);
	fake_qemu_work();
	CU_ASSERT_EQUAL(qemu.ran_ns, due);
	due += 500 * MS;
	qemu.deadline_ns = due;
	qemu.timer_wakes = 1;
	fake_qemu_work();
	CU_ASSERT_EQUAL(qemu.ran_ns, due);
	/* It has woken a CPU: no more time passes until that runs. */
	qemu.deadline_ns = due + MS;
	fake_qemu_work();
	CU_ASSERT_EQUAL(qemu.timers_ran, 2);
	CU_ASSERT_PTR_NULL(qemu.work);
	at(1);
	come(&cpu[1]);
	CU_ASSERT_EQUAL(cpu[1].ps / 1000, due);
	end_exact();
}

TEST(without_a_timer_it_waits)
{
	struct np_cpu *cpu = begin_exact();
	uint64_t then;

	go(&cpu[0], 10 * US);
	then = cpu->ps;
	halt(&cpu[0]);
	host_ns += 5 * MS;
	fake_qemu_work();
	CU_ASSERT_PTR_NULL(qemu.work);
	CU_ASSERT_EQUAL(np_clock_now(), then);
	end_exact();
}
