// SPDX-License-Identifier: GPL-2.0-only
#include "fixture.h"

int main(void)
{
	unsigned int failed;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	add_option_cases();
	add_maximum_local_cases();
	add_n_mass_cases();
	add_control_cases();
	add_carrefour_cases();
	add_asymsched_cases();
	add_node_set_cases();
	add_numad_cases();
	add_measured_cases();
	add_reject_cases();
	add_order_cases();
	add_page_cases();
	add_properties();
	add_predict_cases();
	add_present_cases();
	add_penalty_cases();
	add_model_cases();
	add_model_machine_cases();
	add_model_properties();
	if (CU_get_error() != CUE_SUCCESS)
		return 2;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failed ? 1 : 0;
}
