/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of tests, which cunit_main.c runs as suites in the order in which their objects are linked. */
#ifndef NUMAPLACE_TESTS_CUNIT_MAIN_H
#define NUMAPLACE_TESTS_CUNIT_MAIN_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

/* A row of a table: the test has the name of its function. */
#define TEST(function) { #function, function }

/* At the end of a file: tests is a static table that ends with CU_TEST_INFO_NULL. */
#define TEST_SUITE(name, tests) \
	static void __attribute__((constructor)) add_##tests(void) \
	{ \
		add_suite(name, tests); \
	}

void add_suite(const char *name, CU_TestInfo *tests);

#endif
