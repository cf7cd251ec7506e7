// SPDX-License-Identifier: GPL-2.0-only
#include "clock.h"
#include "host.h"
#include "lock.h"
#include "together.h"
#include "window.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS	  50000	/* for a CPU that was interrupted to go on, */
#define WAITS	  10	/* so many times */
#define PS_PER_NS 1000ull
#define IDLE_LONGEST_NS 4000000	/* the guest's timers tick this often: what is longer is the host's delay */
#define TICK_LONGEST_PS 10000000	/* busy for less, a CPU has only seen its timer */

static uint64_t now_ps;		/* of the furthest clock */
static unsigned int busy_cpus;
static uint32_t resumes;	/* so far */
static uint32_t waiting;	/* CPUs, for the next */
static bool wake_expected;	/* a CPU was interrupted and none went on since */
static uint64_t wake_ps;	/* when */
static int main_loop = -1;	/* its account of waiting */
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
	/* Whoever writes last may write the older value; never let the guest see it go back. */
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

/* Of the guest's kernel, by its own account. */
static uint64_t ticks(const struct np_cpu *cpu)
{
	return np_look(np_sim.shared->cpu[cpu->index].ticks);
}

/*
 * Ticks come by the host's clock, dozens of times too often. What one takes
 * on an idle CPU must not be time that passes for whoever is woken meanwhile.
 */
static bool has_only_ticked(const struct np_cpu *cpu)
{
	return cpu->ps - cpu->resumed_ps < TICK_LONGEST_PS && ticks(cpu) != cpu->ticks;
}

static void settle(struct np_cpu *cpu)
{
	np_show(cpu->ps, cpu->ps + cpu->pending_ps);
	np_show(cpu->busy_ps, cpu->busy_ps + cpu->pending_ps);
	cpu->pending_ps = 0;
	publish(cpu);
	if (!has_only_ticked(cpu))
		advance(cpu->ps);
}

void np_clock_tick(struct np_cpu *cpu)
{
	if (!cpu->busy)
		np_clock_resume(cpu);
	np_memory_give_up(&np_sim.memory.cpu[cpu->index]);
	np_l1_new_era(cpu->l1);
	settle(cpu);
	np_window_advance(np_look(now_ps));
	np_together(cpu);
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
	if (cpu->was_expected && has_only_ticked(cpu))
		np_show(wake_expected, true);	/* it was another that was interrupted */
	cpu->ticks = ticks(cpu);
	if (!busy_cpus) {
		idle_since_ns = np_host_ns();
		idle_waited_ns = np_host_waited_ns(main_loop);
	}
	np_unlock(&idle_lock);
	np_together_without();
}

/*
 * How long all CPUs were halted by the host's clock, without what this one
 * and the main loop had to wait for a processor: a busy host must not show.
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

static void show_resume(void)
{
	__atomic_fetch_add(&resumes, 1, __ATOMIC_SEQ_CST);
	if (np_look(waiting))
		syscall(SYS_futex, &resumes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void np_clock_interrupt(struct np_cpu *cpu)
{
	const uint32_t before = np_look(resumes);
	uint64_t front;

	if (!cpu->busy || np_look(busy_cpus) == np_sim.config.cpus)
		return;
	settle(cpu);
	advance(cpu->ps);	/* before the other goes on, whatever this one did so far */
	np_show(wake_ps, cpu->ps);
	np_show(wake_expected, true);
	front = np_look(now_ps);
	/* Whom it interrupted may not be halted: it even waits, maybe, for what this one is about to do. */
	for (int i = 0; i < WAITS && np_look(resumes) == before && np_look(now_ps) == front; i++)
		wait_for_resume(before);
}

/* When it was interrupted: others have gone on since, until the host let it. */
static void start(struct np_cpu *cpu)
{
	uint64_t quantum_ps = np_sim.config.quantum_ns * PS_PER_NS, ps = np_look(now_ps);

	if (wake_expected && ps > quantum_ps)
		ps = np_look(wake_ps) > ps - quantum_ps ? np_look(wake_ps) : ps - quantum_ps;
	if (ps > cpu->ps)
		np_show(cpu->ps, ps);
}

/* Only while all CPUs are halted, and none is about to go on, does simulated time follow the host's. */
void np_clock_resume(struct np_cpu *cpu)
{
	if (cpu->busy)
		return;
	np_lock(&idle_lock);
	if (!busy_cpus && idle_since_ns && !wake_expected)
		advance(np_look(now_ps) + idle_ns(cpu) * PS_PER_NS);
	np_show(busy_cpus, busy_cpus + 1);
	start(cpu);
	np_show(cpu->busy, true);
	cpu->was_expected = wake_expected;
	cpu->resumed_ps = cpu->ps;
	np_show(wake_expected, false);
	np_unlock(&idle_lock);
	show_resume();
	cpu->sync_ps = cpu->ps;
}

void np_clock_init(void)
{
	main_loop = np_host_open_main();
	for (unsigned int i = 0; i < np_sim.config.cpus; i++)
		np_sim.cpu[i].account = -1;
}
