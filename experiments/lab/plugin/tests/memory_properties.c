// SPDX-License-Identifier: GPL-2.0-only
/* Properties of the caches after any sequence of accesses. */
#include "fixture.h"

#include <pthread.h>

#define ACCESSES  200000
#define LINES	  12000u /* three last levels full: evictions all the time */
#define HOT_LINES 64u

static const struct np_state *in_llc(unsigned int node, uint32_t line)
{
	const struct np_cache *llc = &np_sim.hierarchy.llc[node];
	size_t slot = np_cache_find(llc, line);

	return slot == NP_NO_SLOT ? NULL : &llc->state[slot];
}

/* A node that has the line modified is the only one that has it. */
static bool one_writer(uint32_t line)
{
	const struct np_state *a = in_llc(0, line), *b = in_llc(1, line);

	return !(a && a->writable && b) && !(b && b->writable && a);
}

/* A line in a CPU's cache is in its node's last level; a writable one is modified there. */
static bool held_by_node(unsigned int cpu, uint32_t line)
{
	struct np_private *p = &np_sim.hierarchy.cpu[cpu];
	const struct np_state *node = in_llc(np_sim.config.cpu_node[cpu], line);
	int way = np_l1_find(&p->l1, line);
	size_t slot = np_cache_find(&p->l2, line);
	bool writable = way >= 0 && p->l1.set[line & p->l1.set_mask].writable >> way & 1;

	if (way < 0 && slot == NP_NO_SLOT)
		return true;
	writable |= slot != NP_NO_SLOT && p->l2.state[slot].writable;
	return node && (!writable || node->writable);
}

static bool all_hold(void)
{
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		np_hierarchy_invalidate(&np_sim.hierarchy.cpu[cpu]);
	for (uint32_t line = 0; line < LINES; line++) {
		if (!one_writer(line))
			return false;
		for (unsigned int cpu = 0; cpu < 4; cpu++)
			if (!held_by_node(cpu, line))
				return false;
	}
	return true;
}

TEST(caches_stay_coherent)
{
	begin();
	srand(1);
	for (unsigned int i = 0; i < ACCESSES; i++) {
		uint32_t line = rand() % (i & 1 ? HOT_LINES : LINES);

		use(rand() % 4, line, rand() % 3 == 0);
		if (rand() % 100 == 0)
			np_hierarchy_bypass(&np_sim.hierarchy, rand() % 4, rand() % HOT_LINES);
		if (i % 5000 == 0)
			CU_ASSERT(all_hold());
	}
	CU_ASSERT(all_hold());
	end();
}

/* Every access that reaches the last level is a hit or a miss with a source. */
TEST(counters_add_up)
{
	begin();
	srand(2);
	for (unsigned int i = 0; i < ACCESSES; i++) {
		uint32_t line = rand() % LINES + (rand() & 1 ? NODE_LINES : 0);
		struct np_cpu *cpu = &np_sim.cpu[rand() % 4];
		bool writable;

		if (!np_l1_hit(cpu->l1, line, i & 1, &writable))
			np_timing_access(cpu, (uint64_t)line << 6, line, i & 1);
	}
	for (unsigned int i = 0; i < 4; i++) {
		const struct np_cpu *c = &np_sim.cpu[i];

		CU_ASSERT(c->llc_references > c->llc_misses);
		CU_ASSERT_EQUAL(c->llc_misses, c->local_dram + c->remote_dram + c->remote_cache);
		CU_ASSERT_EQUAL(c->local_dram, c->dram[c->node]);
		CU_ASSERT_EQUAL(c->remote_dram, c->dram[1 - c->node]);
		CU_ASSERT(c->remote_cache > 0);
		CU_ASSERT_EQUAL(c->pending_ps, c->stall_ps); /* no instruction took time here */
	}
	end();
}

#define ROUNDS	   10
#define STRESSED   100000u /* accesses of each thread in a round */
#define FEW_LINES  640u /* ten for each set of a first level, and of a second one with eight ways */
#define STEP_EVERY 32u	/* accesses between two steps of a clock, at which invalidations arrive */

static void *stress(void *arg)
{
	unsigned int cpu = (uintptr_t)arg, seed = cpu + 1;

	for (unsigned int i = 0; i < STRESSED; i++) {
		uint32_t random = rand_r(&seed);

		use(cpu, random % FEW_LINES, random >> 16 & 1);
		if (i % STEP_EVERY == 0)
			np_hierarchy_invalidate(&np_sim.hierarchy.cpu[cpu]);
	}
	return NULL;
}

TEST(caches_stay_coherent_while_all_cpus_run)
{
	pthread_t thread[4];
	unsigned int coherent = 0;

	begin();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		for (uintptr_t cpu = 0; cpu < 4; cpu++)
			if (pthread_create(&thread[cpu], NULL, stress, (void *)cpu))
				abort();
		for (unsigned int cpu = 0; cpu < 4; cpu++)
			pthread_join(thread[cpu], NULL);
		coherent += all_hold();
	}
	CU_ASSERT_EQUAL(coherent, ROUNDS);
	end();
}
