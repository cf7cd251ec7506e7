// SPDX-License-Identifier: GPL-2.0-only
#include "clock.h"
#include "lock.h"
#include "window.h"

#include <time.h>

/*
 * A nap must end by itself: the slower CPU may be waiting, in QEMU, for this
 * one to leave the code that it runs.
 */
#define NAP_NS	  50000
#define NAPS	  5
#define NS_PER_S  1000000000ull
#define PS_PER_NS 1000ull

static uint64_t now_ps;		/* of the furthest clock */
static unsigned int busy_cpus;
static uint64_t idle_since_ns;	/* host time at which the last CPU halted */
static uint8_t idle_lock;

static uint64_t host_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

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
}

static uint64_t slowest(const struct np_cpu *self)
{
	uint64_t least = self->ps;

	for (unsigned int i = 0; i < np_sim.config.cpus; i++) {
		const struct np_cpu *cpu = &np_sim.cpu[i];
		uint64_t ps = np_look(cpu->ps);

		if (np_look(cpu->busy) && ps < least)
			least = ps;
	}
	return least;
}

static void wait_for_slower(struct np_cpu *cpu)
{
	uint64_t quantum = np_sim.config.quantum_ns * PS_PER_NS;
	const struct timespec nap = { .tv_nsec = NAP_NS };
	unsigned int naps = 0;

	while (cpu->ps > slowest(cpu) + quantum && naps < NAPS) {
		nanosleep(&nap, NULL);
		naps++;
	}
	/* One that could not wait long enough is stopped again soon. */
	cpu->sync_ps = cpu->ps + (naps == NAPS ? 0 : quantum / 4);
}

static void settle(struct np_cpu *cpu)
{
	np_show(cpu->ps, cpu->ps + cpu->pending_ps);
	np_show(cpu->busy_ps, cpu->busy_ps + cpu->pending_ps);
	cpu->pending_ps = 0;
	publish(cpu);
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
	if (cpu->ps >= cpu->sync_ps)
		wait_for_slower(cpu);
}

void np_clock_idle(struct np_cpu *cpu)
{
	if (!cpu->busy)
		return;
	settle(cpu);
	np_lock(&idle_lock);
	np_show(cpu->busy, false);
	if (!--busy_cpus)
		idle_since_ns = host_ns();
	np_unlock(&idle_lock);
}

/* Only while all CPUs are halted does simulated time follow the host's. */
void np_clock_resume(struct np_cpu *cpu)
{
	if (cpu->busy)
		return;
	np_lock(&idle_lock);
	if (!busy_cpus++ && idle_since_ns)
		advance(np_look(now_ps) + (host_ns() - idle_since_ns) * PS_PER_NS);
	np_show(cpu->ps, np_look(now_ps));
	np_show(cpu->busy, true);
	np_unlock(&idle_lock);
	cpu->sync_ps = cpu->ps;
}
