/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads of a CPU that are on their way. A load starts when its address is known and one of the
 * core's places for misses is free. The CPU goes on, and waits for it where a branch that needs its
 * value goes another way than the last time, where the instructions since it fill the window of the core, or at an instruction that
 * drains. Its clock is that of the instructions that it begins.
 */
#ifndef NP_OUTSTANDING_H
#define NP_OUTSTANDING_H

#include "decode/dataflow.h"

#define NP_OUTSTANDING 64 /* of the window that are remembered; a power of two */
#define NP_PLACES      32 /* for misses, at most; the core's own limit is less */
#define NP_STORED      16 /* values on their way that were stored, by their 8 bytes */

struct np_cpu;

struct np_outstanding {
	struct np_dataflow *block; /* that it is in */
	uint64_t last_ps;	   /* when the last of the loads is there; 0: none is on its way */
	uint64_t memory_ps;	   /* the last of those that come from a memory or another node */
	/* Values that were not there yet as the block began, and loads of the block that are not: a bit each. */
	struct np_dataflow_needs late;
	uint64_t value_ps[NP_DATAFLOW_REGS];	/* when a late register has its value */
	uint64_t load_ps[NP_DATAFLOW_ACCESSES]; /* when a late load has its own */
	uint64_t place_ps[NP_PLACES];		/* from when on the place is free */
	unsigned int oldest, n;
	struct {
		uint64_t there_ps;
		uint64_t instructions; /* that the CPU had begun */
	} load[NP_OUTSTANDING];	       /* n from the oldest on, in the program's order */
	struct {
		uint64_t address; /* by 8 bytes */
		uint64_t there_ps;
	} stored[NP_STORED];
};

/* The CPU begins a block. */
void np_outstanding_begin(struct np_cpu *cpu, struct np_dataflow *block);

/*
 * A load of the block, by its number, takes so long from when it starts: NP_DATAFLOW_ACCESSES is
 * waited for. memory: of a memory, or another node's. Returns when it starts.
 */
uint64_t np_outstanding_load(struct np_cpu *cpu, unsigned int number, uint64_t ps, bool memory);

/* When the address of a load or a store is known, by its number. */
uint64_t np_outstanding_ready(const struct np_cpu *cpu, unsigned int number);

/* A load of a line that a load before it (stored: a store) has missed, and that is there at `there_ps`. */
void np_outstanding_wait_for(struct np_cpu *cpu, unsigned int number, uint64_t there_ps,
			     bool stored);

/*
 * An access while loads are on their way: what is loaded is there no sooner than what was stored
 * there. Called at each where np_l1.overlaps is set.
 */
void np_outstanding_pass(struct np_cpu *cpu, unsigned int number, uint64_t vaddr, bool store);

/* Waits for all of them. */
void np_outstanding_drain(struct np_cpu *cpu);

#endif
