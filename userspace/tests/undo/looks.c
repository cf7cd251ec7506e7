// SPDX-License-Identifier: GPL-2.0-only
/* How often the processes are looked at for those that have inherited a place. */
#include "../../lib/undo/inherited.h"
#include "../fixture.h"

static void ends_when_nothing_is_found(void)
{
	struct np_looks l = { 0 };

	CU_ASSERT(np_looks_again(&l, true, false));
	CU_ASSERT_FALSE(np_looks_again(&l, false, false));
	CU_ASSERT_EQUAL(l.n, 2);
}

static void follows_the_children_of_the_missed(void)
{
	struct np_looks l = { 0 };

	for (int i = 0; i < 4; i++)
		CU_ASSERT(np_looks_again(&l, false, true));
	CU_ASSERT(np_looks_again(&l, true, true));
	for (int i = 0; i < 4; i++)
		CU_ASSERT(np_looks_again(&l, false, true));
	CU_ASSERT_FALSE(np_looks_again(&l, false, true));
}

static void gives_up_on_a_task_that_is_faster(void)
{
	struct np_looks l = { 0 };

	while (l.n < 1000 && np_looks_again(&l, true, true))
		;
	CU_ASSERT_EQUAL(l.n, 64);
}

static CU_TestInfo looks_tests[] = {
	{ "ends when nothing is found", ends_when_nothing_is_found },
	{ "follows the children of the missed", follows_the_children_of_the_missed },
	{ "gives up on a task that is faster", gives_up_on_a_task_that_is_faster },
	CU_TEST_INFO_NULL,
};

TEST_SUITE("looks", looks_tests);
