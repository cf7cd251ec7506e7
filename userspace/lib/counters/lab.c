// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulated lab counts by CPU. A task has what its CPUs counted, as long as
 * nothing else of weight ran there: run times come from schedstat.
 */
#include "lab.h"

#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/grow.h"
#include "../base/record.h"
#include "../host/proc.h"

/* Of the time on its CPUs, what a task must have had for their counts to be its own. */
#define ALONE 0.9

static const char shared_cpus[] =
	"the lab counts by CPU, and other tasks ran on the CPUs that this one may use; bind it to "
	"CPUs of its own";
static const char idle_task[] = "the lab counts by CPU, and the task did not run in that time";

/* Run time of each thread; tid 0: a process with the threads that have ended. */
struct thread_time {
	pid_t pid, tid;
	int cpu; /* that it last ran on */
	unsigned long long ns;
};

struct times {
	struct thread_time *thread;
	size_t n;
};

/* Totals of every CPU. */
struct totals {
	size_t n;
	double (*cpu)[NP_EVENTS];
};

struct lab {
	bool any_task;
	struct times times; /* at the last reading */
	struct totals totals;
	double (*counted)[NP_EVENTS]; /* [subjects] since the first reading */
};

bool np_lab_line(const char *line, int *cpu, double total[NP_EVENTS])
{
	uint64_t value;

	if (!np_record_number(line, "cpu", &value) || value >= NP_MAX_CPUS)
		return false;
	*cpu = (int)value;
	for (int e = 0; e < NP_EVENTS; e++) {
		if (!np_record_number(line, np_event_name((enum np_event)e), &value))
			return false;
		total[e] = (double)value;
	}
	return true;
}

static unsigned long long run_ns(pid_t pid, pid_t tid)
{
	char *text = np_read_file_of("/proc/%d/task/%d/schedstat", pid, tid);
	unsigned long long ns = 0;

	if (text)
		sscanf(text, "%llu", &ns);
	free(text);
	return ns;
}

static void add_time(struct times *t, struct thread_time time)
{
	if (!np_grow(&t->thread, t->n, sizeof(*t->thread)))
		t->thread[t->n++] = time;
}

static void add_threads(struct times *t, pid_t pid)
{
	unsigned long long tick_ns = 1000000000ull / (unsigned long long)sysconf(_SC_CLK_TCK);
	struct np_proc_stat st;
	pid_t *tids;
	size_t n;

	if (np_proc_stat(pid, &st) || np_proc_threads(pid, &tids, &n))
		return;
	add_time(t, (struct thread_time) { .pid = pid, .cpu = st.cpu, .ns = st.ticks * tick_ns });
	for (size_t i = 0; i < n; i++)
		if (!np_proc_thread_stat(pid, tids[i], &st))
			add_time(t, (struct thread_time) { .pid = pid,
							   .tid = tids[i],
							   .cpu = st.cpu,
							   .ns = run_ns(pid, tids[i]) });
	free(tids);
}

static struct times read_times(void)
{
	struct times t = { 0 };
	pid_t *pids;
	size_t n;

	if (np_proc_all(&pids, &n))
		return t;
	for (size_t i = 0; i < n; i++)
		add_threads(&t, pids[i]);
	free(pids);
	return t;
}

static unsigned long long ns_before(const struct times *t, const struct thread_time *now)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->thread[i].tid == now->tid && t->thread[i].pid == now->pid)
			return t->thread[i].ns;
	return 0;
}

/* The CPUs that any of the task's threads may use. */
static struct bitmask *cpus_of(pid_t pid)
{
	struct bitmask *all = numa_bitmask_alloc(NP_MAX_CPUS),
		       *mask = numa_bitmask_alloc(NP_MAX_CPUS);
	pid_t *tids;
	size_t n;

	if (!np_proc_threads(pid, &tids, &n)) {
		for (size_t i = 0; i < n; i++)
			if (numa_sched_getaffinity(tids[i], mask) > 0)
				for (unsigned int cpu = 0; cpu < NP_MAX_CPUS; cpu++)
					if (numa_bitmask_isbitset(mask, cpu))
						numa_bitmask_setbit(all, cpu);
		free(tids);
	}
	numa_bitmask_free(mask);
	return all;
}

/* Why the CPUs' counts since the last reading are not the task's, or NULL. */
static const char *not_its_own(pid_t pid, const struct bitmask *cpus, const struct times *before,
			       const struct times *now)
{
	double own = 0, with_ended = 0, others = 0;

	for (size_t i = 0; i < now->n; i++) {
		const struct thread_time *t = &now->thread[i];
		double ns = (double)(t->ns - ns_before(before, t));

		if (t->pid == pid && t->tid)
			own += ns;
		else if (t->pid == pid)
			with_ended = ns;
		else if (t->tid && numa_bitmask_isbitset(cpus, (unsigned int)t->cpu))
			others += ns;
	}
	if (with_ended > own)
		own = with_ended;
	if (!(own > 0))
		return idle_task;
	return own >= ALONE * (own + others) ? NULL : shared_cpus;
}

static struct totals read_totals(void)
{
	char *text = np_read_file(NP_LAB_COUNTERS);
	struct totals t = { .cpu = calloc(NP_MAX_CPUS, sizeof(*t.cpu)) };
	double one[NP_EVENTS];
	int cpu;

	for (const char *line = text; line && t.cpu; line = np_record_next(line))
		if (np_lab_line(line, &cpu, one)) {
			memcpy(t.cpu[cpu], one, sizeof(one));
			if ((size_t)cpu >= t.n)
				t.n = (size_t)cpu + 1;
		}
	free(text);
	return t;
}

static int lab_open(struct np_counters *c, void **state, struct np_err *err)
{
	char *text = np_read_file(NP_LAB_COUNTERS);
	struct lab *lab;
	int e = errno;

	if (!text && e == EACCES && np_machine_platform("") == NP_PLATFORM_LAB_TIMED)
		return np_fail(err, -EACCES, NP_LAB_COUNTERS " is root's; run as root");
	if (!text)
		return np_fail(err, -ENODEV, "this is not the simulated lab");
	free(text);
	lab = calloc(1, sizeof(*lab));
	if (lab)
		lab->counted = calloc(c->n + 1, sizeof(*lab->counted));
	if (!lab || !lab->counted) {
		free(lab);
		return np_fail(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < c->n; i++)
		lab->any_task |= c->subject[i].cpu < 0;
	*state = lab;
	return 0;
}

/* Adds what the CPU has counted since the last reading. */
static void add_cpu(const struct lab *lab, const struct totals *now, size_t cpu,
		    double counted[NP_EVENTS])
{
	for (int e = 0; lab->totals.cpu && cpu < now->n && e < NP_EVENTS; e++)
		counted[e] += now->cpu[cpu][e] - lab->totals.cpu[cpu][e];
}

static const char *add_task(const struct lab *lab, const struct totals *totals,
			    const struct times *times, pid_t pid, double counted[NP_EVENTS])
{
	struct bitmask *cpus = cpus_of(pid);
	const char *why = NULL;

	if (!numa_bitmask_weight(cpus))
		why = "the task has ended";
	else if (lab->totals.cpu)
		why = not_its_own(pid, cpus, &lab->times, times);
	for (unsigned int cpu = 0; cpu < totals->n; cpu++)
		if (numa_bitmask_isbitset(cpus, cpu))
			add_cpu(lab, totals, cpu, counted);
	numa_bitmask_free(cpus);
	return why;
}

static void lab_read(struct np_counters *c, void *state, struct np_reading *readings)
{
	struct lab *lab = state;
	struct totals totals = read_totals();
	struct times times = { 0 };

	if (!totals.cpu)
		return;
	if (lab->any_task)
		times = read_times();
	for (size_t i = 0; i < c->n; i++) {
		const struct np_subject *s = &c->subject[i];
		const char *why = NULL;

		if (s->cpu >= 0)
			add_cpu(lab, &totals, (size_t)s->cpu, lab->counted[i]);
		else
			why = add_task(lab, &totals, &times, s->pid, lab->counted[i]);
		for (int e = 0; e < NP_EVENTS; e++)
			readings[i].event[e] = (struct np_count) {
				lab->counted[i][e],
				1,
				why ? NULL : np_counters_lab.name,
				why,
			};
	}
	free(lab->times.thread);
	free(lab->totals.cpu);
	lab->times = times;
	lab->totals = totals;
}

static void lab_close(void *state)
{
	struct lab *lab = state;

	free(lab->times.thread);
	free(lab->totals.cpu);
	free(lab->counted);
	free(lab);
}

const struct np_counter_source np_counters_lab = {
	.name = "lab",
	.open = lab_open,
	.read = lab_read,
	.close = lab_close,
};
