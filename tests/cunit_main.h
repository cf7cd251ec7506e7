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

#endif
