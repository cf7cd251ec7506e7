/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulated time. Every CPU has a clock; the guest sees the most
 * advanced one.
 */
#ifndef NP_CLOCK_H
#define NP_CLOCK_H

#include "cpu.h"

#define NP_CLOCK_STEP_PS 500000 /* a CPU brings its clock up to date at least this often */

void np_clock_init(void);

/* Moves the CPU's pending time to its clock, publishes, waits for slower CPUs. */
void np_clock_step(struct np_cpu *cpu);

/*
 * The CPU sends an IPI. If the target is halted, the host's delay in running it
 * is not simulated time.
 */
void np_clock_interrupt(struct np_cpu *cpu);

/* The CPU halts; the CPU resumes. */
void np_clock_idle(struct np_cpu *cpu);
void np_clock_resume(struct np_cpu *cpu);

#endif
