/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls that QEMU makes for the guest's CPUs and from its main loop, by one thread. */
#ifndef NP_CLOCK_FIXTURE_H
#define NP_CLOCK_FIXTURE_H

#include "fake_qemu.h"
#include "../clock.h"
#include "../qemu_clock.h"

#define US 1000000ull /* ps */
#define MS 1000000ull /* ns */

/* CPU 0 runs, all others are halted. The furthest clock stays from case to case. */
struct np_cpu *begin_with_one(void);
void end_with_one(void);

/* The CPU runs for `ps`, in its own thread. */
void run(struct np_cpu *cpu, uint64_t ps);

void resume(struct np_cpu *cpu);

/* The CPU leaves its code: what was asked for is done in its thread. */
void leave(struct np_cpu *cpu);

/* What the main loop reads, and what the CPU's own thread reads, in ns. */
uint64_t main_loop_ns(void);
uint64_t thread_ns(struct np_cpu *cpu);

#endif
