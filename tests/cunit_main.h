/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests, which cunit_main.c runs as suites in the order in which their objects are linked. */
#ifndef NUMAPLACE_TESTS_CUNIT_MAIN_H
#define NUMAPLACE_TESTS_CUNIT_MAIN_H

#include <CUnit/CUnit.h>
#include <stdbool.h>

/* Begins a test of the suite that has the name of its file: TEST(name) { ... } */
#define TEST(function) \
	static void function(void); \
	static void __attribute__((constructor)) add_##function(void) \
	{ \
		add_test(__FILE__, #function, function); \
	} \
	static void function(void)

void add_test(const char *file, const char *name, CU_TestFunc function);

/* The same with a table, at the end of a file: tests is static and ends with CU_TEST_INFO_NULL. */
#define TEST_SUITE(name, tests) \
	static void __attribute__((constructor)) add_##tests(void) \
	{ \
		add_suite(name, tests); \
	}

void add_suite(const char *name, CU_TestInfo *tests);

#endif
