/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who uses memory: accesses by task, and lines of DRAM by instruction and page too. Each CPU's
 * own thread counts for it. The regions that a process is in are all CPUs'.
 *
 * The file that is written at the end has a line for each of
 *
 *   region NUMBER ENTERED NAME
 *   note TEXT                                      as the guest gave it
 *   task CPU NODE CONTEXT TGID TID CGROUP REGIONS LOADS STORES REMOTE_CACHE DRAM,..
 *   dram CPU CONTEXT ADDRESS CODE NODE LINES       ADDRESS and CODE virtual, the first of a page
 *
 * REGIONS is a bit set of their numbers; loads, stores and lines are those of user code.
 */
#ifndef NP_PROFILE_H
#define NP_PROFILE_H

#include "../guest/shared.h"
#include "regions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A task in a cgroup, while its process is in these regions. */
struct np_context {
	uint64_t task, cgroup; /* tgid << 32 | tid */
	uint32_t regions;
	uint64_t loads, stores, remote_cache;
	uint64_t dram[NP_LAB_MAX_NODES];
};

struct np_dram_use {
	uint64_t page, code; /* page: address of the page | node */
	uint64_t lines;	     /* 0: the entry is free */
	uint32_t context;
};

struct np_profile {
	uint64_t code;		 /* address of the instruction that accesses memory */
	uint64_t loads, stores;	 /* of the present context, and not in it yet */
	bool user;		 /* the CPU runs user code */
	uint32_t regions_change; /* as of which regions are known */
	uint32_t at;		 /* the context that counts */
	size_t n_contexts, contexts_size;
	struct np_context *context;
	uint32_t *slot; /* [2 * contexts_size] by hash: number of a context plus 1, or 0 */
	size_t n_uses, uses_size; /* a power of two */
	struct np_dram_use *use;
	uint64_t lost; /* lines without an entry: out of memory */
};

/* Returns 0 or -ENOMEM. */
int np_profile_init(struct np_profile *p);
void np_profile_free(struct np_profile *p); /* for tests: the plugin ends with QEMU */

/* The task goes on in another context where its process has entered or left a region. */
void np_profile_look(struct np_profile *p);

/* A CPU runs code of the user's, or of the kernel's. */
static inline void np_profile_block(struct np_profile *p, bool user)
{
	p->user = user;
	if (__atomic_load_n(&np_regions_change, __ATOMIC_RELAXED) != p->regions_change)
		np_profile_look(p);
}

/* Of user code. */
static inline void np_profile_access(struct np_profile *p, uint64_t code, bool store)
{
	p->code = code;
	p->loads += !store;
	p->stores += store;
}

/* The access that was told last reads a line of a node's DRAM. */
void np_profile_dram(struct np_profile *p, uint64_t vaddr, unsigned int node);

/* It reads it from another node's cache. */
void np_profile_remote_cache(struct np_profile *p);

/* The CPU runs another task. */
void np_profile_switch(struct np_profile *p, uint64_t task, uint64_t cgroup);

/* The task's process enters the region of this name, or leaves it. It is in it until it has left as often as entered. */
void np_profile_region(struct np_profile *p, const char *name, bool enters);

/* Keeps a line of the guest's. */
void np_profile_note(const char *text);

/* What the file has of all CPUs, and of one. */
void np_profile_write_head(FILE *f);
void np_profile_write(FILE *f, struct np_profile *p, unsigned int cpu, unsigned int node,
		      unsigned int nodes);

#endif
