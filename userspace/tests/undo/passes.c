// SPDX-License-Identifier: GPL-2.0-only
/* How often the processes are looked at for those that have inherited a place. */
#include "../../lib/undo/inherited.h"
#include "../fixture.h"

TEST(ends_when_nothing_is_found)
{
	struct np_passes p = { 0 };

	CU_ASSERT(np_passes_again(&p, true, false));
	CU_ASSERT_FALSE(np_passes_again(&p, false, false));
	CU_ASSERT_EQUAL(p.n, 2);
}

TEST(follows_the_children_of_the_missed)
{
	struct np_passes p = { 0 };

	for (int i = 0; i < 4; i++)
		CU_ASSERT(np_passes_again(&p, false, true));
	CU_ASSERT(np_passes_again(&p, true, true));
	for (int i = 0; i < 4; i++)
		CU_ASSERT(np_passes_again(&p, false, true));
	CU_ASSERT_FALSE(np_passes_again(&p, false, true));
}

TEST(gives_up_on_a_task_that_is_faster)
{
	struct np_passes p = { 0 };

	while (p.n < 1000 && np_passes_again(&p, true, true))
		;
	CU_ASSERT_EQUAL(p.n, 64);
}
