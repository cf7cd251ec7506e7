/* SPDX-License-Identifier: GPL-2.0-only */
/* The translations that a CPU used lately, so that QEMU need not be asked for each line. */
#ifndef NP_PAGES_H
#define NP_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define NP_PAGES_BITS 11
#define NP_PAGES_ERA  (1ull << 36)

struct np_pages {
	uint64_t era;	/* in the upper bits; translations of earlier eras are void */
	struct {
		uint64_t key;
		uint32_t first_line;	/* running number of the page's first line */
	} page[1 << NP_PAGES_BITS];
};

/* Where a page is kept. Arrays that lie a power of two apart are used together: mix the number. */
static inline unsigned int np_pages_slot(uint64_t vaddr)
{
	return ((vaddr >> 12) * 0x9e3779b97f4a7c15ull) >> (64 - NP_PAGES_BITS);
}

static inline uint64_t np_pages_key(const struct np_pages *p, uint64_t vaddr)
{
	return ((vaddr << 16) >> 28) + p->era;
}

static inline bool np_pages_find(const struct np_pages *p, uint64_t vaddr, uint32_t *first_line)
{
	unsigned int slot = np_pages_slot(vaddr);

	*first_line = p->page[slot].first_line;
	return p->page[slot].key == np_pages_key(p, vaddr);
}

static inline void np_pages_enter(struct np_pages *p, uint64_t vaddr, uint32_t first_line)
{
	unsigned int slot = np_pages_slot(vaddr);

	p->page[slot].key = np_pages_key(p, vaddr);
	p->page[slot].first_line = first_line;
}

static inline void np_pages_forget(struct np_pages *p)
{
	p->era += NP_PAGES_ERA;
}

#endif
