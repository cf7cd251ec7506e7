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

#define WAIT_NS	  50000	/* one wait for an interrupted CPU to resume, */
#define WAITS	  10	/* and how many of them */
#define PS_PER_NS 1000ull
#define IDLE_LONGEST_NS 4000000	/* period of the guest's timers: a longer idle time is host delay */
#define WAKE_LONGEST_NS 50000000	/* host delay of an IPI wake-up */

static uint64_t now_ps;		/* of the most advanced clock */
static unsigned int busy_cpus;
static uint32_t resumes;	/* so far */
static uint32_t waiting;	/* CPUs that wait for the next */
static bool wake_expected;	/* an IPI was sent and no CPU has resumed since */
static uint64_t wake_ps, wake_host_ns;	/* of that IPI: the sender's clock, the host's */
static int main_loop = -1;	/* wait account of QEMU's main loop */
static uint8_t idle_lock;

/* When the last CPU halted, and how long QEMU's main loop had waited for a processor by then. */
static uint64_t idle_since_ns, idle_waited_ns;

static void advance(uint64_t ps)
{
	uint64_t old = np_look(now_ps);

	while (ps > old && !__atomic_compare_exchange_n(&now_ps, &old, ps, true, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		;
	if (ps <= old)
		return;
	/* A racing thread may hold an older value: the guest's clock must never go back. */
	old = np_look(np_sim.shared->now_ns);
	while (ps / PS_PER_NS > old &&
	       !__atomic_compare_exchange_n(&np_sim.shared->now_ns, &old, ps / PS_PER_NS, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void publish(const struct np_cpu *cpu)
{
	struct np_lab_cpu *out = &np_sim.shared->cpu[cpu->index];

	np_show(out->sequence, out->sequence + 1);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	np_show(out->instructions, cpu->instructions);
	np_show(out->cycles, (uint64_t)(cpu->busy_ps * (np_sim.config.mhz / 1e6)));
	np_show(out->llc_references, cpu->llc_references);
	np_show(out->llc_misses, cpu->llc_misses);
	np_show(out->local_dram, cpu->local_dram);
	np_show(out->remote_dram, cpu->remote_dram);
	np_show(out->remote_cache, cpu->remote_cache);
	np_show(out->sim_ns, cpu->busy_ps / PS_PER_NS);
	np_show(out->stall_ns, cpu->stall_ps / PS_PER_NS);
	np_show(out->dram_writes, cpu->dram_writes);
	for (unsigned int node = 0; node < np_sim.config.nodes; node++)
		np_show(out->dram[node], cpu->dram[node]);
	__atomic_store_n(&out->sequence, out->sequence + 1, __ATOMIC_RELEASE);
}

/* The target of the IPI may not have been halted: the expectation expires. */
static bool expects_wake(void)
{
	return np_look(wake_expected) && np_host_ns() - np_look(wake_host_ns) < WAKE_LONGEST_NS;
}

/* If no CPU works or is about to, ticks advance simulated time: it must not stand still. */
static bool another_works(const struct np_cpu *self)
{
	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		const struct np_cpu *cpu = &np_sim.cpu[i];

		if (cpu != self && np_look(cpu->busy) && !np_timer_tick_only(cpu))
			return true;
	}
	return expects_wake();
}

static void settle(struct np_cpu *cpu)
{
	np_show(cpu->ps, cpu->ps + cpu->pending_ps);
	np_show(cpu->busy_ps, cpu->busy_ps + cpu->pending_ps);
	cpu->pending_ps = 0;
	publish(cpu);
	if (!np_timer_tick_only_perhaps(cpu) || !another_works(cpu))
		advance(cpu->ps);
}

void np_clock_tick(struct np_cpu *cpu)
{
	if (!cpu->busy)
		np_clock_resume(cpu);
	np_hierarchy_give_up(&np_sim.memory.cpu[cpu->index]);
	np_l1_new_era(cpu->l1);
	settle(cpu);
	np_contention_advance(np_look(now_ps));
	np_clock_sync(cpu);
}

/* As if it had stayed halted: the expected wake-up is another CPU's, and the time is not charged. */
static void forget_tick(struct np_cpu *cpu)
{
	if (cpu->was_expected && cpu->resume == np_look(resumes))
		np_show(wake_expected, true);
	np_show(cpu->ps, cpu->resumed_ps);
	np_timing_forget(cpu);
}

void np_clock_idle(struct np_cpu *cpu)
{
	if (!cpu->busy)
		return;
	settle(cpu);
	if (cpu->account < 0)
		cpu->account = np_host_open_own();
	cpu->waited_ns = np_host_waited_ns(cpu->account);
	np_lock(&idle_lock);
	np_show(cpu->busy, false);
	np_show(busy_cpus, busy_cpus - 1);
	if (np_timer_tick_only_perhaps(cpu))
		forget_tick(cpu);
	np_show(cpu->ticks, np_timer_ticks(cpu));
	if (!busy_cpus) {
		idle_since_ns = np_host_ns();
		idle_waited_ns = np_host_waited_ns(main_loop);
	}
	np_unlock(&idle_lock);
	np_clock_sync_leave();
}

/*
 * How long all CPUs were halted by the host's clock, without the time
 * that this one and the main loop waited for a processor: host load must not count.
 */
static uint64_t idle_ns(const struct np_cpu *cpu)
{
	uint64_t idle = np_host_ns() - idle_since_ns;
	uint64_t waited = np_host_waited_ns(cpu->account) - cpu->waited_ns +
			  np_host_waited_ns(main_loop) - idle_waited_ns;

	idle = idle > waited ? idle - waited : 0;
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
	if (np_look(waiting))
		syscall(SYS_futex, &resumes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void np_clock_interrupt(struct np_cpu *cpu)
{
	const uint32_t before = np_look(resumes);

	if (!cpu->busy || np_look(busy_cpus) == np_sim.config.cpus)
		return;
	settle(cpu);
	advance(cpu->ps);	/* the other resumes after all that this one has done */
	np_show(wake_ps, cpu->ps);
	np_show(wake_host_ns, np_host_ns());
	np_show(wake_expected, true);
	/* Bounded: the target may not be halted, and may even be waiting for this CPU. */
	for (int i = 0; i < WAITS && np_look(resumes) == before && !np_clock_sync_is_awaited(); i++)
		wait_for_resume(before);
}

/*
 * IPI wake-up: resumes at the IPI's simulated time, at most a quantum behind the most advanced
 * clock.
 */
static void start(struct np_cpu *cpu)
{
	uint64_t quantum_ps = np_sim.config.quantum_ns * PS_PER_NS, ps = np_look(now_ps);

	if (cpu->was_expected && ps > quantum_ps)
		ps = np_look(wake_ps) > ps - quantum_ps ? np_look(wake_ps) : ps - quantum_ps;
	if (ps > cpu->ps)
		np_show(cpu->ps, ps);
}

/* Simulated time follows the host's only while all CPUs are halted and no wake-up is expected. */
void np_clock_resume(struct np_cpu *cpu)
{
	if (cpu->busy)
		return;
	np_lock(&idle_lock);
	cpu->was_expected = expects_wake();
	if (!busy_cpus && idle_since_ns && !cpu->was_expected)
		advance(np_look(now_ps) + idle_ns(cpu) * PS_PER_NS);
	np_show(busy_cpus, busy_cpus + 1);
	start(cpu);
	np_show(cpu->resumed_ps, cpu->ps);
	np_show(cpu->busy, true);
	np_show(wake_expected, false);
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
