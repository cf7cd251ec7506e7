// SPDX-License-Identifier: GPL-2.0-only
/* Choosing an engine. */
#include "../../lib/engine/engine.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/engine/engines.h"
#include "../../lib/host/module_files.h"
#include "../fixture.h"

TEST(engines_by_name)
{
	enum np_engine engine;

	CU_ASSERT(!np_engine_parse("auto", &engine) && engine == NP_ENGINE_AUTO);
	CU_ASSERT(!np_engine_parse("module", &engine) && engine == NP_ENGINE_MODULE);
	CU_ASSERT(!np_engine_parse("syscall", &engine) && engine == NP_ENGINE_SYSCALL);
	CU_ASSERT_EQUAL(np_engine_parse("", &engine), -EINVAL);
	CU_ASSERT_EQUAL(np_engine_parse("fake", &engine), -EINVAL);
	CU_ASSERT_EQUAL(np_engine_parse("Module", &engine), -EINVAL);
}

static uint64_t sum_of_counts(const struct np_migrate_result *r)
{
	uint64_t sum = 0;

#define X(name) sum += r->name;
	NUMAPLACE_COUNTS(X)
#undef X
	return sum;
}

TEST(merging_keeps_the_sum)
{
	struct np_migrate_result out = { .asked = 1100,
					 .moved = 50,
					 .shared = 30,
					 .thp_split = 600,
					 .no_huge = 400,
					 .busy = 20,
					 .bytes = 1,
					 .ns = 5,
					 .engine = "module" };
	struct np_migrate_result rest = {
		.asked = 1050, .moved = 1010, .shared = 30, .busy = 10, .ns = 7
	};

	np_migrate_merge(&out, &rest);
	CU_ASSERT_EQUAL(sum_of_counts(&out), out.asked);
	CU_ASSERT_EQUAL(out.moved, 1060);
	CU_ASSERT(!out.thp_split && !out.no_huge);
	CU_ASSERT_EQUAL(out.busy, 10);
	CU_ASSERT_EQUAL(out.shared, 30);
	CU_ASSERT_EQUAL(out.bytes, 1 + 1010 * (uint64_t)sysconf(_SC_PAGESIZE));
	CU_ASSERT_EQUAL(out.ns, 12);
	CU_ASSERT_STRING_EQUAL(out.engine, "module+syscall");
	rest = (struct np_migrate_result) { .asked = 40, .moved = 30, .busy = 10 };
	np_migrate_merge(&out, &rest);
	CU_ASSERT_EQUAL(sum_of_counts(&out), out.asked);
	CU_ASSERT_EQUAL(out.shared, 0);
	CU_ASSERT_EQUAL(out.busy, 10);
}

TEST(the_syscall_engine_says_what_it_cannot)
{
	struct np_place_request place = { .pid = getpid(), .mem_mode = 0 };
	struct np_err err;
	const struct np_engine_ops *c = np_engine_get(NP_ENGINE_SYSCALL, &err);

	CU_ASSERT_PTR_NOT_NULL_FATAL(c);
	CU_ASSERT_EQUAL(c->place(&place, &err), -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "and the numaplace module is not loaded"));
	place.mem_mode = -1;
	place.inherit = true;
	CU_ASSERT_EQUAL(c->place(&place, &err), -EINVAL);
}

/* With files of another ABI in the module's place: module says so, auto goes on without. */
TEST(auto_passes_by_another_abi)
{
	struct np_err err;

	np_module_use_dir(fixture_begin());
	fixture_write("version", "numaplace=9 abi=9\n");
	CU_ASSERT_PTR_EQUAL(np_engine_get(NP_ENGINE_AUTO, &err), &np_engine_syscall);
	CU_ASSERT_PTR_NULL(np_engine_get(NP_ENGINE_MODULE, &err));
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "has ABI 9, this tool needs 2"));
	fixture_write("version", "something else\n");
	CU_ASSERT_PTR_NULL(np_engine_get(NP_ENGINE_MODULE, &err));
	fixture_write("version", "numaplace=0.1.0 abi=2\n");
	CU_ASSERT_PTR_EQUAL(np_engine_get(NP_ENGINE_AUTO, &err), &np_engine_auto);
	CU_ASSERT_PTR_EQUAL(np_engine_get(NP_ENGINE_MODULE, &err), &np_engine_module);
	np_module_use_dir(NULL);
	fixture_end();
}
