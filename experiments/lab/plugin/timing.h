/* SPDX-License-Identifier: GPL-2.0-only */
/* The cost of an access: counters and simulated time. */
#ifndef NP_TIMING_H
#define NP_TIMING_H

#include "cpu.h"

enum np_access {
	NP_LOAD,
	NP_STORE,  /* the CPU goes on before the line is there */
	NP_ATOMIC, /* a store whose instruction needs what it replaces */
};

/* The CPU waits; memory: for a line of a memory, or of another node. */
void np_timing_wait(struct np_cpu *cpu, uint64_t ps, bool memory);

/*
 * A CPU uses a line. Returns whether its next use of it may go unseen until the CPU's next step:
 * the first level has the line, which is there and which no other CPU contends for. *writable: a
 * store's, too.
 */
bool np_timing_use(struct np_cpu *cpu, uint64_t vaddr, uint32_t line, enum np_access access,
		   bool *writable);

/* The CPU reads an entry of a page table. Returns for how long it waits for it, in ps. */
uint64_t np_timing_read(struct np_cpu *cpu, uint32_t line);

/* An access that the first level could not serve alone. */
void np_timing_access(struct np_cpu *cpu, uint64_t vaddr, uint32_t line, enum np_access access);

/* Returns whether a line that the first level has is still on its way; waits: the access needs it. */
bool np_timing_arrives(struct np_cpu *cpu, uint32_t line, bool waits);

/* A non-temporal store. */
void np_timing_nontemporal(struct np_cpu *cpu, uint32_t line);

#endif
