// SPDX-License-Identifier: GPL-2.0-only
/* Translations: what a walk reads, which entries a TLB keeps, and for how long an access waits. */
#include "fixture.h"
#include "../guest_pages.h"

#define CHUNK	   (2ul << 20)
#define PRESENT	   1ull
#define LARGE	   0x80ull
#define STAYS	   (1ull << 63)
#define TLB	   "tlb=4 4 16 0 3\n"
#define ROOT	   0x1000ull
#define USER	   0x400000ull
#define KERNEL	   0xffff888000000000ull
#define DRAM_PS	   80000
#define L1_PS	   0 /* CONFIG says none */
#define SECOND_PS  3000
#define TABLE_LINE 40000u /* of a leaf entry: used by nothing else */

void *cpu_physical_memory_map(uint64_t address, uint64_t *len, bool is_write);

static uint8_t memory[CHUNK];

/* The guest has 2 MiB of memory. */
void *cpu_physical_memory_map(uint64_t address, uint64_t *len, bool is_write)
{
	return address < CHUNK && *len <= CHUNK - address ? memory + address : NULL;
}

static void set_entry(uint64_t table, unsigned int number, uint64_t value)
{
	memcpy(memory + table + 8 * number, &value, sizeof(value));
}

TEST(a_walk_finds_the_entry_of_a_page)
{
	struct np_guest_entry e;

	CU_ASSERT_PTR_NULL_FATAL(np_guest_pages_find());
	memset(memory, 0, sizeof(memory));
	set_entry(ROOT, 0, 0x2000 | PRESENT);
	set_entry(0x2000, 0, 0x3000 | PRESENT);
	set_entry(0x3000, 2, 0x4000 | PRESENT);		    /* USER's 2 MiB */
	set_entry(0x4000, 5, 0x77000 | PRESENT | STAYS);    /* no execution */
	set_entry(0x3000, 3, 0x40000000 | PRESENT | LARGE); /* 2 MiB */
	set_entry(0x2000, 1, 0x80000000 | PRESENT | LARGE); /* 1 GiB */
	set_entry(0x2000, 2, 1ull << 40 | PRESENT);	    /* a table that is no memory */
	CU_ASSERT(np_guest_pages_walk(ROOT | 0xfff, USER + 0x5123, &e));
	CU_ASSERT(e.leaf == 0x4000 + 5 * 8 && e.upper == 0x3000 + 2 * 8);
	CU_ASSERT(e.page == 0x77000 && !e.huge);
	CU_ASSERT(!np_guest_pages_walk(ROOT, USER + 0x6000, &e));
	CU_ASSERT(np_guest_pages_walk(ROOT, 0x600000 + 0x45678, &e));
	CU_ASSERT(e.leaf == 0x3000 + 3 * 8 && e.page == 0x40045000 && e.huge);
	CU_ASSERT(np_guest_pages_walk(ROOT, 0x40000000 + 0x1234567, &e));
	CU_ASSERT(e.leaf == 0x2000 + 8 && e.page == 0x81234000 && e.huge);
	CU_ASSERT(!np_guest_pages_walk(ROOT, 0x80000000, &e));
	CU_ASSERT(!np_guest_pages_walk(ROOT, KERNEL, &e));
}

TEST(a_leaf_is_known_where_the_tables_agree_with_qemu)
{
	begin_with(TLB);
	CU_ASSERT_PTR_NULL_FATAL(np_guest_pages_find());
	memset(memory, 0, sizeof(memory));
	set_entry(ROOT, 0, 0x2000 | PRESENT);
	set_entry(0x2000, 0, 0x3000 | PRESENT);
	set_entry(0x3000, 2, 0x4000 | PRESENT);
	set_entry(0x4000, 5, 0x77000 | PRESENT);
	CU_ASSERT_EQUAL(np_tlb_find_leaf(&np_sim.cpu[0], USER + 0x5000, 0x77000), NP_TLB_NO_LEAF);
	np_tlb_load(&np_sim.cpu[0], ROOT);
	CU_ASSERT_EQUAL(np_tlb_find_leaf(&np_sim.cpu[0], USER + 0x5000, 0x77000), (0x4028u >> 6)
											  << 1);
	CU_ASSERT_EQUAL(np_tlb_find_leaf(&np_sim.cpu[0], USER + 0x5000, 0x78000), NP_TLB_NO_LEAF);
	end();
}

TEST(sets_of_a_tlb_are_a_power_of_two)
{
	static const unsigned int table[][3] = {
		/* entries, sets, ways */
		{ 1, 1, 1 },	  { 3, 1, 3 },	    { 4, 1, 4 },      { 16, 4, 4 },
		{ 32, 8, 4 },	  { 64, 16, 4 },    { 96, 16, 6 },    { 512, 128, 4 },
		{ 1024, 256, 4 }, { 1536, 256, 6 }, { 2048, 512, 4 }, { 7, 1, 7 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		unsigned int sets, ways;

		np_tlb_divide(table[i][0], &sets, &ways);
		CU_ASSERT_EQUAL(sets, table[i][1]);
		CU_ASSERT_EQUAL(ways, table[i][2]);
	}
}

/* CPU 0 uses page `number` of node 0, whose leaf entries are 64 bytes apart: lines of their own. */
static uint64_t use_page(uint64_t base, unsigned int number, bool huge)
{
	unsigned int shift = huge ? 21 : 12;
	uint64_t vaddr = base + ((uint64_t)number << shift);

	return np_tlb_use(&np_sim.cpu[0], vaddr, ((uint64_t)number << shift) >> 6,
			  (TABLE_LINE + number) << 1 | huge);
}

TEST(an_access_waits_for_what_its_walk_reads)
{
	begin_with(TLB);
	CU_ASSERT_EQUAL(use_page(USER, 0, false), SECOND_PS + DRAM_PS);
	CU_ASSERT_EQUAL(use_page(USER, 0, false), 0);
	CU_ASSERT_EQUAL(np_sim.cpu[0].local_dram, 1); /* the walk's line is counted as others are */
	for (unsigned int page = 1; page < 5; page++)
		use_page(USER, page, false);
	CU_ASSERT_EQUAL(use_page(USER, 0, false),
			SECOND_PS); /* four are in the first level, all in the second */
	for (unsigned int page = 0; page < 64; page++)
		use_page(USER, page, false);
	CU_ASSERT_EQUAL(use_page(USER, 0, false),
			SECOND_PS + L1_PS); /* of neither; the entry's line is in the cache */
	end();
}

TEST(tables_on_another_node_take_longer)
{
	uint64_t far, near;

	begin_with(TLB);
	near = np_tlb_use(&np_sim.cpu[0], USER, 0, TABLE_LINE << 1);
	far = np_tlb_use(&np_sim.cpu[0], USER + 4096, 64, (NODE_LINES + TABLE_LINE) << 1);
	CU_ASSERT_EQUAL(far - near, 50000); /* the link */
	CU_ASSERT_EQUAL(np_sim.cpu[0].remote_dram, 1);
	end();
}

/* 8 pages of 4 KiB need 8 entries; 8 that are one huge page need one. */
TEST(huge_pages_have_entries_of_their_own)
{
	begin_with(TLB);
	for (unsigned int page = 0; page < 8; page++)
		use_page(USER, page, false);
	CU_ASSERT(use_page(USER, 100, true) > SECOND_PS);
	for (unsigned int part = 0; part < 512; part++)
		CU_ASSERT_EQUAL(np_tlb_use(&np_sim.cpu[0], USER + (100ull << 21) + part * 4096,
					   (100u << 15) + part * 64, (TABLE_LINE + 100) << 1 | 1),
				0);
	for (unsigned int page = 101; page < 105; page++)
		use_page(USER, page, true);
	CU_ASSERT(use_page(USER, 100, true) >=
		  SECOND_PS); /* no second level for huge pages: it walks */
	end();
}

TEST(a_load_of_cr3_drops_what_is_not_the_kernels)
{
	begin_with(TLB);
	use_page(USER, 1, false);
	use_page(KERNEL, 2, false);
	np_tlb_load(&np_sim.cpu[0], ROOT | STAYS);
	CU_ASSERT_EQUAL(use_page(USER, 1, false), 0);
	CU_ASSERT_EQUAL(use_page(KERNEL, 2, false), 0);
	np_tlb_load(&np_sim.cpu[0], ROOT);
	CU_ASSERT_EQUAL(np_sim.cpu[0].tlb.root, ROOT);
	CU_ASSERT_EQUAL(use_page(KERNEL, 2, false), 0);
	CU_ASSERT(use_page(USER, 1, false) >= SECOND_PS);
	end();
}

/* A load that the first level has waits for its translation and no longer. */
TEST(a_hit_waits_for_its_translation)
{
	struct np_cpu *cpu;
	bool writable;
	uint64_t hit;

	begin();
	cpu = &np_sim.cpu[0];
	np_timing_use(cpu, USER, 1, NP_ATOMIC, &writable);
	hit = cpu->ps + cpu->pending_ps;
	np_timing_use(cpu, USER, 1, NP_ATOMIC, &writable);
	hit = cpu->ps + cpu->pending_ps - hit;
	cpu->walk_ps = 7000;
	uint64_t before = cpu->ps + cpu->pending_ps;
	np_timing_use(cpu, USER, 1, NP_ATOMIC, &writable);
	CU_ASSERT_EQUAL(cpu->ps + cpu->pending_ps - before, hit + 7000);
	CU_ASSERT_EQUAL(cpu->walk_ps, 0);
	end();
}
