// SPDX-License-Identifier: GPL-2.0-only
/* CPUs from before a placement by the module, read from a copy of its table. */
#include "../../lib/undo/placements.h"

#include "../../lib/base/cpulist.h"
#include "../../lib/host/module_files.h"
#include "../fixture.h"

static struct bitmask *cpus(const char *list)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	CU_ASSERT_EQUAL(np_list_parse_kernel(list, mask), 0);
	return mask;
}

static bool becomes_saved(const struct np_placements *p, pid_t tid, const char *has,
			  const char *then)
{
	struct bitmask *now = cpus(has), *wanted = cpus(then);
	bool placed = np_placements_to_saved(p, tid, now);

	CU_ASSERT(numa_bitmask_equal(now, wanted));
	numa_bitmask_free(now);
	numa_bitmask_free(wanted);
	return placed;
}

TEST(cpus_of_a_placement_become_those_before_it)
{
	struct np_placements p = { 0 };

	np_module_use_dir(fixture_begin());
	fixture_write(
		"placements",
		"tid=31 pid=30 comm=b cpus=4-5 saved_cpus=6 mem=- saved_mem=- inherit=1\n"
		"tid=30 pid=30 comm=a cpus=0,2 saved_cpus=0-3 mem=bind:1 saved_mem=default inherit=1\n"
		"tid=7 pid=7 comm=c cpus=- saved_cpus=- mem=bind:0 saved_mem=default inherit=1\n");
	CU_ASSERT_EQUAL(np_placements_read(&p), 0);
	CU_ASSERT_EQUAL(p.n, 3);
	CU_ASSERT(becomes_saved(&p, 30, "0,2", "0-3"));
	CU_ASSERT(becomes_saved(&p, 31, "4-5", "6"));
	CU_ASSERT_FALSE(becomes_saved(&p, 30, "0-1", "0-1")); /* changed by another program since */
	CU_ASSERT_FALSE(becomes_saved(&p, 7, "0,2", "0,2"));  /* its CPUs are not the module's */
	CU_ASSERT_FALSE(becomes_saved(&p, 8, "0,2", "0,2"));
	fixture_write("placements", "");
	CU_ASSERT_EQUAL(np_placements_read(&p), 0);
	CU_ASSERT_FALSE(becomes_saved(&p, 30, "0,2", "0,2"));
	np_placements_free(&p);
	np_module_use_dir(NULL);
	fixture_end();
}
