// SPDX-License-Identifier: GPL-2.0-only
#include "tlb.h"
#include "cpu.h"
#include "timing.h"

#include <errno.h>
#include <stdlib.h>

#define UPPER	   32		/* entries of upper tables, about what processors keep */
#define KERNEL	   1u		/* of a key: it outlives a load of CR3 */
#define STAYS	   (1ull << 63) /* of CR3, where the kernel numbers address spaces */
#define PAGE_SHIFT 12
#define HUGE_SHIFT 9 /* of a number of pages: 2 MiB */

void np_tlb_divide(unsigned int entries, unsigned int *sets, unsigned int *ways)
{
	for (*ways = entries < 4 ? entries : 4; *ways < entries; ++*ways) {
		*sets = entries / *ways;
		if (*sets * *ways == entries && !(*sets & (*sets - 1)))
			return;
	}
	*sets = 1;
}

static int init_level(struct np_tlb_level *level, unsigned int entries)
{
	unsigned int sets;

	if (!entries)
		return 0;
	np_tlb_divide(entries, &sets, &level->ways);
	level->set_mask = sets - 1;
	level->key = calloc(entries, sizeof(*level->key));
	level->next = calloc(sets, sizeof(*level->next));
	return level->key && level->next ? 0 : -ENOMEM;
}

int np_tlb_init(struct np_cpu *cpu)
{
	const struct np_config *c = &np_sim.config;
	struct np_tlb *t = &cpu->tlb;
	bool shared = c->tlb.second[1] == c->tlb.second[0];

	t->latency_ps = 1000 * c->tlb.latency_ns;
	if (init_level(&t->first[0], c->tlb.first[0]) ||
	    init_level(&t->first[1], c->tlb.first[1]) ||
	    init_level(&t->second[0], c->tlb.second[0]) ||
	    init_level(&t->second[1], shared ? 0 : c->tlb.second[1]) ||
	    init_level(&t->upper, UPPER))
		return -ENOMEM;
	if (shared)
		t->second[1] = t->second[0];
	return 0;
}

static void free_level(struct np_tlb_level *level)
{
	free(level->key);
	free(level->next);
}

void np_tlb_free(struct np_cpu *cpu)
{
	struct np_tlb *t = &cpu->tlb;

	if (t->second[1].key != t->second[0].key)
		free_level(&t->second[1]);
	free_level(&t->second[0]);
	free_level(&t->first[0]);
	free_level(&t->first[1]);
	free_level(&t->upper);
}

/* Returns whether the level had the entry; it has it now. */
static bool use(struct np_tlb_level *level, unsigned int set, uint32_t key)
{
	uint32_t *way;

	if (!level->ways)
		return false;
	set &= level->set_mask;
	way = &level->key[set * level->ways];
	for (unsigned int i = 0; i < level->ways; i++)
		if (way[i] == key)
			return true;
	way[level->next[set]] = key;
	level->next[set] = level->next[set] + 1u < level->ways ? level->next[set] + 1 : 0;
	return false;
}

static void drop_user(struct np_tlb_level *level)
{
	unsigned int entries = level->ways * (level->set_mask + 1);

	for (unsigned int i = 0; i < entries; i++)
		level->key[i] &= -(level->key[i] & KERNEL);
}

void np_tlb_load(struct np_cpu *cpu, uint64_t cr3)
{
	struct np_tlb *t = &cpu->tlb;

	t->root = cr3 & ~STAYS;
	if (cr3 & STAYS)
		return;
	for (unsigned int huge = 0; huge < 2; huge++) {
		drop_user(&t->first[huge]);
		drop_user(&t->second[huge]);
	}
	drop_user(&t->upper);
}

/* The running number of the line at an address; false: it is of no node. */
static bool number_line(uint64_t address, uint32_t *line)
{
	uint64_t number;

	if (np_config_node(&np_sim.config, address, &number) < 0)
		return false;
	*line = number;
	return true;
}

uint32_t np_tlb_find_leaf(const struct np_cpu *cpu, uint64_t vaddr, uint64_t page)
{
	struct np_guest_entry entry;
	uint32_t line;

	/* A CPU may still use tables that another task has: then its translation differs, or lacks. */
	if (!cpu->tlb.root || !np_guest_pages_walk(cpu->tlb.root, vaddr, &entry) ||
	    entry.page != page || !number_line(entry.leaf, &line))
		return NP_TLB_NO_LEAF;
	return line << 1 | entry.huge;
}

/* The processor reads the entries that it lacks, one after the other, through its caches. */
static uint64_t walk(struct np_cpu *cpu, uint64_t vaddr, uint32_t leaf)
{
	uint32_t part = vaddr >> (PAGE_SHIFT + HUGE_SHIFT), line;
	struct np_guest_entry entry;
	uint64_t ps = 0;

	if (!(leaf & 1) && !use(&cpu->tlb.upper, part, part << 2 | 2 | (vaddr >> 63)) &&
	    np_guest_pages_walk(cpu->tlb.root, vaddr, &entry) && number_line(entry.upper, &line))
		ps += np_timing_read(cpu, line);
	return ps + np_timing_read(cpu, leaf >> 1);
}

uint64_t np_tlb_use(struct np_cpu *cpu, uint64_t vaddr, uint32_t line, uint32_t leaf)
{
	struct np_tlb *t = &cpu->tlb;
	unsigned int huge = leaf & 1;
	uint32_t page = line >> (PAGE_SHIFT - np_sim.config.line_shift), key;

	if (huge)
		page = (page - (vaddr >> PAGE_SHIFT & ((1u << HUGE_SHIFT) - 1))) >> HUGE_SHIFT;
	key = (page + 1) << 2 | huge << 1 | (vaddr >> 63);
	if (use(&t->first[huge], page, key))
		return 0;
	if (use(&t->second[huge], page, key))
		return t->latency_ps;
	return t->latency_ps + walk(cpu, vaddr, leaf);
}
