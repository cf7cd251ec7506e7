// SPDX-License-Identifier: GPL-2.0-only
/* Writes a plan. */
#include "plan_file.h"

#include "../files/policy_input.h"
#include "../files/snapshot.h"

/* What is printed of the decisions, and the rest of what the policy has decided. */
static json_t *request_json(const struct np_request *p)
{
	json_t *request = np_request_json(p);

	for (size_t i = 0; i < p->plan.n; i++) {
		json_t *one = json_array_get(json_object_get(request, "decisions"), i);
		const struct np_decision *d = &p->plan.decision[i];

		json_object_set_new(one, "mem", json_string(np_mem_policy_name(d->mem)));
		json_object_set_new(one, "bonus", json_real(d->bonus));
	}
	return request;
}

json_t *np_plan_file_json(const struct np_request *p)
{
	json_t *root = np_snapshot_json(p->platform, &p->machine, &p->tasks);
	json_t *request = request_json(p);

	for (size_t i = 0; i < p->tasks.n; i++)
		np_json_add_limits(json_array_get(json_object_get(root, "tasks"), i), &p->machine,
				   &p->tasks.task[i]);
	json_object_set_new(root, "plan", json_integer(NP_PLAN_FILE_VERSION));
	json_object_set_new(root, "boot", p->boot[0] ? json_string(p->boot) : json_null());
	json_object_update_missing(root, request);
	json_decref(request);
	return root;
}
