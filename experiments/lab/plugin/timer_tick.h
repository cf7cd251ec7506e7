/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a CPU that was halted has only run timer ticks since. Timer ticks run on
 * host time, dozens of times too often: their cost on an idle CPU is not charged,
 * so that it does not advance the time at which a CPU is woken meanwhile.
 */
#ifndef NP_TIMER_TICK_H
#define NP_TIMER_TICK_H

#include "cpu.h"

#define NP_TIMER_TICK_LONGEST_PS  10000000 /* longest time that a tick keeps an idle CPU busy */
#define NP_TIMER_TICK_SHORTEST_PS 1000000  /* a tick may not have been counted before this */

/* So far, by the account of the guest's kernel. */
static inline uint64_t np_timer_ticks(const struct np_cpu *cpu)
{
	return np_read(np_sim.shared->cpu[cpu->index].ticks);
}

static inline uint64_t np_timer_tick_age_ps(const struct np_cpu *cpu)
{
	return np_read(cpu->ps) - np_read(cpu->resumed_ps);
}

static inline bool np_timer_tick_only(const struct np_cpu *cpu)
{
	return np_timer_tick_age_ps(cpu) < NP_TIMER_TICK_LONGEST_PS &&
	       np_timer_ticks(cpu) != np_read(cpu->ticks);
}

static inline bool np_timer_tick_only_perhaps(const struct np_cpu *cpu)
{
	return np_timer_tick_age_ps(cpu) < NP_TIMER_TICK_SHORTEST_PS || np_timer_tick_only(cpu);
}

#endif
