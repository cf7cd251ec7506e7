// SPDX-License-Identifier: GPL-2.0-only
#include "fixture.h"

#define SERVED(access, by) CU_ASSERT_EQUAL((access).served, by)

TEST(first_use_comes_from_the_lines_own_node)
{
	struct np_result r;

	begin();
	r = use(0, 5, false);
	SERVED(r, NP_SERVED_DRAM);
	CU_ASSERT_EQUAL(r.node, 0);
	SERVED(use(0, 5, false), SERVED_L1);
	r = use(0, NODE_LINES + 5, false);
	SERVED(r, NP_SERVED_DRAM);
	CU_ASSERT_EQUAL(r.node, 1);
	SERVED(use(1, 5, false), NP_SERVED_LLC);  /* a neighbour */
	SERVED(use(2, 5, false), NP_SERVED_DRAM); /* another node, unmodified */
	end();
}

/* Goes through `lines` lines twice; returns how many of the second round came from `from`. */
static unsigned int second_round(uint32_t lines, enum np_served from)
{
	unsigned int n = 0;

	begin();
	for (uint32_t i = 0; i < lines; i++)
		use(0, i, false);
	for (uint32_t i = 0; i < lines; i++)
		n += use(0, i, false).served == from;
	end();
	return n;
}

TEST(a_working_set_is_served_by_the_level_that_it_fits)
{
	CU_ASSERT_EQUAL(second_round(L1_LINES, SERVED_L1), L1_LINES);
	CU_ASSERT_EQUAL(second_round(L2_LINES, NP_SERVED_L2), L2_LINES);
	CU_ASSERT_EQUAL(second_round(LLC_LINES, NP_SERVED_LLC), LLC_LINES);
	CU_ASSERT_EQUAL(second_round(2 * LLC_LINES, NP_SERVED_DRAM), 2 * LLC_LINES);
}

/* Each CPU has a last level of its own: a line of one is in no other one's. */
TEST(cpus_of_a_node_may_have_several_last_levels)
{
	struct np_result r;

	begin_with("llc_cpus=1\n");
	CU_ASSERT_EQUAL(np_sim.config.llcs, 4);
	SERVED(use(0, 5, false), NP_SERVED_DRAM);
	SERVED(use(1, 5, false), NP_SERVED_DRAM); /* unmodified: from memory */
	r = use(0, 5, true);
	SERVED(r, NP_SERVED_LLC);
	CU_ASSERT(r.taken_from == 0 && r.of_other_llc);
	r = use(1, 5, false);
	SERVED(r, NP_SERVED_NODE_CACHE);
	CU_ASSERT(r.node == 0 && r.taken_from == 0 && r.of_other_llc && r.written_back[0] == 0);
	SERVED(use(1, 5, false), SERVED_L1);
	r = use(2, 5, true);
	SERVED(r, NP_SERVED_DRAM); /* of both that have it, unmodified */
	CU_ASSERT(r.taken_from == 0 && r.of_other_llc);
	r = use(1, 5, false);
	SERVED(r, NP_SERVED_REMOTE_CACHE);
	CU_ASSERT(r.node == 1 && r.taken_from == 1);
	end();
}

TEST(last_levels_of_groups_are_as_many_as_the_cpus_need)
{
	char text[1024], err[512];

	for (unsigned int cpus = 1; cpus < 4; cpus++) {
		snprintf(text, sizeof(text), "llc_cpus=%u\n%s", cpus, CONFIG);
		memcpy(strstr(text, "0,0,1,1"), "0,0,0,1", 7);
		CU_ASSERT_FATAL(!read_text(text, &np_sim.config, err, sizeof(err)));
		CU_ASSERT_EQUAL(np_sim.config.llcs, (3 + cpus - 1) / cpus + 1);
		CU_ASSERT_EQUAL(np_sim.config.cpu_llc[3], np_sim.config.llcs - 1);
		CU_ASSERT_EQUAL(np_sim.config.llc_node[np_sim.config.cpu_llc[2]], 0);
		CU_ASSERT_EQUAL(np_sim.config.cpu_llc[2], 2 / cpus);
	}
}

TEST(a_modified_line_comes_from_the_other_nodes_cache)
{
	struct np_result r;

	begin();
	use(0, NODE_LINES + 7, true);
	r = use(2, NODE_LINES + 7, false);
	SERVED(r, NP_SERVED_REMOTE_CACHE);
	CU_ASSERT_EQUAL(r.node, 0);
	CU_ASSERT_EQUAL(r.written_back[0], 1);		  /* memory gets it back */
	SERVED(use(0, NODE_LINES + 7, false), SERVED_L1); /* the holder keeps it, unmodified */
	SERVED(use(3, NODE_LINES + 7, false), NP_SERVED_LLC);
	SERVED(use(0, NODE_LINES + 7, true),
	       NP_SERVED_LLC); /* and has to ask before it writes anew */
	SERVED(use(2, NODE_LINES + 7, false), NP_SERVED_REMOTE_CACHE);
	end();
}

TEST(a_store_takes_the_line_away_from_all_others)
{
	begin();
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		use(cpu, 9, false);
	SERVED(use(0, 9, true), NP_SERVED_LLC);
	SERVED(use(0, 9, true), SERVED_L1);
	SERVED(use(1, 9, false), NP_SERVED_NEIGHBOUR);
	SERVED(use(2, 9, false), NP_SERVED_REMOTE_CACHE);
	SERVED(use(3, 9, true), NP_SERVED_LLC);
	SERVED(use(0, 9, true), NP_SERVED_REMOTE_CACHE);
	SERVED(use(2, 9, false), NP_SERVED_REMOTE_CACHE);
	end();
}

/* A neighbour's read takes the right to write away, each time. */
TEST(a_line_that_is_written_anew_is_paid_for_anew)
{
	begin();
	use(0, 5, true);
	for (unsigned int round = 0; round < 3; round++) {
		SERVED(use(1, 5, false), NP_SERVED_NEIGHBOUR);
		SERVED(use(1, 5, false), SERVED_L1);
		SERVED(use(0, 5, true), NP_SERVED_LLC);
		SERVED(use(0, 5, true), SERVED_L1);
	}
	end();
}

TEST(the_only_holder_may_write_at_no_cost)
{
	begin();
	use(0, 11, false);
	SERVED(use(0, 11, true), NP_SERVED_UPGRADE);
	SERVED(use(0, 11, true), SERVED_L1);
	SERVED(use(2, 11, false), NP_SERVED_REMOTE_CACHE); /* so it was known to be modified */
	end();
}

TEST(every_modified_line_is_written_back_once)
{
	unsigned int written = 0;

	begin();
	for (uint32_t i = 0; i < 3 * LLC_LINES; i++) {
		struct np_result r = use(0, NODE_LINES + i, true);

		written += r.written_back[0] >= 0;
		written += r.written_back[1] == 1;
	}
	CU_ASSERT_EQUAL(written, 2 * LLC_LINES); /* the rest is still there */
	end();
}

TEST(nontemporal_stores_leave_no_copy)
{
	begin();
	use(0, 13, true);
	use(2, 13, false);
	np_hierarchy_bypass(&np_sim.hierarchy, 1, 13);
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		np_hierarchy_invalidate(&np_sim.hierarchy.cpu[cpu]);
	SERVED(use(0, 13, false), NP_SERVED_DRAM);
	SERVED(use(2, 13, false), NP_SERVED_DRAM);
	end();
}

TEST(every_line_has_a_home)
{
	begin();
	for (uint64_t line = 0; line < np_sim.config.lines; line++)
		if (np_hierarchy_home(&np_sim.hierarchy, line) !=
		    np_config_line_node(&np_sim.config, line))
			CU_FAIL("a line with the wrong home");
	CU_ASSERT_EQUAL(np_hierarchy_home(&np_sim.hierarchy, NODE_LINES - 1), 0);
	CU_ASSERT_EQUAL(np_hierarchy_home(&np_sim.hierarchy, NODE_LINES), 1);
	end();
}

TEST(nodes_of_unequal_size_are_the_home_of_their_lines)
{
	struct np_hierarchy m;
	struct np_config c;

	begin();
	c = np_sim.config;
	c.ram[1].first_line = 3 * 64;
	c.lines = 3 * 64 + 5 * 64;
	CU_ASSERT_EQUAL_FATAL(np_hierarchy_init(&m, &c), 0);
	for (uint32_t line = 0; line < c.lines; line++)
		if (np_hierarchy_home(&m, line) != (line >= 3 * 64))
			CU_FAIL("a line with the wrong home");
	np_hierarchy_free(&m);
	end();
}

TEST(a_halted_cpu_loses_all_invalidated_lines)
{
	const uint32_t lines = L2_LINES; /* more than is noted one by one */

	begin();
	for (uint32_t i = 0; i < lines; i++)
		use(0, i, false);
	for (uint32_t i = 0; i < lines; i++)
		use(2, i, true);
	for (uint32_t i = 0; i < lines; i++)
		SERVED(use(0, i, false), NP_SERVED_REMOTE_CACHE);
	end();
}

TEST(non_temporal_stores_are_counted_once_a_line)
{
	begin();
	for (unsigned int i = 0; i < 80; i++)
		np_timing_nontemporal(&np_sim.cpu[0], NODE_LINES + i / 8);
	CU_ASSERT_EQUAL(np_sim.cpu[0].dram_writes, 10);
	CU_ASSERT_EQUAL(np_sim.cpu[0].traffic[1][NP_DRAM].nontemporal, 10);
	end();
}

/* More CPUs than the last level has bits for: two of them share one. */
TEST(a_large_node_has_the_protocol_of_a_small_one)
{
	char text[1024], err[512];

	snprintf(text, sizeof(text), "%s", CONFIG);
	memcpy(strstr(text, "cpu_node=0,0,1,1"), "#", 1);
	strncat(text, "cpu_node=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n",
		sizeof(text) - strlen(text) - 1);
	CU_ASSERT_FATAL(!read_text(text, &np_sim.config, err, sizeof(err)));
	CU_ASSERT_FATAL(!np_hierarchy_init(&np_sim.hierarchy, &np_sim.config));
	use(1, 5, false);
	SERVED(use(1, 5, true), NP_SERVED_UPGRADE);
	SERVED(use(17, 5, true), NP_SERVED_NEIGHBOUR); /* the same bit */
	SERVED(use(1, 5, false), NP_SERVED_NEIGHBOUR);
	SERVED(use(17, 5, true), NP_SERVED_LLC);
	np_hierarchy_free(&np_sim.hierarchy);
}
