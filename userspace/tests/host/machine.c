// SPDX-License-Identifier: GPL-2.0-only
/* Machines read from copies of sysfs. */
#include "../../lib/host/topology.h"

#include <stdio.h>
#include <string.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/base/error.h"
#include "../../lib/engine/node_args.h"
#include "../../lib/host/caches.h"
#include "../../lib/plan/request.h"
#include "../fixture.h"

#define NODE "sys/devices/system/node/"

static void write_node(int id, const char *cpus, unsigned int mib, const char *distances)
{
	char path[128], text[256];

	snprintf(path, sizeof(path), NODE "node%d/cpulist", id);
	fixture_write(path, cpus);
	snprintf(path, sizeof(path), NODE "node%d/distance", id);
	fixture_write(path, distances);
	snprintf(path, sizeof(path), NODE "node%d/meminfo", id);
	snprintf(text, sizeof(text), "Node %d MemTotal:       %u kB\nNode %d MemFree:  %u kB\n", id,
		 mib * 1024, id, mib * 512);
	fixture_write(path, text);
}

/* Node 0: CPUs and memory; 2: CPUs only; 5: memory only. Asymmetric distances. */
static const char *write_odd_machine(void)
{
	const char *root = fixture_begin();

	fixture_write(NODE "online", "0,2,5\n");
	fixture_write(NODE "has_memory", "0,5\n");
	write_node(0, "0-1,6\n", 1024, "10 20 31\n");
	write_node(2, "4\n", 0, "21 10 30\n");
	write_node(5, "\n", 512, "17 28 10\n");
	fixture_write(NODE "node5/access0/initiators/read_bandwidth", "25600\n");
	fixture_write(NODE "node5/access0/initiators/read_latency", "250\n");
	fixture_write("proc/cmdline", "root=/dev/vda numaplace_lab=odd,functional quiet\n");
	return root;
}

TEST(reads_sparse_memoryless_cpuless_asymmetric)
{
	static const int distance[] = { 10, 20, 31, 21, 10, 30, 17, 28, 10 };
	struct np_machine m;
	struct np_err err;

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, write_odd_machine(), &err), 0);
	CU_ASSERT_EQUAL(m.n_nodes, 3);
	CU_ASSERT_EQUAL(m.node[1].id, 2);
	CU_ASSERT_EQUAL(m.node[2].id, 5);
	CU_ASSERT_EQUAL(m.node[0].cpus, 3);
	CU_ASSERT_EQUAL(m.node[1].cpus, 1);
	CU_ASSERT_EQUAL(m.node[2].cpus, 0);
	CU_ASSERT(m.node[0].has_memory && !m.node[1].has_memory && m.node[2].has_memory);
	CU_ASSERT_EQUAL(m.node[2].mem_total, 512ull << 20);
	CU_ASSERT_EQUAL(m.node[2].mem_free, 256ull << 20);
	CU_ASSERT_EQUAL(memcmp(m.distance, distance, sizeof(distance)), 0);
	CU_ASSERT(m.node[2].bandwidth == 25.6e9 && m.node[2].latency_ns == 250);
	CU_ASSERT(m.node[0].bandwidth == 0 && m.node[0].latency_ns == 0);
	CU_ASSERT_EQUAL(m.n_cpus, 7);
	CU_ASSERT_EQUAL(m.cpu_node[4], 1);
	CU_ASSERT_EQUAL(m.cpu_node[5], NP_NODE_NONE);
	CU_ASSERT_EQUAL(m.cpu_node[6], 0);
	CU_ASSERT_STRING_EQUAL(m.name, "odd");
	CU_ASSERT_EQUAL(np_machine_node_index(&m, 5), 2);
	CU_ASSERT_EQUAL(np_machine_node_index(&m, 1), NP_NODE_NONE);
	np_machine_free(&m);
	fixture_end();
}

/* numa=fake=4 on two nodes: the kernel lists a CPU in each emulated node of its own. */
TEST(nodes_that_share_cpus_have_them)
{
	static const char *const lists[] = { "0-1\n", "2-3\n", "0-1\n", "2-3\n" };
	const char *root = fixture_begin();
	struct np_machine m;
	struct np_err err;

	fixture_write(NODE "online", "0-3\n");
	for (int id = 0; id < 4; id++)
		write_node(id, lists[id], 256, "10 20 10 20\n");
	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, root, &err), 0);
	CU_ASSERT_EQUAL(m.cpu_node[0], 0);
	CU_ASSERT_EQUAL(m.cpu_node[3], 1);
	for (int i = 0; i < 4; i++) {
		struct bitmask *cpus = np_machine_cpus_of_node(&m, i);
		char text[NP_LIST_LEN];

		CU_ASSERT_EQUAL(m.node[i].cpus, 2);
		CU_ASSERT_STRING_EQUAL(np_list_format(cpus, text, sizeof(text)),
				       i % 2 ? "2-3" : "0-1");
		numa_bitmask_free(cpus);
	}
	CU_ASSERT_EQUAL(np_request_check_nodes(&m, &err), -EOPNOTSUPP);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "nodes 0 and 2 have the same CPUs"));
	np_machine_free(&m);
	fixture_end();
}

/* Firmware without a table gives 0. */
TEST(one_node_needs_no_distance)
{
	const char *root = fixture_begin();
	struct np_machine m;
	struct np_err err;

	fixture_write(NODE "online", "0\n");
	write_node(0, "0-3\n", 256, "0\n");
	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, root, &err), 0);
	CU_ASSERT_EQUAL(m.distance[0], 10);
	np_machine_free(&m);
	fixture_end();
}

TEST(finds_the_node_of_cpus)
{
	static const struct {
		const char *cpus;
		int node;
	} cases[] = { { "0-1", 0 },	    { "4", 1 },	    { "0,4", NP_NODE_NONE },
		      { "", NP_NODE_NONE }, { "6,100", 0 }, { "5", NP_NODE_NONE } };
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_machine m;
	struct np_err err;

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, write_odd_machine(), &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		np_list_parse_kernel(cases[i].cpus, cpus);
		CU_ASSERT_EQUAL(np_machine_node_of_cpus(&m, cpus), cases[i].node);
	}
	numa_bitmask_free(cpus);
	np_machine_free(&m);
	fixture_end();
}

TEST(lists_on_an_odd_machine)
{
	char got[NP_LIST_LEN];
	struct np_err err;
	struct np_machine m;
	struct np_node_args s;
	struct bitmask *cpus;

	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, write_odd_machine(), &err), 0);
	np_node_args_open(&s, &m);
	cpus = np_node_args_cpus(&s, "0,2", &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cpus);
	CU_ASSERT_STRING_EQUAL(np_list_format(cpus, got, sizeof(got)), "0-1,4,6");
	numa_bitmask_free(cpus);
	CU_ASSERT_PTR_NULL(np_node_args_cpus(&s, "5", &err));
	CU_ASSERT_STRING_EQUAL(err.text, "node 5 has no CPU to run on");
	CU_ASSERT_EQUAL(np_node_args_one(&s.memory, "5", &err), 5);
	CU_ASSERT_EQUAL(np_node_args_one(&s.memory, "2", &err), -1);
	CU_ASSERT_STRING_EQUAL(err.text,
			       "memory node 2 does not exist; this machine has memory nodes 0,5");
	CU_ASSERT_EQUAL(np_node_args_one(&s.memory, "0,5", &err), -1);
	np_node_args_close(&s);
	np_machine_free(&m);
	fixture_end();
}

TEST(says_what_is_malformed)
{
	static const struct {
		const char *path, *text, *says;
	} cases[] = {
		{ NODE "online", "0-x\n", "online" },
		{ NODE "online", "\n", "online" },
		{ NODE "node2/cpulist", "4-\n", "node2/cpulist" },
		{ NODE "node5/distance", "17 28\n", "node5/distance" },
		{ NODE "node5/distance", "17 28 x\n", "node5/distance" },
		{ NODE "node0/distance", "10 0 31\n", "node0/distance" },
		{ NODE "node0/distance", "10 256 31\n", "node0/distance" },
	};
	struct np_machine m;
	struct np_err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *root = write_odd_machine();

		fixture_write(cases[i].path, cases[i].text);
		CU_ASSERT_NOT_EQUAL(np_machine_read(&m, root, &err), 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
		fixture_end();
	}
}

TEST(without_numa_it_says_so)
{
	struct np_machine m;
	struct np_err err;

	CU_ASSERT_NOT_EQUAL(np_machine_read(&m, fixture_begin(), &err), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "CONFIG_NUMA"));
	fixture_end();
}

/* A lab machine with other numbers than its file's is another machine: no plan takes the file for the simulator's. */
TEST(names_what_the_lab_has_changed)
{
	struct np_machine m;
	struct np_err err;
	const char *root = write_odd_machine();

	fixture_write("proc/cmdline",
		      "numaplace_lab=odd,timed numaplace_lab_set=dram.latency_ns=90,core.mhz=2e3 q\n");
	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, root, &err), 0);
	CU_ASSERT_STRING_EQUAL(m.name, "odd+dram.latency_ns=90,core.mhz=2e3");
	CU_ASSERT_EQUAL(np_machine_platform(root), NP_PLATFORM_LAB_TIMED);
	np_machine_free(&m);
	fixture_end();
}

TEST(tells_the_lab_from_a_real_machine)
{
	const char *root = fixture_begin();

	CU_ASSERT_EQUAL(np_machine_platform(root), NP_PLATFORM_REAL);
	fixture_write("proc/cmdline", "quiet numaplace_lab=demo-2s,functional\n");
	CU_ASSERT_EQUAL(np_machine_platform(root), NP_PLATFORM_LAB_FUNCTIONAL);
	fixture_write("proc/cmdline", "numaplace_lab=demo-2s quiet x,functional\n");
	CU_ASSERT_EQUAL(np_machine_platform(root), NP_PLATFORM_LAB_TIMED);
	CU_ASSERT_STRING_EQUAL(np_platform_name(NP_PLATFORM_LAB_TIMED), "lab-timed");
	fixture_end();
}

static void write_cache(int cpu, int index, const char *level, const char *size, const char *cpus)
{
	const char *const names[] = { "level", "size", "shared_cpu_list", "type" };
	const char *const values[] = { level, size, cpus, "Unified\n" };
	char path[128];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu,
			 index, names[i]);
		fixture_write(path, values[i]);
	}
}

TEST(lists_each_cache_once)
{
	const char *root = write_odd_machine();
	struct np_cache *caches;
	struct np_machine m;
	struct np_err err;
	size_t n;

	for (int cpu = 0; cpu < 2; cpu++) {
		write_cache(cpu, 0, "1\n", "48K\n", cpu ? "1\n" : "0\n");
		write_cache(cpu, 1, "3\n", "12M\n", "0-1\n");
	}
	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, root, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_caches_read(&m, root, &caches, &n), 0);
	CU_ASSERT_EQUAL_FATAL(n, 3);
	CU_ASSERT(caches[0].level == 1 && caches[1].level == 1 && caches[2].level == 3);
	CU_ASSERT_EQUAL(caches[0].size, 48 << 10);
	CU_ASSERT_EQUAL(caches[2].size, 12 << 20);
	CU_ASSERT_EQUAL(numa_bitmask_weight(caches[2].cpus), 2);
	np_caches_free(caches, n);
	np_machine_free(&m);
	fixture_end();
}

/* 8 cores of 2 CPUs, one of which has a smaller second cache; two third caches. */
TEST(takes_alike_caches_together)
{
	static const size_t expected[] = { 8, 7, 1, 1, 1 };
	static const char *const cpus[] = { "0-15", "0-5,8-13,7,15", "6,14", "0-3,8-11",
					    "4-7,12-15" };
	const char *root = fixture_begin();
	struct bitmask *all = numa_bitmask_alloc(NP_MAX_CPUS),
		       *wanted = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_cache *caches;
	struct np_machine m;
	char core[16];
	struct np_err err;
	size_t n, line = 0;

	fixture_write(NODE "online", "0\n");
	fixture_write(NODE "has_memory", "0\n");
	write_node(0, "0-15\n", 1024, "10\n");
	for (int cpu = 0; cpu < 16; cpu++) {
		snprintf(core, sizeof(core), "%d,%d\n", cpu % 8, cpu % 8 + 8);
		write_cache(cpu, 0, "1\n", "48K\n", core);
		write_cache(cpu, 1, "2\n", cpu % 8 == 6 ? "1M\n" : "2M\n", core);
		write_cache(cpu, 2, "3\n", "32M\n", cpu % 8 < 4 ? cpus[3] : cpus[4]);
	}
	CU_ASSERT_EQUAL_FATAL(np_machine_read(&m, root, &err), 0);
	CU_ASSERT_EQUAL_FATAL(np_caches_read(&m, root, &caches, &n), 0);
	CU_ASSERT_EQUAL(n, 18);
	for (size_t i = 0; i < n; i++) {
		size_t alike = np_caches_alike(caches, n, i, all);

		if (!alike)
			continue;
		CU_ASSERT_FATAL(line < 5);
		numa_bitmask_clearall(wanted);
		CU_ASSERT_EQUAL(np_list_parse_kernel(cpus[line], wanted), 0);
		CU_ASSERT(numa_bitmask_equal(all, wanted));
		CU_ASSERT_EQUAL(alike, expected[line++]);
	}
	CU_ASSERT_EQUAL(line, 5);
	numa_bitmask_free(all);
	numa_bitmask_free(wanted);
	np_caches_free(caches, n);
	np_machine_free(&m);
	fixture_end();
}
