// SPDX-License-Identifier: GPL-2.0-only
#include "tasks.h"

#include <errno.h>
#include <numa.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/cpulist.h"
#include "../base/error.h"
#include "count_pages.h"
#include "mempolicy.h"
#include "page_sample.h"
#include "proc.h"

/* Many tasks are read by several threads: most of the time goes into the kernel's page walk. */
#define MAX_READERS    8
#define WORTH_A_THREAD 64

struct reader {
	struct np_tasks *t;
	const struct np_machine *m;
	double passed;	    /* seconds since they were read */
	double since_boot;  /* seconds */
	bool no_pages;	    /* are read */
	struct np_err *err; /* NULL: a task that cannot be read is left out */
};

static int allocate(struct reader *r, size_t n)
{
	struct np_tasks *t = r->t;
	size_t nodes = r->m->n_nodes;

	t->task = calloc(n + 1, sizeof(*t->task));
	t->pages = calloc((n + 1) * nodes, sizeof(*t->pages));
	t->shm_pages = calloc((n + 1) * nodes, sizeof(*t->shm_pages));
	t->file_pages = calloc((n + 1) * nodes, sizeof(*t->file_pages));
	t->chosen = calloc(n + 1, sizeof(*t->chosen));
	t->start = calloc(n + 1, sizeof(*t->start));
	t->cpus = calloc(n + 1, sizeof(*t->cpus));
	t->busy = calloc(n + 1, sizeof(*t->busy));
	t->sampled = calloc(n + 1, sizeof(*t->sampled));
	t->ticks = calloc(n + 1, sizeof(*t->ticks));
	return t->task && t->pages && t->shm_pages && t->file_pages && t->chosen && t->start &&
			       t->cpus && t->busy && t->sampled && t->ticks ?
		       0 :
		       -ENOMEM;
}

static uint64_t sample_above;

void np_tasks_sample_above(uint64_t bytes)
{
	sample_above = bytes;
}

/* Whether the pages were sampled; without enough to go by they are to be counted. */
static bool sample_pages(struct reader *r, size_t at, pid_t pid)
{
	size_t nodes = r->m->n_nodes;
	struct np_sampled s = { r->t->pages + at * nodes, r->t->shm_pages + at * nodes,
				r->t->file_pages + at * nodes, 0 };

	if (!sample_above ||
	    np_sample_resident(pid, r->m->page_size) <= sample_above / r->m->page_size ||
	    np_sample_pages(pid, r->m, &s))
		return false;
	r->t->sampled[at] = s.error;
	return true;
}

static int read_pages(struct reader *r, size_t at, pid_t pid)
{
	size_t nodes = r->m->n_nodes;
	struct np_counted counted = { .memory = r->t->pages + at * nodes,
				      .shm = r->t->shm_pages + at * nodes,
				      .file = r->t->file_pages + at * nodes };
	struct np_mapping first = { 0 };
	int e = 0;

	if (!sample_pages(r, at, pid))
		e = np_count_pages(pid, r->m, &counted);
	else if (!np_mapping_first(pid, &first))
		strcpy(counted.policy, first.policy);
	r->t->chosen[at] = counted.chosen;
	np_mempolicy_chosen(counted.policy, r->t->task[at].memory, NP_MEMORY_LEN);
	return e;
}

static void add_allowed(const struct np_machine *m, pid_t tid, struct bitmask *mask,
			struct bitmask *cpus)
{
	size_t bytes = (m->n_cpus + 63) / 64 * 8;

	memset(mask->maskp, 0, bytes);
	if (numa_sched_getaffinity(tid, mask) <= 0)
		return;
	for (size_t i = 0; i < bytes / sizeof(*mask->maskp); i++)
		cpus->maskp[i] |= mask->maskp[i];
}

static void add_last(struct bitmask *last, int cpu)
{
	if (cpu >= 0 && cpu < NP_MAX_CPUS)
		numa_bitmask_setbit(last, (unsigned int)cpu);
}

/* The CPUs where the threads that did most of the work last ran. */
static void add_busy_threads(pid_t pid, pid_t *tids, size_t n, struct bitmask *last)
{
	struct np_proc_stat *st = calloc(n + 1, sizeof(*st));

	n = st ? np_proc_busy_threads(pid, tids, n, st) : 0;
	for (size_t i = 0; i < n; i++)
		add_last(last, st[i].cpu);
	free(st);
}

/*
 * The node that a task runs on: the one that all its threads are bound to, else
 * the one where all its busy threads last ran.
 */
static int read_threads(struct reader *r, size_t at, const struct np_proc_stat *st)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS),
		       *mask = numa_bitmask_alloc(NP_MAX_CPUS);
	struct bitmask *last = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_task *task = &r->t->task[at];
	pid_t alone = st->pid, *tids = &alone;
	size_t n = 1;
	int e = st->threads > 1 ? np_proc_threads(st->pid, &tids, &n) : 0;

	for (size_t i = 0; !e && i < n; i++)
		add_allowed(r->m, tids[i], mask, cpus);
	task->node = np_machine_node_of_cpus(r->m, cpus);
	if (!e && n > 1 && task->node == NP_NODE_NONE)
		add_busy_threads(st->pid, tids, n, last);
	else
		add_last(last, st->cpu);
	if (task->node == NP_NODE_NONE)
		task->node = np_machine_node_of_cpus(r->m, last);
	task->threads = n ? (unsigned int)n : 1;
	r->t->cpus[at] = cpus;
	numa_bitmask_free(mask);
	numa_bitmask_free(last);
	if (tids != &alone)
		free(tids);
	return e;
}

/* 0 when it is a user process that runs. */
static int check_process(const struct reader *r, pid_t pid, struct np_proc_stat *st)
{
	int e;

	if (r->err)
		return np_proc_check(pid, false, st, r->err);
	e = np_proc_stat(pid, st);
	return e ? e : st->kernel_thread || np_proc_has_ended(st) ? -ESRCH : 0;
}

static struct np_known age(const struct reader *r, unsigned long long start)
{
	double s = r->since_boot - (double)start / (double)sysconf(_SC_CLK_TCK);

	return (struct np_known) { s > 0 ? s : 0, NP_PROVENANCE_KERNEL };
}

/* Fills row at. 0, or -errno with err filled if there is one. */
static int read_task(struct reader *r, size_t at, pid_t pid)
{
	struct np_task *task = &r->t->task[at];
	struct np_proc_stat st;
	int e = check_process(r, pid, &st);

	if (e)
		return e;
	task->pid = pid;
	memcpy(task->comm, st.comm, sizeof(task->comm));
	task->cores = 1;
	task->penalty = 1.0;
	task->age_s = age(r, st.start);
	r->t->start[at] = st.start;
	r->t->ticks[at] = st.ticks;
	e = r->no_pages ? 0 : read_pages(r, at, pid);
	if (!e)
		e = read_threads(r, at, &st);
	if (!e || !r->err)
		return e;
	if (e == -EACCES || e == -EPERM)
		return np_proc_denied(pid, "read the pages of", r->err);
	return np_fail(r->err, e, "process %d (%s) cannot be read: %s", pid, st.comm,
		       e == -ESRCH ? "it has just exited" : strerror(-e));
}

static bool have_task(const struct np_tasks *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->task[i].pid == pid)
			return true;
	return false;
}

static int read_named(struct reader *r, const pid_t *pids, size_t n)
{
	int e = allocate(r, n);

	if (e)
		return np_fail(r->err, e, "out of memory");
	for (size_t i = 0; !e && i < n; i++) {
		if (have_task(r->t, pids[i]))
			continue;
		e = read_task(r, r->t->n, pids[i]);
		if (!e || r->t->cpus[r->t->n])
			r->t->n++;
	}
	return e;
}

/* Rows 0..n-1, shared out among threads. */
struct work {
	struct reader *r;
	void (*each)(struct reader *r, size_t i);
	size_t n;
	atomic_size_t next;
};

static void *work_on(void *arg)
{
	struct work *w = arg;
	size_t i;

	while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
		w->each(w->r, i);
	return NULL;
}

static void for_each_row(struct reader *r, size_t n, void (*each)(struct reader *r, size_t i))
{
	struct work w = { .r = r, .each = each, .n = n };
	pthread_t thread[MAX_READERS];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t started = 0;

	while (started < MAX_READERS && (long)started + 1 < cpus &&
	       (started + 1) * WORTH_A_THREAD < n &&
	       !pthread_create(&thread[started], NULL, work_on, &w))
		started++;
	work_on(&w);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}

static void read_row(struct reader *r, size_t i)
{
	struct np_task *task = &r->t->task[i];

	pid_t pid = task->pid;
	int e = read_task(r, i, pid);

	if (e)
		task->pid = e == -EACCES || e == -EPERM ? -pid : 0;
}

static void copy_row(struct np_tasks *t, size_t to, size_t from, size_t nodes)
{
	t->task[to] = t->task[from];
	t->start[to] = t->start[from];
	t->cpus[to] = t->cpus[from];
	t->ticks[to] = t->ticks[from];
	t->sampled[to] = t->sampled[from];
	t->chosen[to] = t->chosen[from];
	memcpy(t->pages + to * nodes, t->pages + from * nodes, nodes * sizeof(*t->pages));
	memcpy(t->shm_pages + to * nodes, t->shm_pages + from * nodes,
	       nodes * sizeof(*t->shm_pages));
	memcpy(t->file_pages + to * nodes, t->file_pages + from * nodes,
	       nodes * sizeof(*t->file_pages));
}

/* Those that may not be read or have gone are left out. */
static int read_some(struct reader *r, const pid_t *pids, size_t n)
{
	struct np_tasks *t = r->t;
	struct np_err *err = r->err;
	int e = allocate(r, n);

	if (e)
		return np_fail(r->err, e, "out of memory");
	for (size_t i = 0; i < n; i++)
		t->task[i].pid = pids[i];
	r->err = NULL;
	for_each_row(r, n, read_row)
		;
	r->err = err;
	for (size_t i = 0; i < n; i++) {
		if (t->task[i].pid < 0) {
			t->denied++;
			t->denied_pid = -t->task[i].pid;
		}
		if (t->task[i].pid <= 0)
			numa_bitmask_free(t->cpus[i]);
		else if (t->n++ != i)
			copy_row(t, t->n - 1, i, r->m->n_nodes);
	}
	return 0;
}

static int read_all(struct reader *r)
{
	pid_t *pids;
	size_t n;
	int e = np_proc_all(&pids, &n);

	if (e)
		return np_fail(r->err, e, "/proc cannot be read: %s", strerror(-e));
	for (size_t i = 0; i < n; i++)
		if (pids[i] == getpid())
			pids[i--] = pids[--n];
	e = read_some(r, pids, n);
	free(pids);
	return e;
}

/* cores is at least 1. */
static void measure_row(struct reader *r, size_t i)
{
	double hz = (double)sysconf(_SC_CLK_TCK), busy;
	struct np_task *task = &r->t->task[i];
	struct np_proc_stat st;

	if (np_proc_stat(task->pid, &st) || st.start != r->t->start[i] || st.ticks < r->t->ticks[i])
		return;
	busy = (double)(st.ticks - r->t->ticks[i]) / hz / r->passed;
	if (busy > task->threads) /* a tick more than there was time */
		busy = task->threads;
	r->t->busy[i] = busy;
	task->cores = busy < 1.5 ? 1 : (unsigned int)(busy + 0.5);
}

void np_tasks_measure_busy(struct np_tasks *t)
{
	struct reader r = { .t = t, .passed = np_clock(CLOCK_MONOTONIC) - t->read_at };

	if (r.passed > 0)
		for_each_row(&r, t->n, measure_row)
			;
}

static void begin(struct reader *r, struct np_tasks *t, const struct np_machine *m,
		  struct np_err *err)
{
	memset(t, 0, sizeof(*t));
	t->read_at = np_clock(CLOCK_MONOTONIC);
	*r = (struct reader) { .t = t, .m = m, .since_boot = np_clock(CLOCK_BOOTTIME), .err = err };
}

/* e: what reading them came to. */
static int finish(struct reader *r, int e)
{
	struct np_tasks *t = r->t;

	for (size_t i = 0; i < t->n; i++) {
		t->task[i].pages = t->pages + i * r->m->n_nodes;
		t->task[i].shm_pages = t->shm_pages + i * r->m->n_nodes;
	}
	if (e)
		np_tasks_free(t);
	return e;
}

int np_tasks_read(struct np_tasks *t, const struct np_machine *m, const pid_t *pids, size_t n_pids,
		  struct np_err *err)
{
	struct reader r;

	begin(&r, t, m, err);
	return finish(&r, n_pids ? read_named(&r, pids, n_pids) : read_all(&r));
}

int np_tasks_read_some(struct np_tasks *t, const struct np_machine *m, const pid_t *pids,
		       size_t n_pids, struct np_err *err)
{
	struct reader r;

	begin(&r, t, m, err);
	return finish(&r, read_some(&r, pids, n_pids));
}

int np_tasks_locate(struct np_tasks *t, const struct np_machine *m, const pid_t *pids,
		    size_t n_pids, struct np_err *err)
{
	struct reader r;

	begin(&r, t, m, err);
	r.no_pages = true;
	return finish(&r, read_some(&r, pids, n_pids));
}

void np_tasks_free(struct np_tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		numa_bitmask_free(t->cpus[i]);
	free(t->task);
	free(t->pages);
	free(t->shm_pages);
	free(t->file_pages);
	free(t->chosen);
	free(t->start);
	free(t->cpus);
	free(t->ticks);
	free(t->busy);
	free(t->sampled);
	free(t->counted);
	free(t->accesses);
	memset(t, 0, sizeof(*t));
}

bool np_tasks_were_sampled(const struct np_tasks *t, struct np_err *err)
{
	double worst = 0;
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		n += t->sampled[i] > 0;
		worst = t->sampled[i] > worst ? t->sampled[i] : worst;
	}
	if (n)
		np_fail(err, 0,
			"the pages of %zu large process%s were sampled: a node's share is "
			"within %.1f %% (95 %% of samples are)",
			n, n == 1 ? "" : "es", worst * 100);
	return n;
}

bool np_tasks_denied(const struct np_tasks *t, struct np_err *err)
{
	struct np_err why;

	if (!t->denied)
		return false;
	np_proc_denied(t->denied_pid, "read the pages of", &why);
	if (t->denied == 1)
		np_fail(err, 0, "1 process left out: %s", why.text);
	else
		np_fail(err, 0, "%zu processes left out, one of them: %s", t->denied, why.text);
	return true;
}

double np_task_locality(const struct np_machine *m, const struct np_task *t)
{
	uint64_t all = 0;

	for (size_t i = 0; i < m->n_nodes; i++)
		all += t->pages[i];
	if (!all || t->node == NP_NODE_NONE)
		return -1;
	return (double)t->pages[t->node] / (double)all;
}
