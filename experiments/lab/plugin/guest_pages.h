/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's page tables, as they lie in its memory: where a processor reads them when its TLB has
 * no translation.
 */
#ifndef NP_GUEST_PAGES_H
#define NP_GUEST_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct np_guest_entry {
	uint64_t leaf;	/* guest physical address of the entry that maps the page */
	uint64_t upper; /* and of the entry that names that one's table */
	uint64_t page;	/* guest physical address of the 4 KiB page */
	bool huge;	/* 2 MiB or 1 GiB */
};

/*
 * Finds QEMU's functions for it. Returns NULL, or the name of one that this QEMU does not export.
 */
const char *np_guest_pages_find(void);

/*
 * Follows the four levels from the table at `root`, as CR3 has it. Returns false where an address has no
 * translation, or where a table is no memory.
 */
bool np_guest_pages_walk(uint64_t root, uint64_t vaddr, struct np_guest_entry *entry);

#endif
