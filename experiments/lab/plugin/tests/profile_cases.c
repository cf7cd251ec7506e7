// SPDX-License-Identifier: GPL-2.0-only
/* Who uses memory: by task, region, instruction and page. */
#include "../profile.h"

#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define CODE   0x401000ull
#define KERNEL 0xffffffff81000000ull
#define V      0x7f1234567000ull

static const uint64_t one = 10ull << 32 | 10, two = 10ull << 32 | 11, other = 20ull << 32 | 20;

static void count(struct np_profile *p, uint64_t code, uint64_t vaddr, unsigned int node)
{
	bool user = code < KERNEL;

	np_profile_block(p, user);
	if (user)
		np_profile_access(p, code, false);
	np_profile_dram(p, vaddr, node);
}

/* What the file has of this CPU 3 of node 1. The caller frees it. */
static char *written(struct np_profile *p)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	np_profile_write_head(f);
	np_profile_write(f, p, 3, 1, 2);
	fclose(f);
	return text;
}

static bool has(struct np_profile *p, const char *line)
{
	char *text = written(p);
	const char *found = strstr(text, line);
	bool ret = found && (found == text || found[-1] == '\n');

	free(text);
	return ret;
}

TEST(each_task_has_its_own)
{
	struct np_profile p;

	CU_ASSERT_EQUAL(np_profile_init(&p), 0);
	np_profile_switch(&p, one, 7);
	count(&p, CODE, V, 0);
	count(&p, CODE, V + 64, 0);
	np_profile_access(&p, CODE + 4, true);
	np_profile_switch(&p, other, 7);
	count(&p, CODE, V, 1);
	np_profile_remote_cache(&p);
	np_profile_switch(&p, one, 7);
	count(&p, CODE + 4, V, 0);
	CU_ASSERT(has(&p, "task 3 1 1 10 10 7 0 3 1 0 3,0\n"));
	CU_ASSERT(has(&p, "task 3 1 2 20 20 7 0 1 0 1 0,1\n"));
	CU_ASSERT(has(&p, "dram 3 1 0x7f1234567000 0x401000 0 2\n"));
	CU_ASSERT(has(&p, "dram 3 1 0x7f1234567000 0x401004 0 1\n"));
	CU_ASSERT(has(&p, "dram 3 2 0x7f1234567000 0x401000 1 1\n"));
	np_profile_free(&p);
}

TEST(a_page_of_two_nodes_is_two)
{
	struct np_profile p;

	np_profile_init(&p);
	count(&p, CODE, V, 0);
	count(&p, CODE, V, 1);
	CU_ASSERT(has(&p, "dram 3 0 0x7f1234567000 0x401000 0 1\n"));
	CU_ASSERT(has(&p, "dram 3 0 0x7f1234567000 0x401000 1 1\n"));
	np_profile_free(&p);
}

TEST(the_kernels_lines_are_not_the_programs)
{
	struct np_profile p;

	np_profile_init(&p);
	np_profile_switch(&p, one, 7);
	count(&p, KERNEL, V, 1);
	np_profile_remote_cache(&p);
	CU_ASSERT(has(&p, "task 3 1 1 10 10 7 0 0 0 0 0,0\n"));
	CU_ASSERT(!has(&p, "dram"));
	np_profile_free(&p);
}

TEST(a_region_is_the_processes)
{
	struct np_profile first, second;

	np_profile_init(&first);
	np_profile_init(&second);
	np_profile_switch(&first, one, 7);
	np_profile_switch(&second, two, 7);
	count(&second, CODE, V, 0);
	np_profile_region(&first, "scan", true);
	count(&first, CODE, V, 0);
	count(&second, CODE, V, 0);
	np_profile_switch(&second, other, 7);
	count(&second, CODE, V, 0);
	np_profile_switch(&second, two, 7);
	np_profile_region(&second, "scan", true);
	np_profile_region(&first, "scan", false); /* another thread is still in it */
	count(&first, CODE, V, 0);
	np_profile_region(&second, "scan", false);
	count(&first, CODE, V, 0);
	np_profile_region(&second, "scan", false); /* more often than it was entered: nothing */
	np_profile_region(&second, "scan", true);
	count(&first, CODE, V, 0);
	CU_ASSERT(has(&first, "region 0 3 scan\n"));
	CU_ASSERT(has(&first, "task 3 1 1 10 10 7 0 1 0 0 1,0\n"));
	CU_ASSERT(has(&first, "task 3 1 2 10 10 7 1 3 0 0 3,0\n"));
	CU_ASSERT(has(&second, "task 3 1 1 10 11 7 0 1 0 0 1,0\n"));
	CU_ASSERT(has(&second, "task 3 1 2 10 11 7 1 1 0 0 1,0\n"));
	CU_ASSERT(has(&second, "task 3 1 3 20 20 7 0 1 0 0 1,0\n"));
	np_profile_free(&first);
	np_profile_free(&second);
}

TEST(regions_beyond_the_most_are_not_counted)
{
	struct np_profile p;
	char name[16];

	np_profile_init(&p);
	np_profile_switch(&p, one, 7);
	for (int i = 0; i <= NP_REGIONS; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		np_profile_region(&p, name, true);
	}
	CU_ASSERT(has(&p, "region 31 1 r31\n"));
	CU_ASSERT(!has(&p, "region 32"));
	np_profile_free(&p);
}

TEST(many_pages_are_all_kept)
{
	const unsigned int pages = 20000;
	struct np_profile p;
	char *text;
	unsigned int lines = 0;

	np_profile_init(&p);
	for (int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < pages; i++)
			count(&p, CODE, V + i * 4096ull, i % 2);
	text = written(&p);
	for (const char *at = text; (at = strstr(at, "dram 3 0 ")); at++)
		lines++;
	CU_ASSERT_EQUAL(lines, pages);
	CU_ASSERT(has(&p, "task 3 1 0 0 0 0 0 40000 0 0 20000,20000\n"));
	CU_ASSERT(!has(&p, "lost"));
	free(text);
	np_profile_free(&p);
}

TEST(notes_are_kept_in_their_order)
{
	struct np_profile p;

	np_profile_init(&p);
	for (int i = 0; i < 1000; i++)
		np_profile_note("7 exec 10 a program");
	np_profile_note("8 last");
	CU_ASSERT(has(&p, "note 7 exec 10 a program\nnote 8 last\n"));
	np_profile_free(&p);
	np_profile_init(&p);
	CU_ASSERT(!has(&p, "note"));
	np_profile_free(&p);
}
