/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps the clocks of the busy CPUs within a quantum of each other, on a host
 * that has fewer processors than the machine.
 */
#ifndef NP_CLOCK_SYNC_H
#define NP_CLOCK_SYNC_H

#include "cpu.h"

/*
 * Waits if the CPU is further ahead than a quantum, and wakes CPUs that are not
 * far ahead any more. Called by the CPU's thread when its clock has moved.
 */
void np_clock_sync(struct np_cpu *cpu);

/*
 * Waits while the CPU is further ahead than `ahead_ps` of one that works: of one that is busy, and
 * does not only read a contended line over and over. Called by the CPU's thread when its clock has
 * moved.
 */
void np_clock_sync_hold(struct np_cpu *cpu, uint64_t ahead_ps);

/* Whether a CPU waits for a slower one. */
bool np_clock_sync_is_awaited(void);

/* A CPU has halted: no other CPU waits for it. */
void np_clock_sync_leave(void);

#endif
