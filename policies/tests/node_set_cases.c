// SPDX-License-Identifier: GPL-2.0-only
/* Tasks larger than a node: answers worked out by hand, and the smallest set counted out. */
#include "fixture.h"

static struct fixture f;
static uint64_t state;

static void plan(const char *policy, const char *options)
{
	CU_ASSERT_EQUAL_FATAL(fixture_plan(&f, policy, options), 0);
}

/* The nodes that task i is given, a bit each. */
static unsigned int nodes_of(size_t i)
{
	const struct np_decision *d = &f.decision[i];
	unsigned int bits = 0;

	for (size_t node = 0; d->nodes != NP_NODE_NONE && node < f.m.n_nodes; node++)
		bits |= (unsigned int)(f.plan.spread[(size_t)d->nodes * f.m.n_nodes + node] != 0)
			<< node;
	return bits;
}

/* Four nodes of two CPUs, and a task that keeps cores busy on all of them. */
static struct np_task *a_large_task(unsigned int cores)
{
	struct np_task *t;

	fixture_machine(&f, 4, 2);
	t = fixture_task(&f, NP_NODE_NONE, 1.5, UNKNOWN);
	t->threads = t->cores = cores;
	return t;
}

/* Three CPUs are two nodes': those with its pages. What lies elsewhere comes to them, by half each. */
TEST(goes_to_its_pages)
{
	a_large_task(3);
	f.pages[0][0] = 100;
	f.pages[0][1] = 600;
	f.pages[0][3] = 300;
	plan("maximum-local", NULL);
	CU_ASSERT_EQUAL(f.decision[0].to, NP_NODE_NONE);
	CU_ASSERT_EQUAL(nodes_of(0), 0xa);
	CHECK_REASON(&f, 0,
		     "keeps 3 CPUs busy, more than a node has: nodes 1 and 3 are the fewest");
	CU_ASSERT_EQUAL(f.decision[0].mem, NP_MEM_LEAVE);
	CU_ASSERT_EQUAL(f.after[0], 0);
	CU_ASSERT(f.after[1] >= 648 && f.after[1] <= 652 && f.after[3] == 1000 - f.after[1]);
	CU_ASSERT(f.decision[0].gain > 1);
	plan("maximum-local", "pages=stay");
	CU_ASSERT_EQUAL(nodes_of(0), 0xa);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
}

/* Where all pages lie in the set none moves, however uneven: its threads may have put them so. */
TEST(pages_within_stay)
{
	a_large_task(3);
	f.pages[0][1] = 900;
	f.pages[0][3] = 100;
	plan("maximum-local", NULL);
	CU_ASSERT_EQUAL(nodes_of(0), 0xa);
	CU_ASSERT_EQUAL(f.decision[0].spread, NP_NODE_NONE);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
}

/* Pages that others map too stay outside, and nothing within is moved for their sake. */
TEST(shared_pages_move_nothing)
{
	struct np_task *t = a_large_task(3);
	static const uint64_t shm[4] = { 100 };

	f.pages[0][0] = 100;
	f.pages[0][1] = 800;
	f.pages[0][3] = 200;
	t->shm_pages = shm;
	plan("maximum-local", NULL);
	CU_ASSERT_EQUAL(nodes_of(0), 0xa);
	CU_ASSERT_EQUAL(f.decision[0].pages_to_move, 0);
}

TEST(without_pages_nodes_are_near)
{
	a_large_task(4);
	f.distance[1 * 4 + 2] = f.distance[2 * 4 + 1] = 12;
	plan("maximum-local", NULL);
	CU_ASSERT_EQUAL(nodes_of(0), 0x6);
}

/* Two tasks of two CPUs are at home on 1 and 3: there is room for three CPUs on 0 and 2 alone. */
TEST(leaves_full_nodes)
{
	a_large_task(3);
	f.pages[0][1] = 600;
	f.pages[0][3] = 400;
	for (int i = 1; i < 3; i++) {
		f.pages[i][2 * i - 1] = 10;
		fixture_task(&f, 2 * i - 1, 1.9, UNKNOWN)->cores = 2;
	}
	plan("maximum-local", NULL);
	CU_ASSERT_EQUAL(f.decision[1].to, 1);
	CU_ASSERT_EQUAL(f.decision[2].to, 3);
	CU_ASSERT_EQUAL(nodes_of(0), 0x5);
}

/* Seven CPUs are four nodes': nothing to choose. In a cpuset of three nodes, so are five. */
TEST(all_nodes_are_no_choice)
{
	static const uint8_t three[4] = {
		NP_MAY_RUN | NP_MAY_HOLD,
		NP_MAY_RUN | NP_MAY_HOLD,
		NP_MAY_RUN | NP_MAY_HOLD,
	};
	struct np_task *t = a_large_task(7);

	plan("maximum-local", NULL);
	CU_ASSERT_EQUAL(f.decision[0].nodes, NP_NODE_NONE);
	CHECK_REASON(&f, 0, "left to the kernel");
	t->cores = 5;
	plan("maximum-local", NULL);
	CU_ASSERT_NOT_EQUAL(f.decision[0].nodes, NP_NODE_NONE);
	t->may = three;
	plan("maximum-local", NULL);
	CU_ASSERT_EQUAL(f.decision[0].nodes, NP_NODE_NONE);
}

/* A task bound to two of four nodes is predicted there, so that planning it again promises nothing. */
TEST(bound_already_gains_nothing)
{
	static const uint8_t on[4] = { 0, 1, 0, 1 };
	struct np_task *t = a_large_task(3);

	f.pages[0][1] = f.pages[0][3] = 500;
	plan("maximum-local", NULL);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].gain, 1.375 / 1.25, 1e-9);
	t->on = on;
	plan("maximum-local", NULL);
	CU_ASSERT_EQUAL(nodes_of(0), 0xa);
	CU_ASSERT_DOUBLE_EQUAL(f.decision[0].gain, 1, 1e-9);
}

static uint64_t below(uint64_t limit)
{
	return fixture_random(&state) % limit;
}

/* The smallest number of nodes, of all subsets of those allowed, that have so many CPUs; 0: none. */
static int fewest(const struct np_task *t)
{
	int best = 0;

	for (unsigned int bits = 1; bits < 1U << f.m.n_nodes; bits++) {
		unsigned int cpus = 0;
		bool may = true;

		for (int node = 0; node < (int)f.m.n_nodes; node++) {
			may &= !(bits >> node & 1) || np_may_run(&f.m, t, node);
			cpus += bits >> node & 1 ? f.node[node].cpus : 0;
		}
		if (may && cpus >= t->cores && (!best || __builtin_popcount(bits) < best))
			best = __builtin_popcount(bits);
	}
	return best;
}

static int allowed(const struct np_task *t)
{
	int n = 0;

	for (int node = 0; node < (int)f.m.n_nodes; node++)
		n += np_may_run(&f.m, t, node);
	return n;
}

/* A node, or the fewest nodes that have its CPUs, or nothing where that takes all it may use. */
static void check_task(size_t i)
{
	const struct np_task *t = &f.task[i];
	unsigned int cpus = 0, bits = nodes_of(i);
	int need = fewest(t);

	for (int node = 0; node < (int)f.m.n_nodes; node++) {
		cpus += bits >> node & 1 ? f.node[node].cpus : 0;
		CU_ASSERT_FATAL(!(bits >> node & 1) || np_may_run(&f.m, t, node));
	}
	CU_ASSERT_FATAL(!bits || f.decision[i].to == NP_NODE_NONE);
	CU_ASSERT_EQUAL_FATAL(bits != 0, need > 1 && need < allowed(t));
	if (bits) {
		CU_ASSERT_FATAL(cpus >= t->cores);
		CU_ASSERT_EQUAL_FATAL(__builtin_popcount(bits), need);
	}
}

static void random_tasks(uint8_t may[][MAX_NODES])
{
	fixture_machine(&f, 2 + below(MAX_NODES - 1), 1);
	for (size_t i = 0; i < f.m.n_nodes; i++) {
		f.node[i].cpus = (unsigned int)below(6);
		for (size_t j = 0; j < f.m.n_nodes; j++)
			f.distance[i * f.m.n_nodes + j] = i == j ? 10 : 11 + (int)below(40);
	}
	f.node[0].cpus = 3;
	for (size_t i = 0; i < 4; i++) {
		for (size_t node = 0; node < f.m.n_nodes; node++) {
			f.pages[i][node] = below(2) * below(1000);
			may[i][node] = below(4) ? NP_MAY_RUN | NP_MAY_HOLD : NP_MAY_HOLD;
		}
		fixture_task(&f, NP_NODE_NONE, 1 + (double)below(10) / 10, UNKNOWN);
		f.task[i].cores = 1 + (unsigned int)below(16);
		f.task[i].may = below(2) ? may[i] : NULL;
	}
}

TEST(a_set_is_the_smallest_that_fits)
{
	uint8_t may[4][MAX_NODES];
	size_t sets = 0;

	state = 11;
	for (int round = 0; round < 2000; round++) {
		random_tasks(may);
		plan("maximum-local", below(2) ? NULL : "pages=stay");
		for (size_t i = 0; i < f.n; i++) {
			check_task(i);
			sets += nodes_of(i) != 0;
		}
	}
	CU_ASSERT(sets > 500);
}
