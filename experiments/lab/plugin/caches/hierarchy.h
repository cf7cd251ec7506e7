/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The level that serves an access: private caches of every CPU, inclusive
 * last-level caches of the CPUs of a node or of groups of them, a directory of
 * the lines that one of these has modified, DRAM.
 *
 * Independent of timing and of QEMU.
 */
#ifndef NP_HIERARCHY_H
#define NP_HIERARCHY_H

#include "cache.h"
#include "../config.h"
#include "l1.h"

#define NP_STRIPES	 1024
#define NP_INVALIDATIONS 256
#define NP_PROTECT	 0x80000000u /* more than any line's number (config.c) */

enum np_served {
	NP_SERVED_UPGRADE, /* held unmodified by no other cache: becomes writable at no cost */
	NP_SERVED_L2,
	NP_SERVED_LLC,		/* the own one */
	NP_SERVED_NEIGHBOUR,	/* the same, and another of its cores had modified it */
	NP_SERVED_NODE_CACHE,	/* another last level of the node had it modified */
	NP_SERVED_REMOTE_CACHE, /* another node's cache had it modified */
	NP_SERVED_DRAM,
};

struct np_result {
	enum np_served served;
	unsigned int node;   /* of the DRAM, or of the other cache */
	unsigned int home;   /* of the line's DRAM */
	int written_back[2]; /* nodes whose DRAM gets a line because of this; -1: none */
	int taken_from; /* node of another CPU that loses the line, or the right to write it; -1: none */
	bool of_other_llc; /* that CPU has another last level */
};

/*
 * A private cache is accessed by its own CPU only. Invalidations by others are
 * queued here and applied when the CPU next checks.
 */
struct np_invalidations {
	uint8_t lock;
	bool all; /* more lines than the queue holds: drop all */
	unsigned int n;
	uint32_t line[NP_INVALIDATIONS]; /* running number, with NP_PROTECT where it only loses the right to write */
};

struct np_private {
	struct np_l1 l1;
	struct np_cache l2;	  /* no sets: none */
	struct np_cache *llc;	  /* the one that it shares */
	unsigned int node, group; /* number of the last level */
	uint16_t core;		  /* its bit of np_state */
	uint16_t own;		  /* the same, if the bit means no other core; else 0 */
	struct np_invalidations invalidations __attribute__((aligned(64)));
};

struct np_hierarchy {
	const struct np_config *config;
	struct np_private *cpu;
	unsigned int group_cpus[NP_MAX_LLCS];
	uint16_t group_cpu[NP_MAX_LLCS][NP_LAB_MAX_CPUS];
	struct np_cache llc[NP_MAX_LLCS];
	uint8_t *directory; /* [config->lines] */
	uint8_t *home;	    /* [lines >> home_shift], node */
	unsigned int home_shift;
	uint8_t stripe[NP_STRIPES]; /* a set of the last level, in all of them at once */
};

/* Returns 0 or -ENOMEM. */
int np_hierarchy_init(struct np_hierarchy *m, const struct np_config *config);
void np_hierarchy_free(struct np_hierarchy *m); /* for tests: the plugin ends with QEMU */

/* The node of a line's DRAM. */
static inline unsigned int np_hierarchy_home(const struct np_hierarchy *m, uint32_t line)
{
	return m->home[line >> m->home_shift];
}

/* A CPU uses a line that its first level does not have, or may not write. */
struct np_result np_hierarchy_access(struct np_hierarchy *m, unsigned int cpu, uint32_t line,
				     bool store);

/* Applies the queued invalidations. Called by the CPU's own thread. */
void np_hierarchy_invalidate(struct np_private *p);

/* A non-temporal store: no copy stays in any cache. */
void np_hierarchy_bypass(struct np_hierarchy *m, unsigned int cpu, uint32_t line);

#endif
