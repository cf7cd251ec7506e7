// SPDX-License-Identifier: GPL-2.0-only
/* The order in which a plan is carried out, and how it is taken back. */
#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/host/mempolicy.h"
#include "../../lib/host/reclaimable.h"
#include "../../lib/plan/saved_pages.h"
#include "plan_fixture.h"

static struct plan_fixture f;
static volatile sig_atomic_t stop;
static struct np_applied applied;
static struct np_err err;

static int apply(struct plan_fixture *f)
{
	const struct np_apply_how how = { .engine = &engine, .stop = &stop };

	plan_fixture_order(f);
	return np_apply(&applied, &f->p, &how, &err);
}

static void finish(struct plan_fixture *f)
{
	np_applied_free(&applied);
	plan_fixture_free(f);
}

TEST(places_all_then_moves)
{
	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 1, 0, 10, 500);
	plan_fixture_start(&f, 0, 1, 600, 0);
	engine_reset(&f, 0, 0, true);
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_STRING_EQUAL(engine_notes, "place 0 cpus=0-1 mem=0; place 1 cpus=2-3 mem=1; "
					     "move 0 to=0; move 1 to=1; ");
	CU_ASSERT_EQUAL(engine_followed, 1);
	CU_ASSERT_EQUAL(applied.step[0].moved.moved, 500);
	CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_DONE);
	CU_ASSERT_EQUAL(applied.step[0].mem_mode, MPOL_PREFERRED);
	finish(&f);
}

/* Neither fits whole: they change places part by part. */
TEST(exchanges_in_parts)
{
	plan_fixture_init(&f, 300, 300);
	plan_fixture_start(&f, 1, 0, 0, 1000);
	plan_fixture_start(&f, 0, 1, 1000, 0);
	engine_reset(&f, 0, 0, true);
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, "move 0 part to=0; "));
	CU_ASSERT_FALSE(engine_overfilled);
	CU_ASSERT(applied.step[0].moved.moved >= 900);
	CU_ASSERT(applied.step[1].moved.moved >= 900);
	finish(&f);
}

/* The plan's order, and not another that would do as well, is what the engine sees. */
TEST(follows_the_order_of_the_plan)
{
	const struct np_apply_how how = { .engine = &engine, .stop = &stop };
	struct np_page_move first;

	plan_fixture_init(&f, 5000, 5000);
	plan_fixture_start(&f, 1, 0, 0, 400);
	plan_fixture_start(&f, 0, 1, 500, 0);
	plan_fixture_order(&f);
	first = f.p.plan.move[0];
	f.p.plan.move[0] = f.p.plan.move[1];
	f.p.plan.move[1] = first;
	engine_reset(&f, 0, 0, false);
	CU_ASSERT_EQUAL(np_apply(&applied, &f.p, &how, &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, first.task ? "move 0 to=0; move 1 to=1; " :
								 "move 1 to=1; move 0 to=0; "));
	finish(&f);
}

/* The task that was to make room has exited: pages without room stay, and are reported. */
TEST(never_overfills_when_a_task_is_gone)
{
	plan_fixture_init(&f, 100, 1000);
	plan_fixture_start(&f, 1, 0, 0, 400);
	plan_fixture_start(&f, 0, 1, 500, 0);
	plan_fixture_kill(&f, 1);
	engine_reset(&f, 0, 0, true);
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_FALSE(engine_overfilled);
	CU_ASSERT_EQUAL(applied.step[0].moved.moved, 100);
	CU_ASSERT_STRING_EQUAL(applied.note.text,
			       "300 pages stayed: earlier steps left no room for them");
	finish(&f);
}

/* A plan for part of the pages moves no more than that part. */
TEST(moves_no_more_than_planned)
{
	plan_fixture_init(&f, 5000, 5000);
	plan_fixture_start(&f, 1, 0, 0, 1000);
	engine_reset(&f, 0, 0, true);
	f.decision[0].pages_to_move = 400;
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_STRING_EQUAL(strstr(engine_notes, "move "), "move 0 part to=0; ");
	CU_ASSERT_EQUAL(applied.step[0].moved.moved, 400);
	finish(&f);
}

static void spread_as(struct plan_fixture *f, size_t i, uint8_t w0, uint8_t w1)
{
	static uint8_t spread[MAX_TASKS * 2];
	struct np_decision *d = &f->decision[i];
	uint64_t *after = f->after, all = f->pages[i][0] + f->pages[i][1];

	f->p.plan.spread = spread;
	f->p.plan.n_spreads = MAX_TASKS;
	spread[2 * i] = w0;
	spread[2 * i + 1] = w1;
	after[2 * i] = all * w0 / (w0 + w1);
	after[2 * i + 1] = all - after[2 * i];
	d->to = d->pages_to = NP_NODE_NONE;
	d->spread = (int)i;
	d->pages_to_move = after[2 * i] > f->pages[i][0] ? after[2 * i] - f->pages[i][0] :
							   after[2 * i + 1] - f->pages[i][1];
}

TEST(spreads_by_share_and_sets_the_policy)
{
	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 1, 0, 0, 400);
	plan_fixture_start(&f, 0, 1, 800, 0);
	spread_as(&f, 0, 1, 1);
	spread_as(&f, 1, 3, 1);
	engine_reset(&f, 0, 0, true);
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_STRING_EQUAL(engine_notes, "place 0 cpus=- mem=0-1; place 1 cpus=- mem=0-1; "
					     "spread 0 0.50 0.50; spread 1 0.75 0.25; ");
	CU_ASSERT_EQUAL(engine_spread_nodes, 2);
	CU_ASSERT_EQUAL(applied.step[0].mem_mode, MPOL_INTERLEAVE);
	CU_ASSERT_EQUAL(applied.step[1].mem_mode, NP_MPOL_WEIGHTED_INTERLEAVE);
	CU_ASSERT_EQUAL(applied.step[1].moved.moved, 200);
	finish(&f);
}

/* A task of one node's CPUs that is to have those of both gets them; one that has both is left. */
TEST(several_nodes_widen_and_stay)
{
	uint8_t both[2] = { 1, 1 };

	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 0, 0, 400, 0);
	f.p.plan.spread = both;
	f.p.plan.n_spreads = 1;
	f.decision[0].to = f.decision[0].pages_to = NP_NODE_NONE;
	f.decision[0].nodes = 0;
	f.decision[0].pages_to_move = 0;
	f.decision[0].mem = NP_MEM_LEAVE;
	engine_reset(&f, 0, 0, true);
	CU_ASSERT_TRUE(np_decision_acts(&f.p, 0));
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_STRING_EQUAL(engine_notes, "place 0 cpus=0-3 mem=-; ");
	numa_bitmask_setbit(f.cpus[0], 3);
	CU_ASSERT_FALSE(np_decision_acts(&f.p, 0));
	both[1] = 0;
	CU_ASSERT_TRUE(np_decision_acts(&f.p, 0));
	f.p.plan.spread = NULL;
	finish(&f);
}

/* Pages to be spread wait for the room that another task makes. */
TEST(a_spread_waits_for_room)
{
	plan_fixture_init(&f, 100, 1000);
	plan_fixture_start(&f, 1, 0, 0, 800);
	plan_fixture_start(&f, 0, 1, 500, 0);
	spread_as(&f, 0, 1, 1);
	engine_reset(&f, 0, 0, false);
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_STRING_EQUAL(engine_notes,
			       "place 1 cpus=2-3 mem=-; move 1 to=1; spread 0 0.50 0.50; ");
	CU_ASSERT_FALSE(engine_overfilled);
	finish(&f);
}

TEST(leaves_alone_what_is_right)
{
	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 0, 0, 500, 0);
	plan_fixture_start(&f, 1, 0, 500, 0);
	f.decision[1].to = f.decision[1].pages_to = NP_NODE_NONE;
	engine_reset(&f, 0, 0, true);
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_STRING_EQUAL(engine_notes, "");
	CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_NOTHING);
	finish(&f);
}

TEST(says_when_no_memory_policy_can_be_set)
{
	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 1, 0, 500, 0);
	plan_fixture_start(&f, 0, 0, 500, 20);
	engine_reset(&f, 0, 0, false);
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_STRING_EQUAL(engine_notes, "place 0 cpus=0-1 mem=-; move 1 to=0; ");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(applied.note.text, "cannot set a running task's memory policy"));
	CU_ASSERT_EQUAL(applied.step[0].mem_mode, -1);
	finish(&f);
}

TEST(failed_placement_is_rolled_back)
{
	plan_fixture_init(&f, 1000, 1000);
	for (int i = 0; i < 3; i++)
		plan_fixture_start(&f, 1, 0, 0, 100);
	plan_fixture_own_cpus(&f);
	for (int i = 0; i < 3; i++)
		f.decision[i].to = f.decision[i].pages_to = 1, f.decision[i].pages_to_move = 0;
	engine_reset(&f, 3, -EINVAL, true);
	CU_ASSERT_EQUAL(apply(&f), -EINVAL);
	CU_ASSERT_STRING_EQUAL(err.text, "told to fail");
	CU_ASSERT_PTR_NULL(strstr(engine_notes, "move"));
	CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, "place 2 cpus=2-3 mem=1; undo 0 1; "));
	CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_UNDONE);
	CU_ASSERT_EQUAL(applied.step[2].state, NP_STEP_FAILED);
	CU_ASSERT_TRUE(applied.undone);
	finish(&f);
}

TEST(failed_move_is_rolled_back)
{
	plan_fixture_init(&f, 100000, 100000);
	/* The sleepers are on node 0 in truth, as if they had been moved there. */
	plan_fixture_start(&f, 1, 0, 0, 20000);
	plan_fixture_start(&f, 1, 0, 0, 10000);
	engine_reset(&f, 4, -EIO, true);
	CU_ASSERT_EQUAL(apply(&f), -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, "move 0 to=0; move 1 to=0; "));
	CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, "move 0 to=1; undo 0 1; "));
	CU_ASSERT_EQUAL(applied.step[1].state, NP_STEP_FAILED);
	CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_UNDONE);
	finish(&f);
}

static bool every(size_t i, const void *arg)
{
	return true;
}

/* Whether `restore --pages` still knows where those of the first task were; not from then on. */
static bool pages_are_noted(struct plan_fixture *f)
{
	bool added[MAX_TASKS] = { false }, first[MAX_TASKS] = { true };

	CU_ASSERT_EQUAL(np_saved_pages_add(&f->p.machine, &f->p.tasks, every, NULL, added, &err),
			0);
	CU_ASSERT_EQUAL(np_saved_pages_drop(&f->p.tasks, first, &err), 0);
	return !added[0];
}

/*
 * The first step moves pages, the second fails: the pages that then cannot go back keep their
 * record.
 */
TEST(pages_that_cannot_go_back_stay_noted)
{
	const struct np_apply_how how = { .engine = &engine, .stop = &stop, .note_pages = true };
	char folder[] = "/tmp/numaplace-apply-XXXXXX", line[64];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	for (int fails_on = 0; fails_on < 2; fails_on++) {
		plan_fixture_init(&f, 300, 300);
		plan_fixture_start(&f, 1, 0, 0, 1000);
		plan_fixture_start(&f, 0, 1, 1000, 0);
		plan_fixture_order(&f);
		engine_reset(&f, 5, -EBUSY, true);
		engine_keeps_failing = fails_on;
		CU_ASSERT_EQUAL(np_apply(&applied, &f.p, &how, &err), -EBUSY);
		CU_ASSERT(applied.step[0].moved.moved > 0 &&
			  applied.step[0].state == NP_STEP_FAILED);
		CU_ASSERT_EQUAL(strstr(applied.not_undone.text, ": pages not moved back") != NULL,
				fails_on);
		CU_ASSERT_EQUAL(pages_are_noted(&f), fails_on);
		finish(&f);
	}
	snprintf(line, sizeof(line), "rm -r %s", folder);
	CU_ASSERT_EQUAL(system(line), 0);
}

/* An earlier placement is what the rollback goes back to, and it stays whose this one was. */
TEST(rollback_keeps_an_earlier_placement)
{
	const struct np_apply_how how = { .engine = &engine, .stop = &stop, .by = "test" };

	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 1, 0, 0, 500);
	numa_bitmask_setbit(f.cpus[0], 200); /* never what the sleeper itself may use */
	plan_fixture_order(&f);
	engine_reset(&f, 2, -EINVAL, true);
	CU_ASSERT_EQUAL(np_apply(&applied, &f.p, &how, &err), -EINVAL);
	CU_ASSERT_STRING_EQUAL(engine_notes, "place 0 cpus=0-1 mem=0 by=test; move 0 to=0; undo 0; "
					     "place 0 cpus=2-3,200 mem=- by=test; ");
	finish(&f);
}

/* A placing that fails leaves what was there: nothing is to be taken back. */
TEST(a_first_placement_that_fails_is_left)
{
	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 1, 0, 500, 0);
	engine_reset(&f, 1, -EINVAL, true);
	CU_ASSERT_EQUAL(apply(&f), -EINVAL);
	CU_ASSERT_STRING_EQUAL(engine_notes, "place 0 cpus=0-1 mem=0; ");
	finish(&f);
}

TEST(exited_and_reused_pids_are_skipped)
{
	plan_fixture_init(&f, 1000, 1000);
	for (int i = 0; i < 3; i++)
		plan_fixture_start(&f, 1, 0, 500, 0);
	plan_fixture_kill(&f, 0);
	f.start[1]++;
	engine_reset(&f, 0, 0, true);
	CU_ASSERT_EQUAL(apply(&f), 0);
	CU_ASSERT_STRING_EQUAL(engine_notes, "place 2 cpus=0-1 mem=0; ");
	CU_ASSERT_EQUAL(applied.skipped, 2);
	CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_SKIPPED);
	CU_ASSERT_EQUAL(applied.step[1].state, NP_STEP_SKIPPED);
	CU_ASSERT_PTR_NOT_NULL(strstr(applied.step[0].err.text, "(sleeper) has exited"));
	f.start[1]--;
	finish(&f);
}

TEST(exits_while_it_is_placed_or_moved)
{
	for (unsigned int at = 1; at <= 3; at += 2) {
		plan_fixture_init(&f, 1000, 1000);
		plan_fixture_start(&f, 0, 1, 500, 0);
		plan_fixture_start(&f, 0, 1, 400, 0);
		engine_reset(&f, at, -ESRCH, true);
		CU_ASSERT_EQUAL(apply(&f), 0);
		CU_ASSERT_EQUAL(applied.skipped, 1);
		CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_SKIPPED);
		CU_ASSERT_EQUAL(applied.step[1].state, NP_STEP_DONE);
		CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, "move 1 to=1; "));
		finish(&f);
	}
}

TEST(interrupt_before_the_first_task_has_nothing_to_undo)
{
	plan_fixture_init(&f, 1000, 1000);
	plan_fixture_start(&f, 0, 1, 500, 0);
	engine_reset(&f, 0, 0, true);
	stop = 1;
	CU_ASSERT_EQUAL(apply(&f), -EINTR);
	stop = 0;
	CU_ASSERT_STRING_EQUAL(engine_notes, "");
	CU_ASSERT_FALSE(applied.undone);
	finish(&f);
}

TEST(clean_file_cache_counts_as_room)
{
	static const char meminfo[] = "Node 0 MemFree:            1000 kB\n"
				      "Node 0 Active:             9000 kB\n"
				      "Node 0 Active(file):        300 kB\n"
				      "Node 0 Inactive(file):      500 kB\n"
				      "Node 0 Dirty:                60 kB\n"
				      "Node 0 Writeback:            40 kB\n"
				      "Node 0 WritebackTmp:        999 kB\n";

	CU_ASSERT_EQUAL(np_reclaimable_cache(meminfo), 700 * 1024);
	CU_ASSERT_EQUAL(np_reclaimable_cache("Node 0 Inactive(file): 1 kB\nNode 0 Dirty: 2 kB\n"),
			0);
	CU_ASSERT_EQUAL(np_reclaimable_cache(""), 0);
}

static int memory_of_an_earlier_placement(pid_t pid, int *mode, struct bitmask **nodes)
{
	*mode = MPOL_INTERLEAVE;
	*nodes = numa_bitmask_alloc(NP_MAX_NODES);
	numa_bitmask_setbit(*nodes, 0);
	numa_bitmask_setbit(*nodes, 1);
	return 0;
}

/* The module's undo ends every placement: the memory policy of an earlier one is given back. */
TEST(rollback_of_cpus_keeps_an_earlier_memory_policy)
{
	struct np_engine_ops module = engine;
	const struct np_apply_how how = { .engine = &module, .stop = &stop };

	module.memory = memory_of_an_earlier_placement;
	plan_fixture_init(&f, 1000, 1000);
	for (int i = 0; i < 2; i++) {
		plan_fixture_start(&f, 1, 0, 0, 500);
		f.decision[i].pages_to = NP_NODE_NONE;
		f.decision[i].pages_to_move = 0;
	}
	plan_fixture_own_cpus(&f);
	f.cpus[0]->maskp[0] |= 0xc;
	f.cpus[1]->maskp[0] |= 0xc;
	plan_fixture_order(&f);
	engine_reset(&f, 2, -EBUSY, true);
	CU_ASSERT_EQUAL(np_apply(&applied, &f.p, &how, &err), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, "undo 0; place 0 cpus="));
	CU_ASSERT_PTR_NOT_NULL(strstr(engine_notes, " mem=0-1; "));
	finish(&f);
}
