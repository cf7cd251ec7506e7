/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The translation look-aside buffers of a CPU: two levels, and the entries of upper tables that it
 * keeps for a walk. Pages are known by their place in memory: one that moves is another one.
 */
#ifndef NP_TLB_H
#define NP_TLB_H

#include "guest_pages.h"

#include <stdbool.h>
#include <stdint.h>

#define NP_TLB_ENTRIES 4096 /* of a level, at most */
#define NP_TLB_NO_LEAF UINT32_MAX

struct np_cpu;

struct np_tlb_level {
	uint32_t *key; /* by set; 0: empty */
	uint8_t *next; /* way to replace, by set: in turn */
	unsigned int ways, set_mask;
};

struct np_tlb {
	uint64_t root; /* of the tables, as CR3 has it; 0: not known, and nothing waits */
	struct np_tlb_level first[2];  /* of 4 KiB pages and of larger ones */
	struct np_tlb_level second[2]; /* without ways: there is none; the same for both: shared */
	struct np_tlb_level upper;     /* entries that name the tables of 4 KiB pages, by 2 MiB */
	uint32_t latency_ps;	       /* of the second level */
};

/* Sizes of a CPU's levels: np_sim.config.tlb. Returns 0 or -ENOMEM. */
int np_tlb_init(struct np_cpu *cpu);
void np_tlb_free(struct np_cpu *cpu);

/* The sets and ways of a level: as many ways, four at least, as make the number of sets a power of two. */
void np_tlb_divide(unsigned int entries, unsigned int *sets, unsigned int *ways);

/*
 * The line of the entry that maps a page, twice its running number, and one more where the page is
 * huge; NP_TLB_NO_LEAF: not known. page: where QEMU has found the page, guest physical.
 */
uint32_t np_tlb_find_leaf(const struct np_cpu *cpu, uint64_t vaddr, uint64_t page);

/* Returns for how long an access waits for its translation, in ps. line: of the access; leaf: not NP_TLB_NO_LEAF. */
uint64_t np_tlb_use(struct np_cpu *cpu, uint64_t vaddr, uint32_t line, uint32_t leaf);

/* CR3 has this value now: what is not the kernel's is dropped, unless it says that it is to stay. */
void np_tlb_load(struct np_cpu *cpu, uint64_t cr3);

#endif
