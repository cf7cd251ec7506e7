// SPDX-License-Identifier: GPL-2.0-only
/* Runs every suite, or those named on the command line. */
#include <CUnit/Basic.h>
#include <string.h>

#include "suites.h"

static CU_SuiteInfo suites[] = {
	{ "list", NULL, NULL, NULL, NULL, list_tests },
	{ "machine", NULL, NULL, NULL, NULL, machine_tests },
	{ "residency", NULL, NULL, NULL, NULL, residency_tests },
	{ "proc", NULL, NULL, NULL, NULL, proc_tests },
	{ "state", NULL, NULL, NULL, NULL, state_tests },
	{ "restore", NULL, NULL, NULL, NULL, restore_tests },
	{ "undo", NULL, NULL, NULL, NULL, undo_tests },
	{ "layers", NULL, NULL, NULL, NULL, layers_tests },
	{ "module", NULL, NULL, NULL, NULL, module_tests },
	{ "move", NULL, NULL, NULL, NULL, move_tests },
	{ "control", NULL, NULL, NULL, NULL, control_tests },
	{ "tasks", NULL, NULL, NULL, NULL, tasks_tests },
	{ "task_watch", NULL, NULL, NULL, NULL, task_watch_tests },
	{ "penalty", NULL, NULL, NULL, NULL, penalty_tests },
	{ "counters", NULL, NULL, NULL, NULL, counters_tests },
	{ "snapshot", NULL, NULL, NULL, NULL, snapshot_tests },
	{ "task_sampling", NULL, NULL, NULL, NULL, task_sampling_tests },
	{ "metrics", NULL, NULL, NULL, NULL, metrics_tests },
	{ "machine_file", NULL, NULL, NULL, NULL, machine_file_tests },
	{ "pins", NULL, NULL, NULL, NULL, pins_tests },
	{ "weights", NULL, NULL, NULL, NULL, weights_tests },
	{ "weights_state", NULL, NULL, NULL, NULL, weights_state_tests },
	{ "program", NULL, NULL, NULL, NULL, program_tests },
	CU_SUITE_INFO_NULL,
};

static int wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc == 1;
}

int main(int argc, char **argv)
{
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	for (CU_SuiteInfo *s = suites; s->pName; s++) {
		CU_SuiteInfo one[] = { *s, CU_SUITE_INFO_NULL };

		if (wanted(s->pName, argc, argv) && CU_register_suites(one) != CUE_SUCCESS)
			return 2;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures() + (CU_get_number_of_tests_run() == 0);
	CU_cleanup_registry();
	return failures ? 1 : 0;
}
