/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * QEMU's clocks are the simulated one: its virtual clock, which local APICs, HPET, PIT, PM timer
 * and RTC follow, and the TSC. The plugin interface has no call for it under TCG: the functions are
 * put into the slots of TCG's accelerator class that QEMU asks for the time, which are found by
 * asking, and due timers run in the thread of the CPU whose clock came to them.
 */
#ifndef NP_QEMU_CLOCK_H
#define NP_QEMU_CLOCK_H

#include "cpu.h"

/*
 * Looks up the functions of QEMU that are needed. Returns NULL, or the name of one that this QEMU
 * does not export.
 */
const char *np_qemu_clock_find(void);

/*
 * Takes over QEMU's clocks. Called in a CPU's thread, with QEMU's lock. Returns false where no slot
 * of the accelerator class is the one that QEMU asks.
 */
bool np_qemu_clock_take(void);

/* The calling thread is this CPU's. */
void np_qemu_clock_thread(struct np_cpu *cpu);

/*
 * The index of the CPU that the calling thread is at, which then is this CPU's: of the one thread
 * that runs all of them. QEMU 10.0 gives a block's calls the index of the CPU that translated it.
 */
unsigned int np_qemu_clock_switch(void);

/*
 * The CPU leaves the block, and the one thread that runs all CPUs goes to the next one. Where all
 * have halted, the clock goes from timer to timer until one wakes a CPU.
 */
void np_qemu_clock_leave(struct np_cpu *cpu);

/*
 * The CPU's clock moved: due timers run in its thread as soon as it leaves the block. Each 4 ms QEMU drops the CPU's
 * translations, so that the next access of a page sets its accessed bit.
 */
void np_qemu_clock_step(struct np_cpu *cpu);

/* Whether a halted CPU has got something to do. */
bool np_qemu_clock_has_work(const struct np_cpu *cpu);

/* The same of any CPU. For holders of QEMU's lock. */
bool np_qemu_clock_any_has_work(void);

#define NP_QEMU_CLOCK_NEVER (UINT64_MAX / 2)

/* From the clock's present time until the first timer is due, or NP_QEMU_CLOCK_NEVER. */
uint64_t np_qemu_clock_left_ps(void);

/* QEMU's own virtual clock, in ns: the host's time while the machine runs. */
uint64_t np_qemu_clock_host_ns(void);

/* The main loop reads the clock anew: at once, or for its own thread after so much of the host's time. */
void np_qemu_clock_look(void);
void np_qemu_clock_look_again(uint64_t host_ns);

#endif
