// SPDX-License-Identifier: GPL-2.0-only
/* The guest's clock, with the calls that QEMU makes for the guest's CPUs and from its main loop. */
#include "clock_fixture.h"
#include "../clock_sync.h"

#include <pthread.h>
#include <time.h>

static bool stop;

static int64_t another_function(void)
{
	return 1;
}

TEST(the_slots_are_found_by_asking)
{
	static const struct {
		bool filled;
		size_t clock, ticks;
	} table[] = { { false, 24, 26 }, { false, 13, 39 }, { true, 24, 26 }, { true, 30, 12 } };

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		int64_t (*other)(void) = another_function;
		struct np_cpu *cpu;

		for (size_t word = 0; word < FAKE_WORDS && table[i].filled; word++)
			memcpy(&qemu.class[word], &other, sizeof(other));
		qemu.clock_word = table[i].clock;
		qemu.ticks_word = table[i].ticks;
		cpu = begin_with_one();
		run(cpu, 100 * US);
		CU_ASSERT_EQUAL(thread_ns(cpu), cpu->ps / 1000);
		/* All other words are as they were. */
		qemu.clock_word = 20;
		if (table[i].filled)
			CU_ASSERT_EQUAL(cpus_get_virtual_clock(), 1);
		end_with_one();
	}
	memset(qemu.class, 0, sizeof(qemu.class));
	qemu.clock_word = 0;
}

TEST(a_class_without_the_slots_is_refused)
{
	begin_with_one();
	qemu.clock_word = 5; /* of the class that all classes begin with */
	CU_ASSERT_FALSE(np_qemu_clock_take());
	qemu.clock_word = 0;
	end_with_one();
}

TEST(a_cpu_sees_its_pending_time)
{
	struct np_cpu *cpu = begin_with_one();
	int64_t before;

	run(cpu, 100 * US);
	cpu->pending_ps = US / 4;
	CU_ASSERT_EQUAL(thread_ns(cpu), (cpu->ps + US / 4) / 1000);
	/* Reading the TSC takes time: 10 ns are 20 of its ticks at 2 GHz. */
	np_qemu_clock_thread(cpu);
	before = cpus_get_elapsed_ticks();
	CU_ASSERT_EQUAL(cpus_get_elapsed_ticks(), before + 20);
	np_qemu_clock_thread(NULL);
	CU_ASSERT_EQUAL(before / 2, (int64_t)(cpu->ps + US / 4) / 1000 + 10);
	end_with_one();
}

/* The guest's time never goes back, and no CPU sees another's that nobody has read. */
TEST(a_cpu_reads_its_own_clock_or_the_latest_read)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t ahead;

	resume(&cpu[1]);
	run(&cpu[1], 10 * US);
	CU_ASSERT_EQUAL(thread_ns(cpu), cpu->ps / 1000);
	ahead = thread_ns(&cpu[1]);
	CU_ASSERT_EQUAL(ahead, cpu[1].ps / 1000);
	CU_ASSERT_EQUAL(thread_ns(cpu), ahead);
	run(cpu, 20 * US);
	CU_ASSERT_EQUAL(thread_ns(cpu), cpu->ps / 1000);
	end_with_one();
}

TEST(a_timer_runs_in_the_thread_that_comes_to_it)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t due;

	run(cpu, 10 * US);
	due = cpu->ps / 1000 + 20000;
	qemu.deadline_ns = due;
	while (!qemu.work) {
		CU_ASSERT_FATAL(cpu->ps < due * 1000 + 2 * US);
		run(cpu, US / 2);
	}
	/* The main loop sees no time at which it would be due. */
	CU_ASSERT(main_loop_ns() < due);
	CU_ASSERT_EQUAL(qemu.timers_ran, 0);
	leave(cpu);
	CU_ASSERT_EQUAL(qemu.timers_ran, 1);
	CU_ASSERT(qemu.ran_ns >= due && qemu.ran_ns <= due + 500);
	CU_ASSERT_EQUAL(main_loop_ns(), qemu.ran_ns);
	end_with_one();
}

TEST(the_clock_goes_on_where_an_earlier_run_ended)
{
	uint64_t start = np_clock_now() / 1000 + 5 * MS;
	struct np_cpu *cpu;

	np_clock_begin(start);
	cpu = begin_with_one();
	CU_ASSERT_EQUAL(thread_ns(cpu), start);
	run(cpu, 3 * US);
	CU_ASSERT_EQUAL(thread_ns(cpu), start + 3000);
	np_clock_idle(cpu);
	main_loop_ns();
	CU_ASSERT_EQUAL(np_sim.shared->now_ns, start + 3000);
	end_with_one();
}

TEST(accessed_bits_are_set_again_each_4_ms)
{
	struct np_cpu *cpu = begin_with_one();

	cpu->drop_ps = 0;
	for (int us = 0; us < 20000; us++) {
		run(cpu, US);
		leave(cpu);
	}
	CU_ASSERT(qemu.tlb_flushes >= 5 && qemu.tlb_flushes <= 6);
	end_with_one();
}

TEST(a_cpu_that_is_behind_catches_up_in_the_untimed_start)
{
	struct np_cpu *cpu = begin_with_one();

	np_sim.booting = true;
	resume(&cpu[1]);
	run(&cpu[1], 100000 * US);
	thread_ns(&cpu[1]);
	run(cpu, 10 * US);
	CU_ASSERT_EQUAL(cpu[0].ps, cpu[1].ps);
	np_sim.booting = false;
	end_with_one();
}

static void interrupt(struct np_cpu *cpu, unsigned int target)
{
	qemu.has_work[target] = true;
	np_clock_interrupt(cpu);
}

TEST(a_woken_cpu_starts_at_the_waker_s_clock)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 100 * US);
	then = cpu->ps;
	interrupt(cpu, 1);
	run(cpu, 8 * US); /* until the host lets the other */
	resume(&cpu[1]);
	CU_ASSERT_EQUAL(cpu[1].ps, then);
	/* Another's wake-up is not its own. */
	run(cpu, 8 * US);
	then = cpu->ps;
	resume(&cpu[2]);
	CU_ASSERT_EQUAL(cpu[2].ps, then);
	end_with_one();
}

TEST(whom_a_timer_wakes_starts_at_the_clock_of_its_thread)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	qemu.deadline_ns = cpu->ps / 1000;
	qemu.timer_wakes = 3;
	run(cpu, US);
	leave(cpu);
	CU_ASSERT_EQUAL(qemu.timers_ran, 1);
	then = cpu->ps;
	run(cpu, 8 * US);
	resume(&cpu[3]);
	CU_ASSERT_EQUAL(cpu[3].ps, then);
	end_with_one();
}

/* It resumed and halted before its waker noted the wake-up: the next one is another's. */
TEST(a_wake_up_that_is_over_is_no_cpu_s)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	run(cpu, 10 * US);
	qemu.has_work[1] = true;
	qemu.work_seen = 1; /* the second look finds none */
	np_clock_ran_timers(cpu, 0);
	CU_ASSERT_FALSE(cpu[1].woken);
	run(cpu, 100 * US);
	then = cpu->ps;
	interrupt(cpu, 1);
	resume(&cpu[1]);
	CU_ASSERT_EQUAL(cpu[1].ps, then);
	end_with_one();
}

TEST(a_wake_up_sets_no_clock_back)
{
	struct np_cpu *cpu = begin_with_one();
	uint64_t then;

	resume(&cpu[1]);
	run(&cpu[1], 50 * US);
	then = cpu[1].ps;
	np_clock_idle(&cpu[1]);
	run(cpu, 45 * US);
	interrupt(cpu, 1); /* 5 us before the other halted */
	resume(&cpu[1]);
	CU_ASSERT_EQUAL(cpu[1].ps, then);
	end_with_one();
}

static void *go_on(void *cpu)
{
	resume(cpu);
	return NULL;
}

TEST(a_sender_waits_until_the_target_resumes)
{
	struct np_cpu *cpu = begin_with_one();

	np_write(woken, 0);
	/* The other CPU may be faster, and the host may delay it for longer than the wait lasts. */
	for (int i = 0; i < 10000 && !np_read(woken); i++) {
		pthread_t thread;

		qemu.has_work[1] = true;
		CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_on, &cpu[1]));
		np_clock_interrupt(cpu);
		pthread_join(thread, NULL);
		np_clock_idle(&cpu[1]);
	}
	CU_ASSERT(np_read(woken));
	end_with_one();
}

static double ms_of_interrupting(struct np_cpu *cpu, bool wakes)
{
	struct timespec before, after;

	np_write(np_sim.cpu[2].woken, false);
	qemu.has_work[2] = wakes;
	clock_gettime(CLOCK_MONOTONIC, &before);
	np_clock_interrupt(cpu);
	clock_gettime(CLOCK_MONOTONIC, &after);
	return (after.tv_sec - before.tv_sec) * 1e3 + (after.tv_nsec - before.tv_nsec) / 1e6;
}

TEST(a_cpu_that_does_not_arrive_is_waited_for_a_while)
{
	struct np_cpu *cpu = begin_with_one();

	CU_ASSERT(ms_of_interrupting(cpu, true) >= 0.5);
	end_with_one();
}

TEST(who_wakes_nobody_does_not_wait)
{
	struct np_cpu *cpu = begin_with_one();
	double least = 1e9;

	for (int i = 0; i < 1000 && least >= 0.45; i++) {
		double ms = ms_of_interrupting(cpu, false);

		least = ms < least ? ms : least;
	}
	CU_ASSERT(least < 0.45);
	end_with_one();
}

static void *go_ahead(void *data)
{
	struct np_cpu *cpu = data;

	while (!np_read(stop))
		run(cpu, US / 10);
	return NULL;
}

/* Possibly by the woken CPU: it cannot resume before its waker. */
TEST(cpu_that_others_wait_for_does_not_wait)
{
	struct np_cpu *cpu = begin_with_one();
	double least = 1e9;
	pthread_t thread;

	np_write(stop, false);
	resume(&cpu[1]);
	run(&cpu[1], 10 * US);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_ahead, &cpu[1]));
	for (int i = 0; i < 1000 && least >= 0.45; i++) {
		double ms = ms_of_interrupting(cpu, true);

		least = ms < least ? ms : least;
	}
	CU_ASSERT(least < 0.45); /* ten waits are 0.5 */
	np_write(stop, true);
	pthread_join(thread, NULL);
	end_with_one();
}

TEST(no_cpu_waits_for_another_in_the_untimed_start)
{
	struct np_cpu *cpu = begin_with_one();

	np_sim.booting = true;
	resume(&cpu[1]);
	cpu[0].sync_ps = 0;
	run(cpu, 1000000 * US);
	CU_ASSERT_EQUAL(cpu[0].sync_ps, 0); /* the other's clock was not looked at */
	np_sim.booting = false;
	end_with_one();
}
