// SPDX-License-Identifier: GPL-2.0-only
/* The answer of a program that is a policy. */
#include <errno.h>

#include "../lib/base/error.h"
#include "../lib/policy/decisions.h"
#include "../lib/policy/policy_plugin.h"
#include "../lib/policy/program_about.h"
#include "fuzz.h"

#define TASKS 2

const char *const fuzz_seeds[] = {
	"{\"decisions\": [{\"pid\": 8, \"to\": 0, \"pages_to\": 3, \"mem\": \"leave\", \"bonus\": "
	"1.5, \"penalty\": "
	"{\"value\": 2, \"source\": \"declared\"}, \"reason\": \"r\"}, {\"pid\": 7, \"to_nodes\": "
	"[0, 3], "
	"\"spread\": {\"0\": 1, \"3\": 255}}], \"least_gain\": 1.1}",
	"{\"about\": {\"summary\": \"s\", \"origin\": \"o\", \"needs\": \"n\", \"options\": "
	"[{\"name\": \"a\", "
	"\"type\": \"word\", \"default\": \"x\", \"words\": [\"x\", \"y\"]}, {\"name\": \"b\", "
	"\"type\": \"switch\", "
	"\"default\": true}, {\"name\": \"c\", \"default\": 4, \"min\": 0, \"max\": 9, \"unit\": "
	"\"MiB\", "
	"\"meaning\": \"m\"}]}, \"decisions\": []}",
	NULL,
};

static int no_plan(const struct np_policy *self, const struct np_machine *m,
		   const struct np_task *tasks, size_t n, const struct np_options *o,
		   struct np_plan *out)
{
	return 0;
}

/* An accepted "about" is a policy whose options have a text and a default. */
static void read_about(json_t *root)
{
	struct np_policy p = {
		.name = "p", .summary = "", .origin = "", .needs = "", .plan_as = no_plan
	};
	struct np_program_about about = { 0 };
	char text[64];
	struct np_err err = { "" };
	struct np_options o;

	if (np_program_about_read(&about, json_object_get(root, "about"), &p, "p", &err) ||
	    np_policy_check("p", &p, &err)) {
		FUZZ_CLAIM(err.text[0]);
	} else {
		np_options_defaults(&p, &o);
		for (size_t i = 0; i < np_options_count(&p); i++)
			FUZZ_CLAIM(np_option_text(&p.option[i], o.value[i], text, sizeof(text)));
	}
	np_program_about_free(&about);
}

/* Decisions that are taken make a plan. */
static void read_decisions(const json_t *root)
{
	static struct np_node node[2] = {
		{ .id = 0, .cpus = 2, .has_memory = true, .mem_free = 1 << 30 },
		{ .id = 3, .cpus = 2, .has_memory = true, .mem_free = 1 << 20 }
	};
	static int distance[4] = { 10, 20, 20, 10 }, cpu_node[4] = { 0, 0, 1, 1 };
	static const uint64_t pages[2] = { 1000, 10 };
	static const uint8_t may[2] = { NP_MAY_RUN | NP_MAY_HOLD, NP_MAY_HOLD };
	const struct np_machine m = { .name = "m",
				      .n_nodes = 2,
				      .node = node,
				      .distance = distance,
				      .n_cpus = 4,
				      .cpu_node = cpu_node,
				      .page_size = 4096 };
	const struct np_task tasks[TASKS] = { { .pid = 7, .cores = 1, .pages = pages },
					      { .pid = 8, .cores = 1, .pages = pages, .may = may } };
	const struct np_decisions_from from = { .what = "policy p", .limited = true };
	const struct np_policy p = { .name = "p", .plan_as = no_plan };
	const struct np_options o = { { 0 } };
	struct np_err err = { "" };
	struct np_plan plan;

	FUZZ_CLAIM(!np_plan_init(&plan, &m, TASKS) && !np_plan_begin(&p, &m, tasks, &o, &plan));
	if (np_decisions_read(&from, root, &m, tasks, &plan, &err))
		FUZZ_CLAIM(err.text[0]);
	else
		FUZZ_CLAIM(!np_plan_finish(&p, &m, tasks, &o, &plan));
	np_plan_free(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

	if (root) {
		read_about(root);
		read_decisions(root);
	}
	json_decref(root);
	return 0;
}
