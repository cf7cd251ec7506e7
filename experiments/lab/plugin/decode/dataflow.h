/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which loads of a translated block need which values: an out-of-order core starts a load as soon as
 * its address is known, and goes on with what does not need the load's value.
 *
 * A value is what registers held when the block began and what loads of the block brought. The
 * vector registers are one, which holds all that was written to any; so are the flags.
 */
#ifndef NP_DATAFLOW_H
#define NP_DATAFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NP_DATAFLOW_STACK    4
#define NP_DATAFLOW_FLAGS    16 /* after the general registers */
#define NP_DATAFLOW_VECTOR   17
#define NP_DATAFLOW_REGS     18
#define NP_DATAFLOW_ACCESSES 31 /* loads and stores of a block; those beyond are waited for */

/* What a value depends on, a bit each. */
struct np_dataflow_needs {
	uint32_t regs;	/* as the block began */
	uint32_t loads; /* of the block, by the numbers of its accesses */
};

/* A load or a store of a block. */
struct np_dataflow_access {
	struct np_dataflow_needs address, value; /* that a store writes */
	uint32_t after;				 /* so many instructions of the block */
};

/* Of an instruction: registers, a bit each. */
struct np_dataflow_insn {
	uint32_t reads, writes, address;
	bool loads, stores;
	bool moves_stack; /* the stack pointer that it writes needs none of its values */
	int64_t jump;	  /* to here, from its first byte on, where that is known; else 0 */
	bool branches;	  /* by a value */
	bool drains;	  /* nothing that it needs, and nothing before it, is on its way */
};

struct np_dataflow {
	uint32_t instructions;
	uint32_t ps;   /* of the block while nothing misses */
	bool branches; /* its end is chosen by `branch` */
	unsigned int accesses;
	uint32_t written;		/* registers that it writes, a bit each */
	const struct np_dataflow *next; /* that was run after it the last time. CPUs write it */
	struct np_dataflow_needs branch;
	struct np_dataflow_needs value[NP_DATAFLOW_REGS]; /* at its end */
	struct np_dataflow_access access[];		  /* [accesses] */
};

/*
 * The dataflow of a block of n instructions; index[]: of each, the number of its load or store, or
 * NP_DATAFLOW_ACCESSES. insn_ps: of an instruction, load_ps: of a load that the first level has, which
 * a block that is a loop waits for where each of its rounds needs the one before. In block memory; NULL: out of it.
 */
struct np_dataflow *np_dataflow_make(const struct np_dataflow_insn *insn, unsigned int n,
				     uint32_t insn_ps, uint32_t load_ps, bool loops,
				     uint8_t *index);

/* What an instruction reads and writes; one that is not known drains. */
struct np_dataflow_insn np_dataflow_decode(const uint8_t *code, size_t len);

#endif
