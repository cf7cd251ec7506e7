/* SPDX-License-Identifier: GPL-2.0-only */
/* The cost of an access: counters and simulated time. */
#ifndef NP_TIMING_H
#define NP_TIMING_H

#include "cpu.h"

/* A load or a store that the first level could not serve alone. */
void np_timing_access(struct np_cpu *cpu, uint64_t vaddr, uint32_t line, bool store);

/*
 * An access of a line that the first level has: a load waits for a line that a store has missed
 * and that is not there yet. Returns whether it still is on its way, after a store.
 */
bool np_timing_arrives(struct np_cpu *cpu, uint32_t line, bool store);

/* A non-temporal store. */
void np_timing_nontemporal(struct np_cpu *cpu, uint32_t line);

#endif
