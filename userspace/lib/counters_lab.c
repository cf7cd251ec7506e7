// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulated lab counts by CPU. A task has what its CPUs counted, as long as
 * nothing else of weight ran there: run times come from schedstat.
 */
#include "counters_lab.h"

#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "proc.h"
#include "record.h"

#define COUNTERS "/sys/kernel/debug/numaplace_lab/counters"

/* Of the time on its CPUs, what a task must have had for their counts to be its own. */
#define ALONE 0.95

static const char shared_cpus[] =
	"the lab counts by CPU, and other tasks ran on the CPUs that this one may use; bind it to "
	"CPUs of its own";
static const char idle_task[] = "the lab counts by CPU, and the task did not run in that time";

/* How long each thread has run. */
struct thread_time {
	pid_t pid;
	unsigned long long ns;
	int cpu;		/* that it last ran on */
	pid_t tid;
};

struct times {
	struct thread_time *thread;
	size_t n, room;
};

struct lab {
	struct times last;
	bool any_task;
	bool first;		/* nothing has been read yet */
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
	char path[64], *text;
	unsigned long long ns = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	text = np_read_file(path);
	if (text)
		sscanf(text, "%llu", &ns);
	free(text);
	return ns;
}

static void add_threads(struct times *t, pid_t pid)
{
	struct np_proc_stat st;
	pid_t *tids;
	size_t n;

	if (np_proc_threads(pid, &tids, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		if (t->n == t->room) {
			size_t room = t->room ? t->room * 2 : 256;
			void *bigger = realloc(t->thread, room * sizeof(*t->thread));

			if (!bigger)
				break;
			t->thread = bigger;
			t->room = room;
		}
		if (np_proc_thread_stat(pid, tids[i], &st))
			continue;
		t->thread[t->n++] = (struct thread_time) {
			.pid = pid, .tid = tids[i], .cpu = st.cpu, .ns = run_ns(pid, tids[i]),
		};
	}
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
	struct bitmask *all = numa_bitmask_alloc(NP_MAX_CPUS), *mask = numa_bitmask_alloc(NP_MAX_CPUS);
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

/* Why the CPUs' counts since the last look are not the task's, or NULL. */
static const char *not_its_own(pid_t pid, const struct bitmask *cpus, const struct times *before,
			       const struct times *now)
{
	double own = 0, others = 0;

	for (size_t i = 0; i < now->n; i++) {
		const struct thread_time *t = &now->thread[i];
		double ns = (double)(t->ns - ns_before(before, t));

		if (t->pid == pid)
			own += ns;
		else if (numa_bitmask_isbitset(cpus, (unsigned int)t->cpu))
			others += ns;
	}
	if (!(own > 0))
		return idle_task;
	return own >= ALONE * (own + others) ? NULL : shared_cpus;
}

/* Every CPU's totals, in an array by CPU number for the caller to free, or NULL. */
static double (*read_cpus(size_t *n))[NP_EVENTS]
{
	char *text = np_read_file(COUNTERS);
	double (*total)[NP_EVENTS] = calloc(NP_MAX_CPUS, sizeof(*total));
	double one[NP_EVENTS];
	int cpu;

	*n = 0;
	for (const char *line = text; line && total; line = np_record_next(line))
		if (np_lab_line(line, &cpu, one)) {
			memcpy(total[cpu], one, sizeof(one));
			if ((size_t)cpu >= *n)
				*n = (size_t)cpu + 1;
		}
	free(text);
	return total;
}

static int lab_open(struct np_counters *c, void **state, char *err, size_t err_len)
{
	char *text = np_read_file(COUNTERS);
	struct lab *lab;
	int e = errno;

	if (!text && e == EACCES && np_machine_where("") == NP_WHERE_LAB_SIMULATED)
		return np_fail(err, err_len, -EACCES, COUNTERS " is root's; run as root");
	if (!text)
		return np_fail(err, err_len, -ENODEV, "this is not the simulated lab");
	free(text);
	lab = calloc(1, sizeof(*lab));
	if (!lab)
		return np_fail(err, err_len, -ENOMEM, "out of memory");
	for (size_t i = 0; i < c->n; i++)
		lab->any_task |= c->subject[i].cpu < 0;
	lab->first = true;
	*state = lab;
	return 0;
}

static void add_cpu(struct np_reading *r, const double total[NP_EVENTS])
{
	for (int e = 0; e < NP_EVENTS; e++) {
		r->event[e].value += total[e];
		r->event[e].share = 1;
		r->event[e].source = np_counters_lab.name;
	}
}

static void read_task(const struct lab *lab, pid_t pid, const struct times *now,
		      double (*total)[NP_EVENTS], size_t n, struct np_reading *r)
{
	struct bitmask *cpus = cpus_of(pid);
	const char *why = lab->first ? NULL : not_its_own(pid, cpus, &lab->last, now);

	for (unsigned int cpu = 0; cpu < n; cpu++)
		if (numa_bitmask_isbitset(cpus, cpu))
			add_cpu(r, total[cpu]);
	if (!numa_bitmask_weight(cpus))
		why = "the task has ended";
	for (int e = 0; why && e < NP_EVENTS; e++)
		r->event[e] = np_count_missing(why);
	numa_bitmask_free(cpus);
}

static void lab_read(struct np_counters *c, void *state, struct np_reading *readings)
{
	struct lab *lab = state;
	size_t n;
	double (*total)[NP_EVENTS] = read_cpus(&n);
	struct times now = { 0 };

	if (!total)
		return;
	if (lab->any_task)
		now = read_times();
	for (size_t i = 0; i < c->n; i++) {
		int cpu = c->subject[i].cpu;

		if (cpu >= 0 && (size_t)cpu < n)
			add_cpu(&readings[i], total[cpu]);
		else if (cpu < 0)
			read_task(lab, c->subject[i].pid, &now, total, n, &readings[i]);
	}
	free(lab->last.thread);
	lab->last = now;
	lab->first = false;
	free(total);
}

static void lab_close(void *state)
{
	struct lab *lab = state;

	free(lab->last.thread);
	free(lab);
}

const struct np_counter_source np_counters_lab = {
	.name = "lab", .open = lab_open, .read = lab_read, .close = lab_close,
};
