// SPDX-License-Identifier: GPL-2.0-only
/* How often the processes are looked at for those that have inherited a place. */
#include "../../lib/undo/inherited.h"
#include "../fixture.h"

static void ends_when_nothing_is_found(void)
{
	struct np_passes p = { 0 };

	CU_ASSERT(np_passes_again(&p, true, false));
	CU_ASSERT_FALSE(np_passes_again(&p, false, false));
	CU_ASSERT_EQUAL(p.n, 2);
}

static void follows_the_children_of_the_missed(void)
{
	struct np_passes p = { 0 };

	for (int i = 0; i < 4; i++)
		CU_ASSERT(np_passes_again(&p, false, true));
	CU_ASSERT(np_passes_again(&p, true, true));
	for (int i = 0; i < 4; i++)
		CU_ASSERT(np_passes_again(&p, false, true));
	CU_ASSERT_FALSE(np_passes_again(&p, false, true));
}

static void gives_up_on_a_task_that_is_faster(void)
{
	struct np_passes p = { 0 };

	while (p.n < 1000 && np_passes_again(&p, true, true))
		;
	CU_ASSERT_EQUAL(p.n, 64);
}

static CU_TestInfo passes_tests[] = {
	{ "ends when nothing is found", ends_when_nothing_is_found },
	{ "follows the children of the missed", follows_the_children_of_the_missed },
	{ "gives up on a task that is faster", gives_up_on_a_task_that_is_faster },
	CU_TEST_INFO_NULL,
};

TEST_SUITE("passes", passes_tests);
