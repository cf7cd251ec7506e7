// SPDX-License-Identifier: GPL-2.0-only
#include "fixture.h"

int main(void)
{
	unsigned int failed;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	add_apply_cases();
	add_text_cases();
	add_hysteresis_cases();
	add_weights_cases();
	if (CU_get_error() != CUE_SUCCESS)
		return 2;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
