// SPDX-License-Identifier: GPL-2.0-only
/*
 * The main of every CUnit program: runs the suites that are linked with it, or those named on the
 * command line. Ends with 0 if all tests passed, with 1 if one failed or none ran, with 2 if there
 * is no such suite.
 */
#define _GNU_SOURCE /* basename() */
#include "cunit_main.h"

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

static void check_registered(const char *name, bool registered)
{
	if (!registered) {
		fprintf(stderr, "suite \"%s\": not registered: %s\n", name, CU_get_error_msg());
		exit(2);
	}
}

static void initialize_registry(void)
{
	if (!CU_registry_initialized())
		check_registered("all", CU_initialize_registry() == CUE_SUCCESS);
}

void add_test(const char *file, const char *name, CU_TestFunc function)
{
	char suite_name[64];
	CU_pSuite suite;

	snprintf(suite_name, sizeof(suite_name), "%s", basename(file));
	suite_name[strcspn(suite_name, ".")] = '\0';
	initialize_registry();
	suite = CU_get_suite(suite_name);
	if (!suite)
		suite = CU_add_suite(suite_name, NULL, NULL);
	check_registered(suite_name, suite && CU_add_test(suite, name, function));
}

static bool run_passes(CU_pSuite suite)
{
	if (suite)
		CU_basic_run_suite(suite);
	else
		CU_basic_run_tests();
	return CU_get_number_of_tests_run() && !CU_get_number_of_failures();
}

int main(int argc, char **argv)
{
	bool passed = true;

	CU_basic_set_mode(CU_BRM_VERBOSE);
	if (argc == 1)
		passed = run_passes(NULL);
	for (int i = 1; i < argc; i++) {
		CU_pSuite suite = CU_get_suite(argv[i]);

		if (!suite) {
			fprintf(stderr,
				"suite \"%s\": not in this program: take one of its output\n",
				argv[i]);
			return 2;
		}
		passed &= run_passes(suite);
	}
	CU_cleanup_registry();
	return passed ? 0 : 1;
}
