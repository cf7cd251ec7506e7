// SPDX-License-Identifier: GPL-2.0-only
/* One cache alone, of every shape that a machine file may give it. */
#include "fixture.h"

#define SETS	 48 /* no power of two */
#define ACCESSES 40000

static bool free_ways_are_those_without_a_line(const struct np_cache *c, unsigned int ways)
{
	for (uint32_t set = 0; set < c->sets; set++)
		for (unsigned int way = 0; way < c->padded; way++) {
			uint32_t line = c->line[(size_t)set * c->padded + way];
			bool is_free = c->nru[set].free >> way & 1;

			if (way < ways ? is_free == !!line : is_free || line)
				return false;
		}
	return true;
}

/* A line is found right after it came, whatever came and left before. */
static bool keeps_what_came(struct np_cache *c)
{
	bool found = true;

	for (int i = 0; i < ACCESSES; i++) {
		uint32_t line = rand() % (SETS * 100), set = np_cache_set(c, line);
		size_t slot = np_cache_find_in(c, set, line);

		if (slot == NP_NO_SLOT) {
			slot = np_cache_replace(c, set);
			c->line[slot] = line + 1;
		} else {
			np_cache_use(c, set, slot);
		}
		found = found && np_cache_find(c, line) == slot;
		if (i % 7 == 0)
			np_cache_drop(c, set, slot);
	}
	return found;
}

TEST(caches_of_any_ways)
{
	for (unsigned int ways = 1; ways <= NP_MAX_WAYS; ways++) {
		struct np_cache c = { 0 };

		CU_ASSERT_FATAL(!np_cache_init(&c, 64ull * SETS * ways, ways, 64));
		CU_ASSERT_EQUAL(c.sets, SETS);
		CU_ASSERT(keeps_what_came(&c));
		CU_ASSERT(free_ways_are_those_without_a_line(&c, ways));
		np_cache_clear(&c);
		CU_ASSERT(free_ways_are_those_without_a_line(&c, ways));
		np_cache_free(&c);
	}
}

/* A second sweep of as many lines as a set has ways finds all of them. */
TEST(a_set_holds_as_many_lines_as_ways)
{
	for (unsigned int ways = 1; ways <= NP_MAX_WAYS; ways++) {
		struct np_cache c = { 0 };
		unsigned int hits = 0;

		CU_ASSERT_FATAL(!np_cache_init(&c, 64ull * SETS * ways, ways, 64));
		for (unsigned int i = 0; i < 2 * ways; i++) {
			uint32_t line = i % ways * SETS;
			size_t slot = np_cache_find(&c, line);

			hits += slot != NP_NO_SLOT;
			if (slot == NP_NO_SLOT)
				c.line[np_cache_replace(&c, np_cache_set(&c, line))] = line + 1;
		}
		CU_ASSERT_EQUAL(hits, ways);
		np_cache_free(&c);
	}
}

TEST(a_cache_without_sets_holds_nothing)
{
	const struct np_cache none = { 0 };

	CU_ASSERT_EQUAL(np_cache_find(&none, 0), NP_NO_SLOT);
	CU_ASSERT_EQUAL(np_cache_find(&none, 12345), NP_NO_SLOT);
}
