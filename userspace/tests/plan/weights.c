// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's weights of interleaving beside a plan's. */
#include <numaif.h>
#include <string.h>

#include "../../lib/host/mempolicy.h"
#include "../../lib/plan/spread_weights.h"
#include "../fixture.h"

static struct np_node node[] = { { .id = 0, .has_memory = true }, { .id = 2, .has_memory = true } };
static uint8_t spread[] = { 100, 37, 1, 1, 37, 100 };

static struct np_request request_of(struct np_decision *d)
{
	struct np_request p = { .machine = { .n_nodes = 2, .node = node } };

	p.plan = (struct np_plan) { .n = 1, .decision = d, .spread = spread };
	return p;
}

static void the_kernels_weights_are_read(void)
{
	const char *root = fixture_begin();
	const struct np_machine m = { .n_nodes = 2, .node = node };
	uint8_t weight[2];

	fixture_write("sys/kernel/mm/mempolicy/weighted_interleave/node0", "5\n");
	CU_ASSERT_FALSE(np_weights_read(root, &m, weight));
	fixture_write("sys/kernel/mm/mempolicy/weighted_interleave/node2", "3\n");
	CU_ASSERT(np_weights_read(root, &m, weight));
	CU_ASSERT(weight[0] == 5 && weight[1] == 3);
	fixture_end();
}

static void weights_that_differ_are_said(void)
{
	struct np_decision d = { .spread = 0, .mem = NP_MEM_WEIGHTED };
	struct np_request p = request_of(&d);
	const uint8_t other[] = { 1, 1 }, one_is_so[] = { 1, 37 }, same[] = { 200, 74 };
	char text[NP_WEIGHTS_LEN];

	CU_ASSERT(np_weights_text(&p, other, text, sizeof(text)));
	CU_ASSERT_STRING_EQUAL(
		text,
		"new pages are interleaved by the kernel's weights, 0:1 2:1, not by the plan's, "
		"0:100 2:37; to set these for every task of the machine: cd "
		"/sys/kernel/mm/mempolicy/weighted_interleave && echo 100 >node0 && echo 37 >node2");
	CU_ASSERT(np_weights_text(&p, one_is_so, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "weighted_interleave && echo 100 >node0"));
	CU_ASSERT_PTR_NULL(strstr(text, "node2"));
	CU_ASSERT_FALSE(np_weights_text(&p, same, text, sizeof(text)));
	CU_ASSERT(np_weights_text(&p, NULL, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "interleaved evenly"));
	d.mem = NP_MEM_INTERLEAVE;
	CU_ASSERT_FALSE(np_weights_text(&p, other, text, sizeof(text)));
}

/* A command that is cut sets other weights, or none. */
static void a_long_command_is_left_out(void)
{
	struct np_decision d = { .spread = 0, .mem = NP_MEM_WEIGHTED };
	struct np_request p = request_of(&d);
	struct np_node many[64];
	uint8_t row[64], kernel[64];
	char text[NP_WEIGHTS_LEN];

	for (int i = 0; i < 64; i++) {
		many[i] = (struct np_node) { .id = i, .has_memory = true };
		row[i] = (uint8_t)(255 - i);
		kernel[i] = 100;
	}
	p.machine = (struct np_machine) { .n_nodes = 8, .node = many };
	p.plan.spread = row;
	CU_ASSERT(np_weights_text(&p, kernel, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, " && echo 255 >node0 && "));
	CU_ASSERT_STRING_EQUAL(text + strlen(text) - 18, "&& echo 248 >node7");
	p.machine.n_nodes = 64;
	CU_ASSERT(np_weights_text(&p, kernel, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "write wanted_weights of `numaplace plan --json` to "
					    "/sys/kernel/mm/mempolicy/weighted_interleave/nodeN"));
	CU_ASSERT_PTR_NULL(strstr(text, "echo"));
}

/* One that they serve does not hide one that they do not. */
static void the_task_that_differs_is_said(void)
{
	struct np_decision d[] = { { .spread = 0, .mem = NP_MEM_WEIGHTED },
				   { .spread = 2, .mem = NP_MEM_WEIGHTED } };
	struct np_request p = request_of(d);
	const uint8_t kernel[] = { 100, 37 };
	char text[NP_WEIGHTS_LEN];

	CU_ASSERT_FALSE(np_weights_text(&p, kernel, text, sizeof(text)));
	p.plan.n = 2;
	CU_ASSERT_FATAL(np_weights_text(&p, kernel, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "not by the plan's, 0:37 2:100;"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, " && echo 37 >node0 && echo 100 >node2"));
}

static void what_is_wanted_is_in_json(void)
{
	struct np_decision d = { .spread = 0, .mem = NP_MEM_WEIGHTED };
	struct np_request p = request_of(&d);
	json_t *j = json_object(), *expected = json_pack("{s:i, s:i}", "0", 100, "2", 37);

	np_weights_add_json(&p, j);
	CU_ASSERT(json_equal(json_object_get(j, "wanted_weights"), expected));
	CU_ASSERT(json_is_null(json_object_get(j, "kernel_weights"))); /* those of no boot */
	d.spread = 1;
	d.mem = NP_MEM_AUTO;
	np_weights_add_json(&p, j);
	CU_ASSERT(json_is_null(json_object_get(j, "wanted_weights")));
	json_decref(expected);
	json_decref(j);
}

static void even_spreads_need_no_weights(void)
{
	struct np_decision d = { .spread = 1, .mem = NP_MEM_AUTO };
	struct np_request p = request_of(&d);
	char text[NP_WEIGHTS_LEN];

	CU_ASSERT_EQUAL(np_spread_mode(&p, &d), MPOL_INTERLEAVE);
	CU_ASSERT_FALSE(np_weights_text(&p, NULL, text, sizeof(text)));
	d.spread = 0;
	CU_ASSERT_EQUAL(np_spread_mode(&p, &d), NP_MPOL_WEIGHTED_INTERLEAVE);
	d.spread = NP_NODE_NONE;
	CU_ASSERT_FALSE(np_weights_text(&p, NULL, text, sizeof(text)));
}

static CU_TestInfo weights_tests[] = {
	{ "the kernel's weights are read", the_kernels_weights_are_read },
	{ "weights that differ are said", weights_that_differ_are_said },
	{ "a long command is left out", a_long_command_is_left_out },
	{ "the task that differs is said", the_task_that_differs_is_said },
	{ "what is wanted is in JSON", what_is_wanted_is_in_json },
	{ "even spreads need no weights", even_spreads_need_no_weights },
	CU_TEST_INFO_NULL,
};

TEST_SUITE("weights", weights_tests);
