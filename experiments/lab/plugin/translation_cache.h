/* SPDX-License-Identifier: GPL-2.0-only */
/* Recent translations of a CPU, so that QEMU is not asked for each line. */
#ifndef NP_TRANSLATION_CACHE_H
#define NP_TRANSLATION_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define NP_TRANSLATION_BITS  11
#define NP_TRANSLATION_EPOCH (1ull << 36)

struct np_translation_cache {
	uint64_t epoch; /* in the upper bits; translations of earlier epochs are void */
	struct {
		uint64_t key;
		uint32_t first_line; /* running number of the page's first line */
		uint32_t leaf;	     /* of the entry that maps it (tlb.h) */
	} page[1 << NP_TRANSLATION_BITS];
};

/* Slot of a page. Arrays at distances of a power of two are used together: hashes the number. */
static inline unsigned int np_translation_slot(uint64_t vaddr)
{
	return ((vaddr >> 12) * 0x9e3779b97f4a7c15ull) >> (64 - NP_TRANSLATION_BITS);
}

static inline uint64_t np_translation_key(const struct np_translation_cache *p, uint64_t vaddr)
{
	return ((vaddr << 16) >> 28) + p->epoch;
}

static inline bool np_translation_find(const struct np_translation_cache *p, uint64_t vaddr,
				       uint32_t *first_line, uint32_t *leaf)
{
	unsigned int slot = np_translation_slot(vaddr);

	*first_line = p->page[slot].first_line;
	*leaf = p->page[slot].leaf;
	return p->page[slot].key == np_translation_key(p, vaddr);
}

static inline void np_translation_enter(struct np_translation_cache *p, uint64_t vaddr,
					uint32_t first_line, uint32_t leaf)
{
	unsigned int slot = np_translation_slot(vaddr);

	p->page[slot].key = np_translation_key(p, vaddr);
	p->page[slot].first_line = first_line;
	p->page[slot].leaf = leaf;
}

static inline void np_translation_forget(struct np_translation_cache *p)
{
	p->epoch += NP_TRANSLATION_EPOCH;
}

#endif
