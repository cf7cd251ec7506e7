// SPDX-License-Identifier: GPL-2.0-only
/* Threads of the host with clocks of their own, one of them much slower than the other. */
#include "fixture.h"
#include "../clock_sync.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEP_PS	   500000u
#define QUANTUM_PS 20000000u
#define CLOSE_PS   (QUANTUM_PS / 4)

static bool stop;
unsigned int woken;

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, ...);

/* The linker calls this instead of the C library's: it counts the waits and their results. */
long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[6], ret;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	ret = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_futex && (int)a[1] == FUTEX_WAKE_PRIVATE)
		__atomic_fetch_add(&woken, ret > 0, __ATOMIC_RELAXED);
	return ret;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void step(struct np_cpu *cpu)
{
	np_write(cpu->ps, cpu->ps + STEP_PS);
	np_clock_sync(cpu);
}

static void halt(struct np_cpu *cpu)
{
	np_write(cpu->busy, false);
	np_clock_sync_leave();
}

static void begin_busy(unsigned int cpus)
{
	begin();
	np_write(stop, false);
	np_write(woken, 0);
	for (unsigned int i = 0; i < cpus; i++)
		np_sim.cpu[i].busy = true;
}

static void *go_slowly(void *cpu)
{
	while (!np_read(stop)) {
		usleep(20); /* a slow CPU; no event is waited for */
		step(cpu);
	}
	halt(cpu);
	return NULL;
}

static void *go_on(void *cpu)
{
	while (!np_read(stop))
		step(cpu);
	halt(cpu);
	return NULL;
}

TEST(a_fast_cpu_waits_for_a_slow_one)
{
	double start = now_ms(), ms = 0;
	uint64_t furthest = 0;
	bool within = true;
	pthread_t thread;

	begin_busy(2);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_slowly, &np_sim.cpu[1]));
	while (ms < 50 || (furthest < CLOSE_PS && ms < 20000)) {
		uint64_t fast = np_sim.cpu[0].ps, slow = np_read(np_sim.cpu[1].ps);
		uint64_t ahead = fast > slow ? fast - slow : 0;

		ms = now_ms() - start;
		/* A millisecond without the slow thread lets the fast one take a step. */
		within = within && ahead <= QUANTUM_PS + CLOSE_PS + (2 + ms) * STEP_PS;
		furthest = ahead > furthest ? ahead : furthest;
		step(&np_sim.cpu[0]);
	}
	CU_ASSERT(within);
	CU_ASSERT(furthest >= CLOSE_PS); /* it is the faster one */
	np_write(stop, true);
	halt(&np_sim.cpu[0]);
	pthread_join(thread, NULL);
	end();
}

/* Without spinning it would be ten times as far ahead. */
TEST(cpu_that_spins_keeps_to_the_small_quantum)
{
	const uint64_t close = 2000000, long_way = 80000000;
	double start = now_ms(), ms = 0;
	pthread_t thread;
	bool within = true;

	begin_busy(2);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_slowly, &np_sim.cpu[1]));
	while (np_sim.cpu[0].ps < long_way && ms < 20000) {
		uint64_t fast = np_sim.cpu[0].ps, slow = np_read(np_sim.cpu[1].ps);

		ms = now_ms() - start;
		within = within && fast <= slow + close + (2 + ms) * STEP_PS;
		np_sim.cpu[0].spins = true;
		step(&np_sim.cpu[0]);
	}
	CU_ASSERT(within && ms < 20000);
	np_write(stop, true);
	halt(&np_sim.cpu[0]);
	pthread_join(thread, NULL);
	end();
}

TEST(a_waiting_cpu_is_woken)
{
	pthread_t thread;

	begin_busy(2);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, go_on, &np_sim.cpu[1]));
	for (int i = 0; i < 20000; i++)
		step(&np_sim.cpu[0]);
	CU_ASSERT(np_read(woken) > 20); /* of some thousand waits */
	np_write(stop, true);
	halt(&np_sim.cpu[0]);
	pthread_join(thread, NULL);
	end();
}

TEST(a_cpu_that_stands_still_is_waited_for_not_for_ever)
{
	const int steps = 60, free_steps = (QUANTUM_PS + CLOSE_PS) / STEP_PS;
	double start = now_ms();

	begin_busy(2);
	for (int i = 0; i < steps; i++)
		step(&np_sim.cpu[0]);
	CU_ASSERT(now_ms() - start >= steps - free_steps);
	end();
}

static void *halt_when_waited_for(void *cpu)
{
	while (!np_read(np_sim.cpu[0].waits))
		sched_yield();
	halt(cpu);
	return NULL;
}

TEST(a_cpu_that_halts_is_not_waited_for)
{
	double start = now_ms();
	pthread_t thread;

	begin_busy(2);
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, halt_when_waited_for, &np_sim.cpu[1]));
	for (int i = 0; i < 10000; i++)
		step(&np_sim.cpu[0]);
	CU_ASSERT(now_ms() - start < 5000); /* each would wait a millisecond */
	pthread_join(thread, NULL);
	end();
}
