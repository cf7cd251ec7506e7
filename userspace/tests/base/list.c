// SPDX-License-Identifier: GPL-2.0-only
/* Lists by numactl's grammar, and as the kernel prints them. */
#include "../../lib/base/cpulist.h"

#include <string.h>

#include "../../../policies/policy.h"
#include "../../lib/base/error.h"
#include "../../lib/host/mempolicy.h"
#include "../fixture.h"

#include <numaif.h>

/* A machine with nodes 0, 1, 4, 5, of which this process may use 1, 4 and 5. */
static struct np_list_space sparse_space(void)
{
	struct bitmask *exist = numa_bitmask_alloc(64), *allowed = numa_bitmask_alloc(64);

	np_list_parse_kernel("0-1,4-5", exist);
	np_list_parse_kernel("1,4-5", allowed);
	return (struct np_list_space) { "node", exist, allowed };
}

static void free_space(struct np_list_space *s)
{
	numa_bitmask_free((struct bitmask *)s->exist);
	numa_bitmask_free((struct bitmask *)s->allowed);
}

TEST(accepts_numactl_grammar)
{
	static const struct {
		const char *text, *means;
	} cases[] = {
		{ "0", "0" },	  { "0,1", "0-1" },   { "4-5", "4-5" },	 { "0-1,5", "0-1,5" },
		{ "5,0", "0,5" }, { "all", "1,4-5" }, { "!1", "4-5" },	 { "!4-5", "1" },
		{ "+0", "1" },	  { "+1-2", "4-5" },  { "+0,2", "1,5" }, { "!+0", "4-5" },
		{ "1,1", "1" },
	};
	struct np_list_space s = sparse_space();
	char got[NP_LIST_LEN];
	struct np_err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bitmask *mask = np_list_parse(cases[i].text, &s, &err);

		CU_ASSERT_PTR_NOT_NULL_FATAL(mask);
		CU_ASSERT_STRING_EQUAL(np_list_format(mask, got, sizeof(got)), cases[i].means);
		numa_bitmask_free(mask);
	}
	free_space(&s);
}

TEST(refuses_what_is_not_a_list)
{
	static const char *const bad[] = {
		"",	"x",	 "1-",	 "-1",	 "5-4",
		"0,",	",0",	 "0,,1", "0 1",	 "0-1-2",
		"!",	"+",	 "!!0",	 "+!0",	 "0x1",
		"1.5",	"all,0", "allx", "+all", "99999999999999999999",
		"0\n1",
	};
	struct np_list_space s = sparse_space();
	struct np_err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		CU_ASSERT_PTR_NULL(np_list_parse(bad[i], &s, &err));
		CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
		CU_ASSERT_PTR_NULL(strchr(err.text, '\n') && !strchr(bad[i], '\n') ? err.text :
										     NULL);
	}
	free_space(&s);
}

TEST(says_which_number_does_not_exist)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "2", "node 2 does not exist; this machine has nodes 0-1,4-5" },
		{ "0-5", "node 2 does not exist; this machine has nodes 0-1,4-5" },
		{ "63", "node 63 does not exist; this machine has nodes 0-1,4-5" },
		{ "64", "node 64 does not exist; this machine has nodes 0-1,4-5" },
		{ "+3", "node +3 does not exist; counted from those allowed here, nodes 1,4-5" },
		{ "!1,4-5", "\"!1,4-5\" names no node" },
	};
	struct np_list_space s = sparse_space();
	struct np_err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_PTR_NULL(np_list_parse(cases[i].text, &s, &err));
		CU_ASSERT_STRING_EQUAL(err.text, cases[i].says);
	}
	free_space(&s);
}

TEST(reads_what_the_kernel_prints)
{
	struct bitmask *mask = numa_bitmask_alloc(128);
	char got[NP_LIST_LEN];

	CU_ASSERT_EQUAL(np_list_parse_kernel("0-3,8\n", mask), 0);
	CU_ASSERT_STRING_EQUAL(np_list_format(mask, got, sizeof(got)), "0-3,8");
	CU_ASSERT_EQUAL(np_list_parse_kernel("\n", mask), 0);
	CU_ASSERT_EQUAL(numa_bitmask_weight(mask), 0);
	CU_ASSERT_EQUAL(np_list_parse_kernel("127", mask), 0);
	CU_ASSERT_NOT_EQUAL(np_list_parse_kernel("128", mask), 0);
	CU_ASSERT_NOT_EQUAL(np_list_parse_kernel("0-", mask), 0);
	CU_ASSERT_NOT_EQUAL(np_list_parse_kernel("0,\n", mask), 0);
	CU_ASSERT_NOT_EQUAL(np_list_parse_kernel("3-1", mask), 0);
	CU_ASSERT_NOT_EQUAL(np_list_parse_kernel("1 2", mask), 0);
	numa_bitmask_free(mask);
}

TEST(cuts_a_list_that_does_not_fit)
{
	struct bitmask *mask = numa_bitmask_alloc(256);
	char got[16];

	for (unsigned int i = 0; i < 256; i += 2)
		numa_bitmask_setbit(mask, i);
	np_list_format(mask, got, sizeof(got));
	CU_ASSERT_STRING_EQUAL(got + strlen(got) - 3, "...");
	CU_ASSERT(strlen(got) < sizeof(got));
	numa_bitmask_free(mask);
}

TEST(parses_memory_policies)
{
	static const struct {
		const char *text;
		int mode;
		const char *means;
	} cases[] = {
		{ "bind:0-1", MPOL_BIND, "bind:0-1" },
		{ "interleave:all", MPOL_INTERLEAVE, "interleave:1,4-5" },
		{ "preferred:+0", MPOL_PREFERRED, "preferred:1" },
		{ "preferred-many:0,4", 5, "preferred-many:0,4" },
		{ "weighted-interleave:0-1", 6, "weighted-interleave:0-1" },
		{ "local", MPOL_LOCAL, "local" },
		{ "default", MPOL_DEFAULT, "default" },
	};
	struct np_list_space s = sparse_space();
	char got[NP_LIST_LEN];
	struct np_err err;
	struct bitmask *nodes;
	int mode;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(np_mempolicy_parse(cases[i].text, &s, &mode, &nodes, &err), 0);
		CU_ASSERT_EQUAL(mode, cases[i].mode);
		np_mempolicy_format(mode, nodes, got, sizeof(got));
		CU_ASSERT_STRING_EQUAL(got, cases[i].means);
		if (nodes)
			numa_bitmask_free(nodes);
	}
	free_space(&s);
}

TEST(names_the_policies_that_numa_maps_prints)
{
	static const struct {
		const char *printed, *name, *nodes;
	} cases[] = {
		{ "default", "", "" },
		{ "local", "", "" },
		{ "bind:0-1", "bind:0-1", "0-1" },
		{ "bind=static:1", "bind=static:1", "1" },
		{ "prefer:1", "preferred:1", "" },
		{ "prefer (many):0,2", "preferred-many:0,2", "" },
		{ "interleave=relative:0-1", "interleave=relative:0-1", "" },
		{ "weighted interleave:0-1", "weighted-interleave:0-1", "" },
	};
	struct bitmask *nodes = numa_bitmask_alloc(NP_MAX_NODES);
	char name[NP_MEMORY_LEN], list[NP_LIST_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		np_mempolicy_chosen(cases[i].printed, name, sizeof(name));
		CU_ASSERT_STRING_EQUAL(name, cases[i].name);
		np_mempolicy_may_hold(name, nodes);
		np_list_format(nodes, list, sizeof(list));
		CU_ASSERT_STRING_EQUAL(list, cases[i].nodes);
	}
	numa_bitmask_free(nodes);
}

TEST(refuses_bad_memory_policies)
{
	static const char *const bad[] = { "",	      ":",	 "bind",      "bind:",
					   "bind:9",  "local:0", "default:1", "preferred:0-1",
					   "Bind:0",  "bin:0",	 "binds:0",   "0",
					   "bind:0:1" };
	struct np_list_space s = sparse_space();
	struct np_err err;
	struct bitmask *nodes;
	int mode;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		CU_ASSERT_NOT_EQUAL(np_mempolicy_parse(bad[i], &s, &mode, &nodes, &err), 0);
		CU_ASSERT_PTR_NULL(nodes);
		CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
	}
	free_space(&s);
}
