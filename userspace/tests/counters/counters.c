// SPDX-License-Identifier: GPL-2.0-only
/* Counters: the table of events, scaling, differences, and what each source reads. */
#include "../../lib/counters/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/base/cpulist.h"
#include "../../lib/counters/events.h"
#include "../../lib/counters/lab.h"
#include "../../lib/counters/perf.h"
#include "../../lib/counters/sample.h"
#include "../fixture.h"

TEST(libpfm_knows_every_event_of_the_table)
{
	struct perf_event_attr attr;
	struct np_err err;
	size_t known = 0;

	for (const struct np_uarch *u = np_uarchs; u->title; u++)
		for (int e = 0; e < NP_EVENTS; e++) {
			const struct np_event_names *names = &u->event[e];

			CU_ASSERT(!names->part[0] != !names->why);
			for (size_t i = 0; i < NP_EVENT_PARTS && names->part[i]; i++) {
				int r = np_event_encode(u->pmu, names->part[i], &attr, &err);

				if (r)
					fprintf(stderr, "%s: %s\n", u->title, err.text);
				CU_ASSERT_EQUAL(r, 0);
				CU_ASSERT(attr.config || e == NP_CYCLES);
				known++;
			}
		}
	CU_ASSERT(known > 80);
}

TEST(local_and_remote_are_not_the_same_event)
{
	struct perf_event_attr a, b;
	struct np_err err;

	for (const struct np_uarch *u = np_uarchs; u->title; u++)
		for (int e = NP_LLC_REFERENCES; e < NP_EVENTS; e++)
			for (int f = NP_LLC_REFERENCES; f < e; f++) {
				if (!u->event[e].part[0] || !u->event[f].part[0])
					continue;
				np_event_encode(u->pmu, u->event[e].part[0], &a, &err);
				np_event_encode(u->pmu, u->event[f].part[0], &b, &err);
				CU_ASSERT(a.config != b.config || a.config1 != b.config1);
			}
}

TEST(invented_names_are_found_out)
{
	struct perf_event_attr attr;
	struct np_err err;

	CU_ASSERT_EQUAL(np_event_encode("skx", "OFFCORE_RESPONSE_0:MOON", &attr, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "skx::OFFCORE_RESPONSE_0:MOON"));
	CU_ASSERT_EQUAL(np_event_encode("moon", "CYCLES", &attr, &err), -EINVAL);
	CU_ASSERT_PTR_NULL(np_uarch_find("moon"));
}

TEST(scales_what_was_not_always_counted)
{
	static const struct np_perf_value half[] = { { 100, 1000, 500 }, { 30, 1000, 1000 } };
	static const struct np_perf_value never[] = { { 100, 1000, 1000 }, { 0, 1000, 0 } };
	static const struct np_perf_value brief[] = { { 100, 1000, 500 },
						      { 0, 1, 0 },
						      { 0, 0, 0 } };
	static const struct np_perf_value idle[] = { { 0, 0, 0 } };
	struct np_count c = np_perf_scale(half, 2);

	CU_ASSERT_DOUBLE_EQUAL(c.value, 130 / 0.75, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(c.share, 0.75, 1e-9);
	c = np_perf_scale(brief, 3);
	CU_ASSERT_PTR_NOT_NULL(c.source);
	CU_ASSERT_DOUBLE_EQUAL(c.value, 200.2, 1e-9);
	c = np_perf_scale(idle, 1);
	CU_ASSERT(c.source && c.value == 0 && c.share == 1);
	c = np_perf_scale(never, 2);
	CU_ASSERT(!c.source && NULL != strstr(c.why, "never came"));
}

static struct np_reading reading(double seconds, double cycles, double instructions, double misses)
{
	struct np_reading r = { .seconds = seconds };
	const double value[] = { cycles, instructions, 2 * misses, misses, misses / 4, misses / 2 };

	for (int e = 0; e < NP_REMOTE_CACHE; e++)
		r.event[e] = (struct np_count) { value[e], 1, "test", NULL };
	r.event[NP_REMOTE_CACHE] = np_count_missing("of this test");
	return r;
}

TEST(differences_and_what_is_derived)
{
	struct np_reading a = reading(1, 100, 50, 10), b = reading(3, 500, 250, 20);
	struct np_reading d = np_reading_between(&a, &b), sum = { 0 };

	CU_ASSERT_DOUBLE_EQUAL(d.seconds, 2, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(np_reading_ipc(&d).value, 0.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(np_reading_cpi(&d).value, 2, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(np_reading_mpki(&d).value, 50, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(np_reading_local_share(&d).value, 1.0 / 3, 1e-9);
	CU_ASSERT(!d.event[NP_REMOTE_CACHE].source);
	CU_ASSERT_STRING_EQUAL(d.event[NP_REMOTE_CACHE].why, "of this test");
	np_reading_add(&sum, &d);
	np_reading_add(&sum, &d);
	CU_ASSERT_DOUBLE_EQUAL(sum.event[NP_CYCLES].value, 800, 1e-9);
	CU_ASSERT(!sum.event[NP_REMOTE_CACHE].source && sum.event[NP_REMOTE_CACHE].why);
	d = np_reading_between(&b, &b);
	CU_ASSERT(!np_reading_ipc(&d).source && np_reading_ipc(&d).why);
}

TEST(reads_a_line_of_the_lab)
{
	static const char line[] =
		"cpu=3 instructions=20 cycles=10 llc_references=7 llc_misses=6 "
		"local_dram=3 remote_dram=2 remote_cache=1 sim_ns=9 stall_ns=4 dram_node0=5\n";
	double total[NP_EVENTS];
	int cpu = -1;

	CU_ASSERT_FATAL(np_lab_line(line, &cpu, total));
	CU_ASSERT(cpu == 3 && total[NP_CYCLES] == 10 && total[NP_INSTRUCTIONS] == 20);
	CU_ASSERT(total[NP_LOCAL_DRAM] == 3 && total[NP_REMOTE_DRAM] == 2);
	CU_ASSERT(total[NP_REMOTE_CACHE] == 1 && total[NP_LLC_MISSES] == 6);
	CU_ASSERT(!np_lab_line("cpu=1 cycles=4", &cpu, total));
	CU_ASSERT(!np_lab_line("cycles=4 cpu=99999999", &cpu, total));
}

static void nothing(struct np_perf_events *events)
{
	memset(events, 0, sizeof(*events));
	for (int e = 0; e < NP_EVENTS; e++)
		events->why[e] = "not in this test";
}

/* The files of perf themselves, with an event that needs no processor's counters. */
TEST(counts_this_task_with_a_software_event)
{
	struct np_subject self = { -1, getpid() };
	struct np_counters c = { .subject = &self, .n = 1 };
	struct np_reading before = { 0 }, after = { 0 };
	struct np_perf_events events;
	struct perf_event_attr attr;
	struct np_err err = { "" };
	void *state;

	nothing(&events);
	events.why[NP_CYCLES] = NULL;
	events.attr[NP_CYCLES][0] = &attr;
	CU_ASSERT_EQUAL_FATAL(np_event_encode("perf", "TASK-CLOCK", &attr, &err), 0);
	if (np_perf_open(&c, &events, &state, &err) == -EACCES) {
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "perf_event_paranoid"));
		return;
	}
	np_counters_perf.read(&c, state, &before);
	for (volatile int i = 0; i < 1000000; i++)
		;
	np_counters_perf.read(&c, state, &after);
	CU_ASSERT_STRING_EQUAL(after.event[NP_CYCLES].source, "perf");
	CU_ASSERT(after.event[NP_CYCLES].value > before.event[NP_CYCLES].value);
	CU_ASSERT_STRING_EQUAL(after.event[NP_LOCAL_DRAM].why, "not in this test");
	np_counters_perf.close(state);
}

/* In a child of user nobody: 0 when the error names the sysctl that forbids a CPU's events. */
static int is_forbidden(void)
{
	struct np_subject cpu = { 0, 0 };
	struct np_counters c = { .subject = &cpu, .n = 1 };
	struct np_perf_events events;
	struct perf_event_attr attr;
	struct np_err err = { "" };
	void *state;

	nothing(&events);
	events.why[NP_CYCLES] = NULL;
	events.attr[NP_CYCLES][0] = &attr;
	if (np_event_encode("perf", "TASK-CLOCK", &attr, &err) || setuid(65534))
		return 1;
	return np_perf_open(&c, &events, &state, &err) != -EACCES ||
	       !strstr(err.text, "sysctl kernel.perf_event_paranoid is ") ||
	       !strstr(err.text, "set it to 0");
}

TEST(says_which_sysctl_forbids_counting)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 0, status;
	pid_t pid;

	if (!f || fscanf(f, "%d", &level) != 1 || level < 1 || getuid()) {
		if (f)
			fclose(f);
		return; /* allowed to all users here, or no change to user nobody */
	}
	fclose(f);
	pid = fork();
	if (!pid)
		_exit(is_forbidden());
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What a CPU that comes meanwhile had counted before is not known: it is left out. */
TEST(cpus_come_and_go_while_dram_is_counted)
{
	double *lines = malloc(2 * sizeof(*lines)), *writes = malloc(sizeof(*writes)),
	       sum[2] = { 0 };
	struct np_node_traffic before = { 1, 2, lines, writes };
	struct np_node_traffic more = { 2, 2, (double[]) { 11, 22, 300, 400 },
					(double[]) { 6, 700 } };
	struct np_node_traffic fewer = { 0, 2, (double[]) { 0 }, (double[]) { 0 } };

	lines[0] = lines[1] = writes[0] = 1;
	np_node_traffic_since(&more, &before);
	CU_ASSERT_EQUAL(np_node_traffic_sum(&more, NULL, sum), 5);
	CU_ASSERT(more.lines[0] == 10 && more.lines[1] == 21);
	np_node_traffic_since(&fewer, &before);
	CU_ASSERT_EQUAL(np_node_traffic_sum(&fewer, NULL, sum), 0);
	free(lines);
	free(writes);
}

/* As numaplace_lab/counters has it; node 2 is the second of this machine. */
TEST(lab_lines_say_whose_memory)
{
	static const char line[] = "cpu=1 instructions=9 cycles=9 llc_references=9 llc_misses=9 "
				   "local_dram=30 remote_dram=12 remote_cache=0 sim_ns=1 stall_ns=1 "
				   "dram_writes=7 dram_node0=12 dram_node2=30\n";
	struct np_node node[] = { { .id = 0 }, { .id = 2 } };
	struct np_machine m = { .n_nodes = 2, .node = node, .n_cpus = 2 };
	double lines[2], writes, sum[2] = { 0 };
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	int cpu;

	CU_ASSERT(np_node_traffic_line(line, &m, &cpu, lines, &writes));
	CU_ASSERT(cpu == 1 && lines[0] == 12 && lines[1] == 30 && writes == 7);
	node[1].id = 3;
	CU_ASSERT_FALSE(np_node_traffic_line(line, &m, &cpu, lines, &writes));
	struct np_node_traffic before = { 2, 2, (double[]) { 1, 2, 3, 4 }, (double[]) { 1, 1 } };
	struct np_node_traffic now = { 2, 2, (double[]) { 1, 2, 13, 24 }, (double[]) { 1, 6 } };

	np_node_traffic_since(&now, &before);
	numa_bitmask_setbit(cpus, 1);
	CU_ASSERT_EQUAL(np_node_traffic_sum(&now, cpus, sum), 5);
	/* 30 lines were read; the 5 written went where those came from. */
	CU_ASSERT_DOUBLE_EQUAL(sum[0], 10 * 35. / 30, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(sum[1], 20 * 35. / 30, 1e-9);
	numa_bitmask_free(cpus);
}

/* A triad reads three lines and writes one: all four are its traffic, a quarter is written. */
TEST(written_lines_are_traffic)
{
	struct np_node node[2] = { { .id = 0 }, { .id = 1 } };
	struct np_machine m = { .n_nodes = 2, .node = node, .n_cpus = 1 };
	struct np_reading r = { .seconds = 2 };
	struct np_counter_sample c = {
		.counted = &r,
		.n = 1,
		.seconds = 2,
		.dram = { 1, 2, (double[]) { 0, 300 }, (double[]) { 100 } },
	};
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_task task = { .node = 0 };
	double room[2];

	r.event[NP_LOCAL_DRAM] = (struct np_count) { 0, 1, "lab", NULL };
	r.event[NP_REMOTE_DRAM] = (struct np_count) { 300, 1, "lab", NULL };
	numa_bitmask_setbit(cpus, 0);
	np_counter_sample_fill(&c, 0, &m, cpus, &task, room);
	CU_ASSERT_DOUBLE_EQUAL(task.bandwidth.value, 200 * 64, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(task.writes.value, 0.25, 1e-9);
	CU_ASSERT(task.accesses[0] == 0 && task.accesses[1] == 200);
	np_counter_sample_traffic(&c, &m);
	CU_ASSERT_DOUBLE_EQUAL(node[1].traffic.value, 200 * 64, 1e-9);
	numa_bitmask_free(cpus);
}

/* On two nodes remote accesses are the other node's; on three they are unknown. */
TEST(accesses_by_node_of_two)
{
	struct np_node node[3] = { { .id = 0 }, { .id = 1 }, { .id = 2 } };
	struct np_machine m = { .n_nodes = 2, .node = node };
	struct np_reading r = { .seconds = 2 };
	struct np_counter_sample c = { .counted = &r, .n = 1 };
	struct np_task task = { .node = 1 };
	double room[3];

	r.event[NP_LOCAL_DRAM] = (struct np_count) { 100, 1, "perf", NULL };
	r.event[NP_REMOTE_DRAM] = (struct np_count) { 300, 1, "perf", NULL };
	np_counter_sample_fill(&c, 0, &m, NULL, &task, room);
	CU_ASSERT_PTR_NOT_NULL_FATAL(task.accesses);
	CU_ASSERT(task.accesses[1] == 50 && task.accesses[0] == 150);
	CU_ASSERT_EQUAL(task.accesses_source, NP_PROVENANCE_COUNTERS);
	CU_ASSERT_DOUBLE_EQUAL(task.bandwidth.value, 200 * 64, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(task.local_access.value, 0.25, 1e-9);
	CU_ASSERT_EQUAL(task.ipc.source, NP_PROVENANCE_NONE);
	task = (struct np_task) { .node = 1 };
	m.n_nodes = 3;
	np_counter_sample_fill(&c, 0, &m, NULL, &task, room);
	CU_ASSERT_PTR_NULL(task.accesses);
}
