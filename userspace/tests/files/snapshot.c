// SPDX-License-Identifier: GPL-2.0-only
/* Snapshots: what is written can be read, and nothing else. */
#include "../../lib/files/snapshot.h"

#include <errno.h>
#include <numa.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/base/cpulist.h"
#include "../fixture.h"

static const char good[] =
	"{'snapshot': 1, 'platform': 'lab-timed',"
	" 'machine': {'name': 'm', 'page_size': 4096,"
	" 'nodes': ["
	"{'id': 0, 'cpus': '0-1,4', 'has_memory': true, 'mem_total': 4096000, 'mem_free': 4096,"
	" 'usable_cpus': 2, 'bandwidth': 5e10, 'latency_ns': 80.25,"
	" 'distances': [10, 21], 'traffic': {'value': 3e9, 'source': 'counters'}},"
	"{'id': 2, 'cpus': '2', 'has_memory': false, 'mem_total': 409600, 'mem_free': 0,"
	" 'usable_cpus': 1, 'bandwidth': null, 'latency_ns': null,"
	" 'traffic': {'value': null, 'source': 'unknown'}, 'distances': [20, 10]}]},"
	"'tasks': [{'pid': 7, 'start': 99, 'comm': 'triad', 'threads': 3, 'cores': 2, 'cpus': '2',"
	" 'node': 2, 'pages': {'0': 300, '2': 100}, 'file_pages': {'0': 5, '2': 0},"
	" 'pages_error': 0.0078125,"
	" 'shm_pages': {'0': 40, '2': 0},"
	" 'locality': 0.25, 'penalty': {'value': 1.5, 'source': 'counters'},"
	" 'penalty_distance': 21,"
	" 'ipc': {'value': 0.5, 'source': 'counters'},"
	" 'cycles': {'value': 2e9, 'source': 'counters'},"
	" 'bandwidth': {'value': 2e9, 'source': 'counters'},"
	" 'local_access': {'value': null, 'source': 'unknown'}, 'not_counted_because': null,"
	" 'outstanding': {'value': 4.5, 'source': 'counters'},"
	" 'memory': 'bind:0,2',"
	" 'age_s': {'value': 12.5, 'source': 'kernel'}, 'shared_pages': 17,"
	" 'writes': {'value': 0.25, 'source': 'counters'}, 'accesses': {'0': 2e7, '2': 0.0},"
	" 'mpki': {'value': null, 'source': 'unknown'}}]}";

/* With " for ', and the first occurrence of from replaced. The caller frees it. */
static char *changed(const char *from, const char *to)
{
	char *text = malloc(sizeof(good) + strlen(to)), *at;

	strcpy(text, good);
	at = from ? strstr(text, from) : NULL;
	if (from) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(at);
		memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
		memcpy(at, to, strlen(to));
	}
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	return text;
}

static int parse(const char *from, const char *to, struct np_snapshot *s, struct np_err *err)
{
	char *text = changed(from, to), path[128];
	int e;

	snprintf(path, sizeof(path), "%s/F", fixture_begin());
	fixture_write("F", text);
	e = np_snapshot_read(path, s, err);
	fixture_end();
	free(text);
	return e;
}

TEST(reads_what_it_says)
{
	struct np_snapshot s;
	struct np_err err;

	CU_ASSERT_EQUAL_FATAL(parse(NULL, "", &s, &err), 0);
	CU_ASSERT_EQUAL(s.platform, NP_PLATFORM_LAB_TIMED);
	CU_ASSERT(s.machine.n_nodes == 2 && s.machine.node[1].id == 2 && s.machine.n_cpus == 5);
	CU_ASSERT(s.machine.cpu_node[4] == 0 && s.machine.cpu_node[2] == 1);
	CU_ASSERT_EQUAL(s.machine.cpu_node[3], NP_NODE_NONE);
	CU_ASSERT(s.machine.distance[1] == 21 && s.machine.distance[2] == 20);
	CU_ASSERT_FATAL(s.tasks.n == 1);
	CU_ASSERT(s.tasks.task[0].node == 1 && s.tasks.task[0].pages[0] == 300);
	CU_ASSERT(s.tasks.task[0].shm_pages[0] == 40 && s.tasks.task[0].shm_pages[1] == 0);
	CU_ASSERT(s.tasks.file_pages[0] == 5 && s.tasks.start[0] == 99);
	CU_ASSERT(s.tasks.task[0].penalty_source == NP_PROVENANCE_COUNTERS);
	CU_ASSERT_DOUBLE_EQUAL(s.tasks.task[0].penalty, 1.5, 1e-9);
	CU_ASSERT_EQUAL(s.tasks.task[0].mpki_source, NP_PROVENANCE_NONE);
	CU_ASSERT_EQUAL(s.tasks.task[0].bandwidth.source, NP_PROVENANCE_COUNTERS);
	CU_ASSERT_DOUBLE_EQUAL(s.tasks.task[0].ipc.value, 0.5, 1e-9);
	CU_ASSERT_EQUAL(s.tasks.task[0].age_s.source, NP_PROVENANCE_KERNEL);
	CU_ASSERT_EQUAL(s.tasks.task[0].shared_pages, 17);
	CU_ASSERT_STRING_EQUAL(s.tasks.task[0].memory, "bind:0,2");
	CU_ASSERT_DOUBLE_EQUAL(s.tasks.task[0].writes.value, 0.25, 1e-9);
	CU_ASSERT_PTR_NOT_NULL_FATAL(s.tasks.task[0].accesses);
	CU_ASSERT(s.tasks.task[0].accesses[0] == 2e7 && s.tasks.task[0].accesses[1] == 0);
	CU_ASSERT(s.machine.node[0].traffic.value == 3e9 &&
		  s.machine.node[1].traffic.source == NP_PROVENANCE_NONE);
	np_snapshot_free(&s);
}

TEST(writes_what_it_read)
{
	char *text = changed(NULL, "");
	struct np_err err;
	json_t *wanted = json_loads(text, 0, NULL), *written;
	struct np_snapshot s;

	CU_ASSERT_EQUAL_FATAL(parse(NULL, "", &s, &err), 0);
	written = np_snapshot_json(s.platform, &s.machine, &s.tasks);
	CU_ASSERT(json_equal(wanted, written));
	json_decref(written);
	json_decref(wanted);
	np_snapshot_free(&s);
	free(text);
}

TEST(says_where_it_is_wrong)
{
	static const struct {
		const char *from, *to, *said;
	} bad[] = {
		{ "{'snapshot': 1,", "{", "is no snapshot" },
		{ "0.0078125", "0", "pages_error is not a share above 0" },
		{ "'snapshot': 1", "'snapshot': 2", "snapshot is not a whole number from 1 to 1" },
		{ "lab-timed", "moon", "platform is none of" },
		{ "'machine'", "'engine'", "machine is missing" },
		{ "'page_size': 4096", "'page_size': -1", "page_size" },
		{ "'id': 2", "'id': 0", "machine.nodes[1].id is not above" },
		{ "'usable_cpus': 2", "'usable_cpus': 4",
		  "machine.nodes[0].usable_cpus is not a whole number" },
		{ "'bandwidth': 5e10", "'bandwidth': -1",
		  "machine.nodes[0].bandwidth is not a number above 0" },
		{ "'cpus': '2', 'has", "'cpus': '1', 'has", "machine.nodes[1].cpus has CPU 1" },
		{ "'0-1,4'", "'0-'", "machine.nodes[0].cpus" },
		{ "'0-1,4'", "'9999999'", "machine.nodes[0].cpus" },
		{ "[10, 21]", "[10]", "machine.nodes[0].distances" },
		{ "[20, 10]", "[0, 10]", "machine.nodes[1].distances" },
		{ "'pid': 7", "'pid': 0", "tasks[0].pid" },
		{ "'threads': 3", "'threads': 'x'", "tasks[0].threads" },
		{ "'node': 2", "'node': 1", "tasks[0].node is no node" },
		{ "'node': 2", "'node': 4294967298", "tasks[0].node is no node" },
		{ "'node': 2", "'node': -4294967294", "tasks[0].node is no node" },
		{ "{'0': 300", "{'1': 300", "tasks[0].pages" },
		{ "300", "-300", "tasks[0].pages of node 0" },
		{ "300", "9223372036854775807",
		  "tasks[0].pages of node 0 are more than its mem_total has" },
		{ "4096000", "9223372036854775807", "machine.nodes[0].mem_total" },
		{ "40, '2': 0", "301", "tasks[0].shm_pages" },
		{ "1.5", "-1", "tasks[0].penalty" },
		{ "1.5", "null", "tasks[0].penalty" },
		{ "'counters'", "'dreams'", "names no source; there are unknown, counters" },
		{ ", 'source': 'unknown'}}]}", "}}]}", "tasks[0].mpki" },
		{ "12.5", "-1", "tasks[0].age_s" },
		{ "17", "-17", "tasks[0].shared_pages" },
		{ "'2': 0.0", "'1': 0.0", "tasks[0].accesses is not one number" },
		{ "3e9", "-3e9", "machine.nodes[0].traffic" },
		{ "'snapshot': 1", "'snapshot': 1, 'snapshot': 1", "duplicate object key" },
		{ "'tasks'", "'jobs'", "tasks is not a list" },
		{ "}]}", "", "not JSON" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct np_snapshot s;
		struct np_err err = { "" };

		CU_ASSERT_EQUAL(parse(bad[i].from, bad[i].to, &s, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].said));
		CU_ASSERT(s.tasks.n == 0 && s.machine.n_nodes == 0);
	}
}

TEST(names_may_hold_any_bytes)
{
	struct np_machine m = { .name = "m" };
	struct np_task task = { .pid = 1, .comm = "a\xff\"b", .node = NP_NODE_NONE };
	unsigned long long start = 0;
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_tasks t = { .n = 1, .task = &task, .start = &start, .cpus = &cpus };
	json_t *j = np_snapshot_json(NP_PLATFORM_REAL, &m, &t), *comm;

	comm = json_object_get(json_array_get(json_object_get(j, "tasks"), 0), "comm");
	CU_ASSERT_PTR_NOT_NULL_FATAL(comm);
	CU_ASSERT_STRING_EQUAL(json_string_value(comm), "a?\"b");
	json_decref(j);
	numa_bitmask_free(cpus);
}

TEST(says_that_there_is_no_file)
{
	struct np_snapshot s;
	struct np_err err;

	CU_ASSERT_EQUAL(np_snapshot_read("/nowhere/f", &s, &err), -ENOENT);
	CU_ASSERT_STRING_EQUAL(err.text,
			       "snapshot /nowhere/f cannot be read: No such file or directory");
}
