// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of the kernel's weights when a plan is carried out, in a folder that stands for
 * sysfs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/host/interleave_weights.h"
#include "../../lib/host/mempolicy.h"
#include "plan_fixture.h"

static volatile sig_atomic_t stop;
static struct np_applied applied;
static char root[64];
static struct np_err err;
static int mode_before = -1; /* of memory, by an earlier placement */

static int memory(pid_t pid, int *mode, struct bitmask **nodes)
{
	(void)pid;
	*mode = mode_before;
	*nodes = NULL;
	return 0;
}

static int shell(const char *format)
{
	char line[256];

	snprintf(line, sizeof(line), format, root);
	return system(line);
}

/* The kernel's are even, those of n tasks on node 0 are 3 to 1. */
static void begin(struct plan_fixture *f, size_t n)
{
	static const uint8_t weight[] = { 3, 1 };

	snprintf(root, sizeof(root), "/tmp/numaplace-weights-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
	CU_ASSERT_EQUAL_FATAL(shell("f=%s/sys/kernel/mm/mempolicy/weighted_interleave; mkdir -p $f && "
				    "echo 1 >$f/node0 && echo 1 >$f/node1"),
			      0);
	mode_before = -1;
	plan_fixture_init(f, 1000, 1000);
	for (size_t i = 0; i < n; i++) {
		plan_fixture_start(f, 0, 0, 400, 0);
		f->decision[i].to = f->decision[i].pages_to = NP_NODE_NONE;
		f->decision[i].spread = np_plan_spread(&f->p.plan, 2, weight);
		f->decision[i].pages_to_move = 100;
	}
}

static int apply(struct plan_fixture *f, unsigned int fail_at)
{
	struct np_engine_ops ops = engine;
	const struct np_apply_how how = {
		.engine = &ops, .stop = &stop, .root = root, .write_weights = true
	};

	ops.memory = memory;
	plan_fixture_order(f);
	engine_reset(f, fail_at, fail_at ? -EIO : 0, true);
	return np_apply(&applied, &f->p, &how, &err);
}

static void end(struct plan_fixture *f)
{
	np_applied_free(&applied);
	free(f->p.plan.spread);
	plan_fixture_free(f);
	CU_ASSERT_EQUAL(shell("rm -r %s"), 0);
}

static const char *kernel(void)
{
	static char text[64];
	json_t *now = np_weights_kernel_read(root);

	np_weights_list(now, text, sizeof(text));
	json_decref(now);
	return text;
}

static void writes_what_the_plan_spreads_by(void)
{
	struct plan_fixture f;

	begin(&f, 2);
	CU_ASSERT_EQUAL(apply(&f, 0), 0);
	CU_ASSERT_STRING_EQUAL(kernel(), "0:3 1:1");
	CU_ASSERT_STRING_EQUAL(
		applied.weights,
		"the kernel's weights for interleaving are 0:3 1:1 now, were "
		"0:1 1:1, for every task of this machine; the last restore brings those back");
	end(&f);
}

static void a_failed_step_gives_them_back(void)
{
	struct plan_fixture f;

	begin(&f, 1);
	CU_ASSERT_EQUAL(apply(&f, 1), -EIO);
	CU_ASSERT_STRING_EQUAL(engine_notes, "place 0 cpus=- mem=0-1; ");
	CU_ASSERT_STRING_EQUAL(kernel(), "0:1 1:1");
	CU_ASSERT_STRING_EQUAL(applied.weights, "");
	end(&f);
}

static void two_proportions_are_refused(void)
{
	struct plan_fixture f;
	static const uint8_t other[] = { 1, 3 };

	begin(&f, 2);
	f.decision[1].spread = np_plan_spread(&f.p.plan, 2, other);
	CU_ASSERT_EQUAL(apply(&f, 0), -EBUSY);
	CU_ASSERT_STRING_EQUAL(engine_notes, "");
	CU_ASSERT_EQUAL(applied.step[1].state, NP_STEP_FAILED);
	CU_ASSERT_EQUAL(applied.step[0].state, NP_STEP_NOTHING);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(err.text, "is to go by weights 0:1 1:3, others of the plan by 0:3 1:1,"));
	CU_ASSERT_STRING_EQUAL(kernel(), "0:1 1:1");
	end(&f);
}

/* Pages that are spread already move no more, but pages to come go by the weights. */
static void an_earlier_placement_counts(void)
{
	struct plan_fixture f;

	begin(&f, 1);
	f.decision[0].pages_to_move = 0;
	CU_ASSERT_EQUAL(apply(&f, 0), 0);
	CU_ASSERT_STRING_EQUAL(kernel(), "0:1 1:1");
	np_applied_free(&applied);
	mode_before = NP_MPOL_WEIGHTED_INTERLEAVE;
	CU_ASSERT_EQUAL(apply(&f, 0), 0);
	CU_ASSERT_STRING_EQUAL(kernel(), "0:3 1:1");
	end(&f);
}

static CU_TestInfo weights_tests[] = {
	{ "writes what the plan spreads by", writes_what_the_plan_spreads_by },
	{ "a failed step gives them back", a_failed_step_gives_them_back },
	{ "two proportions are refused", two_proportions_are_refused },
	{ "an earlier placement counts", an_earlier_placement_counts },
	CU_TEST_INFO_NULL,
};

TEST_SUITE("apply_weights", weights_tests);
