// SPDX-License-Identifier: GPL-2.0-only
/* Tables and JSON, compared with what stands in golden/. */
#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/base/cpulist.h"
#include "plan_fixture.h"

static struct plan_fixture f;
static void check_golden(const char *name, const char *got)
{
	char path[256], *want = NULL;
	size_t size = 0;
	ssize_t n;
	FILE *f;

	snprintf(path, sizeof(path), "userspace/tests/plan/golden/%s", name);
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	n = getdelim(&want, &size, '\0', f);
	fclose(f);
	if (n < 0 || strcmp(want, got))
		printf("\n%s is not what was printed:\n%s", path, got);
	CU_ASSERT_FATAL(n >= 0);
	CU_ASSERT_STRING_EQUAL(got, want);
	free(want);
}

static json_t *golden_json(void)
{
	return json_load_file("userspace/tests/plan/golden/applied.json", 0, NULL);
}

/* Takes over both. */
static void check_same(json_t *got, json_t *want)
{
	bool same = json_equal(got, want);

	CU_ASSERT(same);
	if (!same)
		json_dumpf(got, stdout, JSON_INDENT(2));
	json_decref(got);
	json_decref(want);
}

/* What a plan has no more than what was made of it. */
static json_t *golden_plan(void)
{
	static const char *const added[] = { "engine", "skipped", "undone", "verified", "notes" };
	json_t *want = golden_json(), *one;
	size_t i;

	for (i = 0; i < sizeof(added) / sizeof(added[0]); i++)
		CU_ASSERT_EQUAL(json_object_del(want, added[i]), 0);
	json_array_foreach(json_object_get(want, "decisions"), i, one) {
		CU_ASSERT_EQUAL(json_object_del(one, "result"), 0);
		json_object_del(one, "error");
	}
	return want;
}

static void write_plan(struct plan_fixture *f)
{
	static uint8_t spread[] = { 1, 3 };
	static struct np_page_move move[] = { { 1, 0, 1, 750018 }, { 1, 0, 1, 249982 } };

	plan_fixture_init(f, 1000, 1000);
	f->node[1].id = 4;
	plan_fixture_add(f, 1234, 1, 0, 51200, 0);
	plan_fixture_add(f, 77, 0, 1, 1000000, 24);
	plan_fixture_add(f, 8, 0, 0, 0, 0);
	f->task[1].mpki = 31.4;
	f->task[1].mpki_source = NP_PROVENANCE_COUNTERS;
	f->decision[1].penalty = 2.1;
	f->decision[1].penalty_source = NP_PROVENANCE_MACHINE;
	f->decision[1].pages_to = NP_NODE_NONE;
	f->decision[1].spread = 0;
	for (int i = 0; i < 3; i++)
		f->decision[i].gain_source = i ? NP_PROVENANCE_MODEL : NP_PROVENANCE_PENALTY;
	f->p.plan.spread = spread;
	f->p.plan.n_spreads = 1;
	f->p.plan.move = memcpy(malloc(sizeof(move)), move, sizeof(move));
	f->p.plan.n_moves = 2;
	f->p.plan.throughput[0] = (struct np_known) { 1.5, NP_PROVENANCE_MODEL };
	f->p.plan.throughput[1] = (struct np_known) { 2.25, NP_PROVENANCE_MODEL };
	f->p.plan.fairness[0] = (struct np_known) { 0.4, NP_PROVENANCE_MODEL };
	f->p.plan.fairness[1] = (struct np_known) { 0.7, NP_PROVENANCE_MODEL };
	f->p.machine.model_origin = NP_MODEL_DERIVED;
	f->task[0].bandwidth = (struct np_known) { 9e9, NP_PROVENANCE_COUNTERS };
	f->decision[0].traffic = (struct np_known) { 8.5e9, NP_PROVENANCE_MODEL };
	f->decision[2].to = f->decision[2].from = f->decision[2].home = NP_NODE_NONE;
	f->decision[2].pages_to = NP_NODE_NONE;
}

TEST(plan_table_and_json)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	write_plan(&f);
	np_request_print(out, &f.p);
	fclose(out);
	check_golden("plan.txt", text);
	free(text);
	check_same(np_request_json(&f.p), golden_plan());
	memset(f.start, 0, sizeof(f.start));
	plan_fixture_free(&f);
}

/* The kernel cuts names at 15 bytes, in the middle of a character too. */
TEST(a_name_that_is_not_utf8_keeps_its_result)
{
	struct np_step step[3] = { { .mem_mode = -1 }, { .mem_mode = -1 }, { .mem_mode = -1 } };
	struct np_applied a = { .p = &f.p, .how.engine = &engine, .step = step };
	json_t *j, *decisions, *one;

	write_plan(&f);
	strcpy(f.task[0].comm, "cut in the \xc3");
	strcpy(f.decision[1].reason, "\xff of a plug-in");
	for (size_t i = 0; i < 3; i++) {
		step[i].state = NP_STEP_SKIPPED;
		np_fail(&step[i].err, 0, "\xc3 %d", f.task[i].pid);
	}
	np_fail(&a.note, 0, "\xc3");
	j = np_applied_json(&a);
	decisions = json_object_get(j, "decisions");
	CU_ASSERT_EQUAL(json_array_size(decisions), 3);
	for (size_t i = 0; i < 3; i++) {
		char error[32];

		one = json_array_get(decisions, i);
		snprintf(error, sizeof(error), "? %d", f.task[i].pid);
		CU_ASSERT_EQUAL(json_integer_value(json_object_get(one, "pid")), f.task[i].pid);
		CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(one, "error")) ?: "",
				       error);
	}
	CU_ASSERT_EQUAL(json_array_size(json_object_get(j, "notes")), 1);
	json_decref(j);
	memset(f.start, 0, sizeof(f.start));
	plan_fixture_free(&f);
}

TEST(applied_table_and_json)
{
	struct np_step step[3] = { { .mem_mode = -1 },
				   { .mem_mode = MPOL_PREFERRED },
				   { .mem_mode = -1 } };
	struct np_applied a = { .p = &f.p, .how.engine = &engine, .step = step, .skipped = 1 };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	write_plan(&f);
	step[0].state = NP_STEP_SKIPPED;
	np_fail(&step[0].err, 0, "process 1234 (sleeper) has exited");
	step[1].state = NP_STEP_DONE;
	step[1].cpus = f.cpus[0];
	step[1].mem_nodes = numa_bitmask_alloc(NP_MAX_NODES);
	numa_bitmask_setbit(step[1].mem_nodes, 4);
	step[1].migrated = true;
	step[1].moved = (struct np_migrate_result) {
		.asked = 1000024,
		.moved = 999997,
		.already = 24,
		.busy = 3,
		.bytes = 999997ULL * 4096,
		.ns = 4200000000,
		.engine = "notes",
	};
	np_fail(&a.note, 0, "A note.");
	np_applied_print(out, &a);
	fclose(out);
	check_golden("applied.txt", text);
	free(text);
	check_same(np_applied_json(&a), golden_json());
	numa_bitmask_free(step[1].mem_nodes);
	memset(f.start, 0, sizeof(f.start));
	plan_fixture_free(&f);
}
