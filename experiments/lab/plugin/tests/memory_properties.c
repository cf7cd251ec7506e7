// SPDX-License-Identifier: GPL-2.0-only
/* Properties of the caches after any sequence of accesses. */
#include "fixture.h"

#include <pthread.h>

/* ThreadSanitizer watches each access, and finds a race whichever comes first. */
#ifdef __SANITIZE_THREAD__
#define ACCESSES 20000
#define ROUNDS	 2
#else
#define ACCESSES 200000
#define ROUNDS	 10
#endif
#define LINES	  12000u /* three last levels full: evictions all the time */
#define HOT_LINES 64u

static const struct np_state *in_llc(unsigned int group, uint32_t line)
{
	const struct np_cache *llc = &np_sim.hierarchy.llc[group];
	size_t slot = np_cache_find(llc, line);

	return slot == NP_NO_SLOT ? NULL : &llc->state[slot];
}

/* A last level that has the line modified is the only one that has it. */
static bool one_writer(uint32_t line)
{
	unsigned int have = 0, write = 0;

	for (unsigned int group = 0; group < np_sim.config.llcs; group++) {
		const struct np_state *state = in_llc(group, line);

		have += state != NULL;
		write += state && state->writable;
	}
	return !write || have == 1;
}

/* A line in a CPU's cache is in its last level; a writable one is modified there. */
static bool held_by_last_level(unsigned int cpu, uint32_t line)
{
	struct np_private *p = &np_sim.hierarchy.cpu[cpu];
	const struct np_state *group = in_llc(np_sim.config.cpu_llc[cpu], line);
	int way = np_l1_find(&p->l1, line);
	size_t slot = np_cache_find(&p->l2, line);
	bool writable = way >= 0 && p->l1.set[line & p->l1.set_mask].writable >> way & 1;

	if (way < 0 && slot == NP_NO_SLOT)
		return true;
	writable |= slot != NP_NO_SLOT && p->l2.state[slot].writable;
	return group && (!writable || group->writable);
}

static bool all_hold(void)
{
	for (unsigned int cpu = 0; cpu < 4; cpu++)
		np_hierarchy_invalidate(&np_sim.hierarchy.cpu[cpu]);
	for (uint32_t line = 0; line < LINES; line++) {
		if (!one_writer(line))
			return false;
		for (unsigned int cpu = 0; cpu < 4; cpu++)
			if (!held_by_last_level(cpu, line))
				return false;
	}
	return true;
}

static void use_at_random(const char *lines)
{
	begin_with(lines);
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

TEST(caches_stay_coherent)
{
	use_at_random("");
	use_at_random("llc_cpus=1\n");
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

static void use_all_at_once(const char *lines)
{
	pthread_t thread[4];
	unsigned int coherent = 0;

	begin_with(lines);
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

TEST(caches_stay_coherent_while_all_cpus_run)
{
	use_all_at_once("");
	use_all_at_once("llc_cpus=1\n");
}
