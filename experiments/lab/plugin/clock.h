/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulated time. Every CPU has a clock. What a CPU reads is its own, or the latest that any has
 * read where that is ahead: the guest's time never goes back, and a CPU that is ahead changes the
 * others' time only where it reads a clock or runs a timer. While all CPUs are halted, time follows
 * the host's, from timer to timer.
 */
#ifndef NP_CLOCK_H
#define NP_CLOCK_H

#include "cpu.h"

#define NP_CLOCK_STEP_PS 500000 /* np_sim.step_ps of a machine at full speed */

/* The first time, in ns. Called once, before any other. */
void np_clock_begin(uint64_t ns);

/* QEMU starts or stops the machine: stopped, no time passes. For holders of QEMU's lock. */
void np_clock_run(bool running);

/* Moves the CPU's pending time to its clock, publishes, waits for slower CPUs. */
void np_clock_step(struct np_cpu *cpu);

/* Moves the CPU's pending time to its clock, with all that a step is where one is due. */
void np_clock_charge(struct np_cpu *cpu);

/* The CPU has sent an IPI: what it woke starts at the CPU's clock, and the CPU waits for it. */
void np_clock_interrupt(struct np_cpu *cpu);

/* The CPU halts, with QEMU's lock; the CPU resumes. */
void np_clock_idle(struct np_cpu *cpu);
void np_clock_resume(struct np_cpu *cpu);

/* The most advanced clock, in ps. */
uint64_t np_clock_now(void);

/* What a CPU reads. For its own thread: its pending time is included. */
uint64_t np_clock_of(const struct np_cpu *cpu);

/*
 * What QEMU's main loop reads, with QEMU's lock: while a CPU works, the time up to which
 * timers ran in the CPUs' threads, so that it runs none of them; else the host's time moves it.
 */
uint64_t np_clock_of_main_loop(void);

/* One thread runs all CPUs, which have halted: the clock moves by `ps` to the next timer, which runs as if on this one. */
void np_clock_skip(struct np_cpu *cpu, uint64_t ps);

/* Up to which time due timers ran. */
uint64_t np_clock_timers_ran(void);

/* Timers due at `ps` ran in this CPU's thread: whom they woke starts at the CPU's clock. */
void np_clock_ran_timers(struct np_cpu *cpu, uint64_t ps);

#endif
