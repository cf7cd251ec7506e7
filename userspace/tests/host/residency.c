// SPDX-License-Identifier: GPL-2.0-only
/* Lines of numa_maps and maps as kernels print them, and as they do not. */
#include "../../lib/host/numa_maps.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/host/vma_ranges.h"
#include "../fixture.h"

static struct np_mapping parsed(const char *line)
{
	static struct np_mapping map;

	CU_ASSERT_EQUAL(np_mapping_parse(line, 4096, &map), 0);
	return map;
}

TEST(anonymous_memory)
{
	struct np_mapping map = parsed("7f2000000000 bind:1 anon=5000 dirty=5000 active=0 N0=1000 "
				       "N1=4000 kernelpagesize_kB=4\n");

	CU_ASSERT_EQUAL(map.start, 0x7f2000000000);
	CU_ASSERT_STRING_EQUAL(map.policy, "bind:1");
	CU_ASSERT_EQUAL(map.pages[0], 1000);
	CU_ASSERT_EQUAL(map.pages[1], 4000);
	CU_ASSERT_EQUAL(map.total, 5000);
	CU_ASSERT_EQUAL(map.page_kib, 4);
	CU_ASSERT(np_mapping_anonymous(&map) && !map.file && !map.hugetlb);
}

TEST(files)
{
	struct np_mapping map = parsed("55d0 default file=/usr/bin/a\\040b mapped=9 mapmax=3 N12=9 "
				       "kernelpagesize_kB=4");

	CU_ASSERT(map.file && !np_mapping_anonymous(&map));
	CU_ASSERT_EQUAL(map.pages[12], 9);
	map = parsed("55d0 default file=/lib/x.so anon=2 dirty=2 N1=2 kernelpagesize_kB=4");
	CU_ASSERT(np_mapping_anonymous(&map));
	map = parsed(
		"55d0 default file=/lib/x.so anon=2 dirty=2 mapped=9 N1=9 kernelpagesize_kB=4");
	CU_ASSERT(!np_mapping_anonymous(&map));
}

TEST(huge_pages_count_in_base_pages)
{
	struct np_mapping map = parsed("7f00 default file=/anon_hugepage\\040(deleted) huge anon=4 "
				       "dirty=4 N0=1 N1=3 kernelpagesize_kB=2048\n");

	CU_ASSERT(map.hugetlb && np_mapping_anonymous(&map));
	CU_ASSERT_EQUAL(map.pages[0], 512);
	CU_ASSERT_EQUAL(map.pages[1], 3 * 512);
	CU_ASSERT_EQUAL(map.total, 4 * 512);
}

TEST(shared_memory)
{
	static const char *const shm[] = {
		"file=/dev/zero\\040(deleted) dirty=5",
		"file=/memfd:pc.ram\\040(deleted) dirty=5",
		"file=/SYSV00000000\\040(deleted) dirty=5",
		"file=/dev/shm/x dirty=5",
		"file=/anon_hugepage\\040(deleted) huge dirty=5",
		"file=/mnt/huge/x huge mapped=5",
	};
	static const char *const other[] = {
		"file=/usr/lib/x.so mapped=5",
		"file=/dev/shmx mapped=5",
		"heap anon=5 dirty=5",
		"file=/memfd:x\\040(deleted) anon=5 dirty=5",
	};
	struct np_mapping map;
	char line[128];

	for (size_t i = 0; i < sizeof(shm) / sizeof(shm[0]); i++) {
		snprintf(line, sizeof(line), "7f00 default %s N1=5 kernelpagesize_kB=4", shm[i]);
		map = parsed(line);
		CU_ASSERT(np_mapping_shm(&map) && np_mapping_memory(&map) &&
			  !np_mapping_anonymous(&map));
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		snprintf(line, sizeof(line), "7f00 default %s N1=5 kernelpagesize_kB=4", other[i]);
		map = parsed(line);
		CU_ASSERT(!np_mapping_shm(&map));
		CU_ASSERT_EQUAL(np_mapping_memory(&map), np_mapping_anonymous(&map));
	}
}

TEST(policies_and_empty_mappings)
{
	struct np_mapping map = parsed("7ffd00 prefer (many):0-1 stack anon=3 N1=3\n");

	CU_ASSERT_STRING_EQUAL(map.policy, "prefer (many):0-1");
	CU_ASSERT_EQUAL(map.total, 3);
	map = parsed("7ffd00 weighted interleave:0-1 anon=3 N1=3\n");
	CU_ASSERT_STRING_EQUAL(map.policy, "weighted interleave:0-1");
	CU_ASSERT_EQUAL(map.total, 3);
	map = parsed("7ffd00 interleave:0-1");
	CU_ASSERT_STRING_EQUAL(map.policy, "interleave:0-1");
	CU_ASSERT_EQUAL(map.total, 0);
	map = parsed("7f00 default heap N=3 N1 N1= N1=x Nx=1 anon= =4 N1=2\n");
	CU_ASSERT_EQUAL(map.total, 2);
}

TEST(malformed_lines)
{
	static const char *const bad[] = { "",
					   "\n",
					   "7f00",
					   "7f00 \n",
					   "xyz default",
					   "7f00x default",
					   "7f00 default N1024=1",
					   "7f00 default N99999999999=1" };
	struct np_mapping map;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_NOT_EQUAL(np_mapping_parse(bad[i], 4096, &map), 0);
}

TEST(lines_of_maps)
{
	static const char *const bad[] = { "",	       "7f00",	      "7f00-",	  "-7f00 r",
					   "7f00-x r", "7f00-6f00 r", "7f00-7f01" };
	uint64_t start, end;

	CU_ASSERT_EQUAL(np_vma_range_parse("7f00a000-7f00c000 rw-p 0 00:00 0 [heap]\n", &start,
					   &end),
			0);
	CU_ASSERT(start == 0x7f00a000 && end == 0x7f00c000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_NOT_EQUAL(np_vma_range_parse(bad[i], &start, &end), 0);
}
