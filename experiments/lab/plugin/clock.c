// SPDX-License-Identifier: GPL-2.0-only
#include "clock.h"
#include "timing.h"
#include "host_time.h"
#include "lock.h"
#include "timer_tick.h"
#include "clock_sync.h"
#include "contention.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS		50000 /* one wait for an interrupted CPU to resume, */
#define WAITS		10    /* and how many of them */
#define PS_PER_NS	1000ull
#define IDLE_LONGEST_NS 4000000 /* period of the guest's timers: a longer idle time is host delay */
#define WAKE_LONGEST_NS 50000000 /* host delay of an IPI wake-up */

static uint64_t now_ps; /* of the most advanced clock */
static unsigned int busy_cpus;
static uint32_t resumes;	       /* so far */
static uint32_t waiting;	       /* CPUs that wait for the next */
static bool wake_expected;	       /* an IPI was sent and no CPU has resumed since */
static uint64_t wake_ps, wake_host_ns; /* of that IPI: the sender's clock, the host's */
static int main_loop = -1;	       /* schedstat of QEMU's main loop */
static uint8_t idle_lock;

/* When the last CPU halted, and the run delay of QEMU's main loop by then. */
static uint64_t idle_since_ns, idle_run_delay_ns;

static void advance(uint64_t ps)
{
	uint64_t old = np_read(now_ps);

	while (ps > old && !__atomic_compare_exchange_n(&now_ps, &old, ps, true, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		;
	if (ps <= old)
		return;
	/* A racing thread may hold an older value: the guest's clock must never go back. */
	old = np_read(np_sim.shared->now_ns);
	while (ps / PS_PER_NS > old &&
	       !__atomic_compare_exchange_n(&np_sim.shared->now_ns, &old, ps / PS_PER_NS, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void publish(const struct np_cpu *cpu)
{
	struct np_lab_cpu *out = &np_sim.shared->cpu[cpu->index];

	np_write(out->sequence, out->sequence + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	np_write(out->instructions, cpu->instructions);
	np_write(out->cycles, (uint64_t)(cpu->busy_ps * (np_sim.config.mhz / 1e6)));
	np_write(out->llc_references, cpu->llc_references);
	np_write(out->llc_misses, cpu->llc_misses);
	np_write(out->local_dram, cpu->local_dram);
	np_write(out->remote_dram, cpu->remote_dram);
	np_write(out->remote_cache, cpu->remote_cache);
	np_write(out->sim_ns, cpu->busy_ps / PS_PER_NS);
	np_write(out->stall_ns, cpu->stall_ps / PS_PER_NS);
	np_write(out->dram_writes, cpu->dram_writes);
	for (unsigned int node = 0; node < np_sim.config.nodes; node++)
		np_write(out->dram[node], cpu->dram[node]);
	__atomic_store_n(&out->sequence, out->sequence + 1, __ATOMIC_RELEASE);
}

/* The target of the IPI may not have been halted: the expectation expires. */
static bool expects_wake(void)
{
	return np_read(wake_expected) && np_host_ns() - np_read(wake_host_ns) < WAKE_LONGEST_NS;
}

/* If no CPU works or is about to, timer ticks advance simulated time: it must not stop. */
static bool another_works(const struct np_cpu *self)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		const struct np_cpu *cpu = &np_sim.cpu[i];

		if (cpu != self && np_read(cpu->busy) && !np_timer_tick_only(cpu))
			return true;
	}
	return expects_wake();
}

static void settle(struct np_cpu *cpu)
{
	np_write(cpu->ps, cpu->ps + cpu->pending_ps);
	np_write(cpu->busy_ps, cpu->busy_ps + cpu->pending_ps);
	cpu->pending_ps = 0;
	publish(cpu);
	if (!np_timer_tick_only_perhaps(cpu) || !another_works(cpu))
		advance(cpu->ps);
}

void np_clock_step(struct np_cpu *cpu)
{
	if (!cpu->busy)
		np_clock_resume(cpu);
	np_hierarchy_invalidate(&np_sim.hierarchy.cpu[cpu->index]);
	np_l1_new_epoch(cpu->l1);
	settle(cpu);
	np_contention_advance(np_read(now_ps));
	np_clock_sync(cpu);
}

/* As if it had stayed halted: the expected wake-up is another CPU's, and its time is void. */
static void forget_timer_tick(struct np_cpu *cpu)
{
	if (cpu->was_expected && cpu->resume == np_read(resumes))
		np_write(wake_expected, true);
	np_write(cpu->ps, cpu->resumed_ps);
	np_timing_forget(cpu);
}

void np_clock_idle(struct np_cpu *cpu)
{
	if (!cpu->busy)
		return;
	settle(cpu);
	if (cpu->account < 0)
		cpu->account = np_host_open_own();
	cpu->run_delay_ns = np_host_run_delay_ns(cpu->account);
	np_lock(&idle_lock);
	np_write(cpu->busy, false);
	np_write(busy_cpus, busy_cpus - 1);
	if (np_timer_tick_only_perhaps(cpu))
		forget_timer_tick(cpu);
	np_write(cpu->ticks, np_timer_ticks(cpu));
	if (!busy_cpus) {
		idle_since_ns = np_host_ns();
		idle_run_delay_ns = np_host_run_delay_ns(main_loop);
	}
	np_unlock(&idle_lock);
	np_clock_sync_leave();
}

/*
 * How long all CPUs were halted by the host's clock, without the run delay of this
 * CPU's thread and of the main loop: host load must not count.
 */
static uint64_t idle_ns(const struct np_cpu *cpu)
{
	uint64_t idle = np_host_ns() - idle_since_ns;
	uint64_t delay = np_host_run_delay_ns(cpu->account) - cpu->run_delay_ns +
			 np_host_run_delay_ns(main_loop) - idle_run_delay_ns;

	idle = idle > delay ? idle - delay : 0;
	return idle < IDLE_LONGEST_NS ? idle : IDLE_LONGEST_NS;
}

static void wait_for_resume(uint32_t before)
{
	const struct timespec longest = { .tv_nsec = WAIT_NS };

	__atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &resumes, FUTEX_WAIT_PRIVATE, before, &longest, NULL, 0);
	__atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
}

static void wake_waiting(void)
{
	if (np_read(waiting))
		syscall(SYS_futex, &resumes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void np_clock_interrupt(struct np_cpu *cpu)
{
	const uint32_t before = np_read(resumes);

	if (!cpu->busy || np_read(busy_cpus) == np_sim.config.cpus)
		return;
	settle(cpu);
	advance(cpu->ps); /* the other resumes after all work of this one */
	np_write(wake_ps, cpu->ps);
	np_write(wake_host_ns, np_host_ns());
	np_write(wake_expected, true);
	/* Bounded: the target may not be halted, and may even be waiting for this CPU. */
	for (int i = 0; i < WAITS && np_read(resumes) == before && !np_clock_sync_is_awaited(); i++)
		wait_for_resume(before);
}

/*
 * IPI wake-up: resumes at the IPI's simulated time, at most a quantum behind the most advanced
 * clock.
 */
static void start(struct np_cpu *cpu)
{
	uint64_t quantum_ps = np_sim.config.quantum_ns * PS_PER_NS, ps = np_read(now_ps);

	if (cpu->was_expected && ps > quantum_ps)
		ps = np_read(wake_ps) > ps - quantum_ps ? np_read(wake_ps) : ps - quantum_ps;
	if (ps > cpu->ps)
		np_write(cpu->ps, ps);
}

/* Simulated time follows the host's only while all CPUs are halted and no wake-up is expected. */
void np_clock_resume(struct np_cpu *cpu)
{
	if (cpu->busy)
		return;
	np_lock(&idle_lock);
	cpu->was_expected = expects_wake();
	if (!busy_cpus && idle_since_ns && !cpu->was_expected)
		advance(np_read(now_ps) + idle_ns(cpu) * PS_PER_NS);
	np_write(busy_cpus, busy_cpus + 1);
	start(cpu);
	np_write(cpu->resumed_ps, cpu->ps);
	np_write(cpu->busy, true);
	np_write(wake_expected, false);
	cpu->resume = __atomic_add_fetch(&resumes, 1, __ATOMIC_SEQ_CST);
	np_unlock(&idle_lock);
	wake_waiting();
	cpu->sync_ps = cpu->ps;
}

void np_clock_init(void)
{
	main_loop = np_host_open_main();
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		np_sim.cpu[i].account = -1;
}
