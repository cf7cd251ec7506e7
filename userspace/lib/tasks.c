// SPDX-License-Identifier: GPL-2.0-only
#include "tasks.h"

#include <errno.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "list.h"
#include "proc.h"
#include "residency.h"

/* A thread counts for where a task runs when it did this share of the busiest one's work. */
#define BUSY_SHARE 10

struct reader {
	struct np_tasks *t;
	const struct np_machine *m;
	unsigned long long *ticks;	/* [n] used when the sample began */
	size_t room;
	char *err;
	size_t err_len;
};

static int grow(struct reader *r)
{
	struct np_tasks *t = r->t;
	size_t room = r->room ? r->room * 2 : 32, nodes = r->m->n_nodes;

	if (t->n < r->room)
		return 0;
#define GROW(array, count) do { \
		void *bigger = realloc(array, (count) * sizeof(*(array))); \
		if (!bigger) \
			return np_fail(r->err, r->err_len, -ENOMEM, "out of memory"); \
		(array) = bigger; \
	} while (0)
	GROW(t->task, room);
	GROW(t->pages, room * nodes);
	GROW(t->file_pages, room * nodes);
	GROW(t->start, room);
	GROW(t->cpus, room);
	GROW(r->ticks, room);
#undef GROW
	r->room = room;
	return 0;
}

struct count {
	const struct np_machine *m;
	uint64_t *anon, *file;
};

static int count_mapping(const struct np_mapping *map, void *arg)
{
	struct count *c = arg;
	uint64_t *into = np_mapping_anonymous(map) ? c->anon : c->file;

	for (size_t i = 0; i < c->m->n_nodes; i++)
		into[i] += map->pages[c->m->node[i].id];
	return 0;
}

static int read_pages(struct reader *r, size_t at, pid_t pid)
{
	size_t nodes = r->m->n_nodes;
	struct count c = { r->m, r->t->pages + at * nodes, r->t->file_pages + at * nodes };

	memset(c.anon, 0, nodes * sizeof(*c.anon));
	memset(c.file, 0, nodes * sizeof(*c.file));
	return np_mappings(pid, r->m->page_size, count_mapping, &c);
}

/*
 * The node that a task runs on: the one that all its threads are bound to, else
 * the one where all its busy threads last ran.
 */
static int find_node(const struct np_machine *m, pid_t pid, const pid_t *tids, size_t n,
		     struct bitmask *cpus)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS), *last = numa_bitmask_alloc(NP_MAX_CPUS);
	unsigned long long busiest = 0;
	struct np_proc_stat st;
	int node;

	for (size_t i = 0; i < n; i++) {
		numa_bitmask_clearall(mask);
		if (numa_sched_getaffinity(tids[i], mask) > 0)
			for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++)
				if (numa_bitmask_isbitset(mask, cpu))
					numa_bitmask_setbit(cpus, cpu);
		if (!np_proc_thread_stat(pid, tids[i], &st) && st.ticks > busiest)
			busiest = st.ticks;
	}
	for (size_t i = 0; i < n; i++)
		if (!np_proc_thread_stat(pid, tids[i], &st) &&
		    st.ticks * BUSY_SHARE >= busiest && st.cpu < NP_MAX_CPUS)
			numa_bitmask_setbit(last, (unsigned int)st.cpu);
	node = np_machine_node_of_cpus(m, cpus);
	if (node == NP_NODE_NONE)
		node = np_machine_node_of_cpus(m, last);
	numa_bitmask_free(mask);
	numa_bitmask_free(last);
	return node;
}

static int read_threads(struct reader *r, size_t at, pid_t pid)
{
	struct np_task *task = &r->t->task[at];
	pid_t *tids;
	size_t n;
	int e = np_proc_threads(pid, &tids, &n);

	if (e)
		return e;
	r->t->cpus[at] = numa_bitmask_alloc(NP_MAX_CPUS);
	task->threads = n ? (unsigned int)n : 1;
	task->node = find_node(r->m, pid, tids, n, r->t->cpus[at]);
	free(tids);
	return 0;
}

/* Appends the task. 0, or -errno with err filled. */
static int add_task(struct reader *r, pid_t pid)
{
	size_t at = r->t->n;
	struct np_proc_stat st;
	struct np_task *task;
	int e = np_proc_check(pid, false, &st, r->err, r->err_len);

	if (e || (e = grow(r)))
		return e;
	task = &r->t->task[at];
	memset(task, 0, sizeof(*task));
	task->pid = pid;
	memcpy(task->comm, st.comm, sizeof(task->comm));
	task->cores = 1;
	task->penalty = 1.0;
	r->t->start[at] = st.start;
	r->ticks[at] = st.ticks;
	e = read_pages(r, at, pid);
	if (!e)
		e = read_threads(r, at, pid);
	if (e == -EACCES || e == -EPERM)
		return np_proc_denied(pid, "read the pages of", r->err, r->err_len);
	if (e)
		return np_fail(r->err, r->err_len, e, "process %d (%s) cannot be read: %s", pid,
			       st.comm, e == -ESRCH ? "it has just exited" : strerror(-e));
	r->t->n++;
	return 0;
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
	for (size_t i = 0; i < n; i++) {
		int e = have_task(r->t, pids[i]) ? 0 : add_task(r, pids[i]);

		if (e)
			return e;
	}
	return 0;
}

/* Those that may not be read, have gone or have no memory are left out. */
static int read_some(struct reader *r, const pid_t *pids, size_t n)
{
	int e = 0;

	for (size_t i = 0; i < n && e != -ENOMEM; i++)
		e = add_task(r, pids[i]);
	return e == -ENOMEM ? e : 0;
}

static int read_all(struct reader *r)
{
	pid_t *pids;
	size_t n;
	int e = np_proc_all(&pids, &n);

	if (e)
		return np_fail(r->err, r->err_len, e, "/proc cannot be read: %s", strerror(-e));
	for (size_t i = 0; i < n; i++)
		if (pids[i] == getpid())
			pids[i--] = pids[--n];
	e = read_some(r, pids, n);
	free(pids);
	return e;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* CPUs kept busy between began (when ticks were read) and now, at least 1. */
static void measure_cores(struct reader *r, double began, unsigned int sample_ms)
{
	double hz = (double)sysconf(_SC_CLK_TCK), left = sample_ms / 1e3 - (seconds() - began);
	struct timespec nap = { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };

	if (left > 0)
		nanosleep(&nap, NULL);
	for (size_t i = 0; i < r->t->n; i++) {
		struct np_task *task = &r->t->task[i];
		double passed = seconds() - began, busy;
		struct np_proc_stat st;

		if (np_proc_stat(task->pid, &st) || st.start != r->t->start[i])
			continue;
		busy = (double)(st.ticks - r->ticks[i]) / hz / passed;
		task->cores = busy < 1.5 ? 1 : (unsigned int)(busy + 0.5);
	}
}

/* e: what reading them came to. */
static int finish(struct reader *r, int e, double began, unsigned int sample_ms)
{
	struct np_tasks *t = r->t;

	if (!e && sample_ms)
		measure_cores(r, began, sample_ms);
	for (size_t i = 0; i < t->n; i++)
		t->task[i].pages = t->pages + i * r->m->n_nodes;
	free(r->ticks);
	if (e)
		np_tasks_free(t);
	return e;
}

int np_tasks_read(struct np_tasks *t, const struct np_machine *m, const pid_t *pids,
		  size_t n_pids, unsigned int sample_ms, char *err, size_t err_len)
{
	struct reader r = { .t = t, .m = m, .err = err, .err_len = err_len };
	double began = seconds();

	memset(t, 0, sizeof(*t));
	return finish(&r, n_pids ? read_named(&r, pids, n_pids) : read_all(&r), began, sample_ms);
}

int np_tasks_read_some(struct np_tasks *t, const struct np_machine *m, const pid_t *pids,
		       size_t n_pids, unsigned int sample_ms, char *err, size_t err_len)
{
	struct reader r = { .t = t, .m = m, .err = err, .err_len = err_len };
	double began = seconds();

	memset(t, 0, sizeof(*t));
	return finish(&r, read_some(&r, pids, n_pids), began, sample_ms);
}

void np_tasks_free(struct np_tasks *t)
{
	for (size_t i = 0; i < t->n; i++)
		numa_bitmask_free(t->cpus[i]);
	free(t->task);
	free(t->pages);
	free(t->file_pages);
	free(t->start);
	free(t->cpus);
	memset(t, 0, sizeof(*t));
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

/* A number from low up that ends at the end of the text. */
static bool parse_number(const char *text, double low, double *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*value = strtod(text, &end);
	return end != text && *end == '\0' && *value >= low && *value < 1e9;
}

struct assumption {
	double pid, penalty, mpki;	/* negative: not said */
};

static bool parse_assumption(char *words, struct assumption *a)
{
	char *save, *word;

	for (word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		bool ok = false;

		if (!strncmp(word, "pid=", 4))
			ok = parse_number(word + 4, 1, &a->pid) && a->pid == (double)(pid_t)a->pid;
		else if (!strncmp(word, "penalty=", 8))
			ok = parse_number(word + 8, 1, &a->penalty);
		else if (!strncmp(word, "mpki=", 5))
			ok = parse_number(word + 5, 0, &a->mpki);
		if (!ok)
			return false;
	}
	return a->pid > 0 && (a->penalty >= 0 || a->mpki >= 0);
}

int np_tasks_assume(struct np_tasks *t, const char *text, char *err, size_t err_len)
{
	struct assumption a = { -1, -1, -1 };
	char *words = strdup(text);
	bool ok = words && parse_assumption(words, &a);

	free(words);
	if (!ok)
		return np_fail(err, err_len, -EINVAL,
			       "assumption \"%s\" is not pid=N[,penalty=P][,mpki=M] "
			       "with P at least 1 and M at least 0", text);
	for (size_t i = 0; i < t->n; i++) {
		struct np_task *task = &t->task[i];

		if (task->pid != (pid_t)a.pid)
			continue;
		if (a.penalty >= 0) {
			task->penalty = a.penalty;
			task->penalty_source = NP_SOURCE_DECLARED;
		}
		if (a.mpki >= 0) {
			task->mpki = a.mpki;
			task->mpki_source = NP_SOURCE_DECLARED;
		}
		return 0;
	}
	return np_fail(err, err_len, -ESRCH,
		       "assumption \"%s\": process %d is not among the tasks given", text,
		       (pid_t)a.pid);
}
