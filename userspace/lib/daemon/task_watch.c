// SPDX-License-Identifier: GPL-2.0-only
#include "task_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/error.h"
#include "../host/cgroup.h"
#include "../host/clock.h"
#include "../host/proc.h"

/* A task that slept at its last looks is looked at every second, fourth, eighth interval. */
#define MAX_SKIP 8
/* Pages may go elsewhere without a trace in the size of the task: read them again after this. */
#define REREAD 30
/* A task that grew or shrank by more than a tenth is read again. */
#define GROWTH 0.1

int np_watch_open(struct np_watch *w, const struct np_watch_rules *rules, char *err, size_t err_len)
{
	struct np_proc_stat st;

	*w = (struct np_watch) { .rules = rules, .cpusets = np_cpusets_open(),
				 .pins = np_pins_open(""),
				 .named = calloc(rules->n_pids + 1, sizeof(*w->named)) };
	np_proc_allow_many_files();	/* one for each task */
	if (!w->cpusets || !w->pins || !w->named)
		return np_fail(err, err_len, -ENOMEM, "out of memory");
	for (size_t i = 0; i < rules->n_pids; i++)
		w->named[i] = np_proc_stat(rules->pids[i], &st) ? 0 : st.start;
	return 0;
}

static void forget_rows(struct np_watched *t)
{
	if (t->have) {
		np_tasks_free(&t->task);
		np_confined_free(&t->confined);
	}
	t->have = false;
	free(t->accesses);
	t->accesses = NULL;
}

static void forget(struct np_watched *t)
{
	if (t->stat >= 0)
		close(t->stat);
	forget_rows(t);
}

void np_watch_drop_rows(struct np_watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		forget_rows(&w->task[i]);
		w->task[i].counted = (struct np_task) { 0 };
		w->task[i].steady = (struct np_steady) { 0 };
	}
	w->counting = 0;
}

void np_watch_close(struct np_watch *w)
{
	for (size_t i = 0; i < w->n; i++)
		forget(&w->task[i]);
	free(w->task);
	free(w->named);
	if (w->cpusets)
		np_cpusets_close(w->cpusets);
	np_pins_close(w->pins);
	*w = (struct np_watch) { 0 };
}

/* Where pid is, or would have to be put in. */
static size_t place_of(const struct np_watch *w, pid_t pid)
{
	size_t low = 0, high = w->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (w->task[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct np_watched *np_watch_find(const struct np_watch *w, pid_t pid)
{
	size_t at = place_of(w, pid);

	return at < w->n && w->task[at].pid == pid ? &w->task[at] : NULL;
}

static struct np_watched *add(struct np_watch *w, pid_t pid)
{
	size_t at = place_of(w, pid);

	if (w->n == w->room) {
		size_t room = w->room ? w->room * 2 : 256;
		struct np_watched *bigger = realloc(w->task, room * sizeof(*bigger));

		if (!bigger)
			return NULL;
		w->task = bigger;
		w->room = room;
	}
	memmove(&w->task[at + 1], &w->task[at], (w->n - at) * sizeof(*w->task));
	w->n++;
	w->task[at] = (struct np_watched) { .pid = pid, .stat = -1 };
	return &w->task[at];
}

/* Field n of /proc/PID/stat as proc(5) counts them; line begins after the name, at field 3. */
static const char *field(const char *line, unsigned int from, unsigned int n)
{
	for (; line && from < n; from++) {
		line = strchr(line, ' ');
		line = line ? line + 1 : NULL;
	}
	return line;
}

/* Only the fields that change. False when the task is gone or a zombie. */
static bool parse_look(char *text, struct np_watched *t, unsigned long long *ticks)
{
	char *name_end = strrchr(text, ')');
	const char *state = name_end && name_end[1] ? name_end + 2 : NULL;
	const char *used = field(state, 3, 14), *threads = field(used, 14, 20);
	const char *size = field(threads, 20, 24), *last = field(size, 24, 39);

	if (!last || *state == 'Z' || *state == 'X')
		return false;
	*ticks = strtoull(used, NULL, 10) + strtoull(field(used, 14, 15), NULL, 10);
	t->threads = (unsigned int)strtoul(threads, NULL, 10);
	t->rss = strtoull(size, NULL, 10);
	t->cpu = atoi(last);
	return true;
}

static bool read_stat(struct np_watched *t, char *text, size_t len)
{
	char path[64];
	ssize_t n;

	if (t->stat < 0) {
		snprintf(path, sizeof(path), "/proc/%d/stat", t->pid);
		t->stat = open(path, O_RDONLY | O_CLOEXEC);
	}
	/* The open file is the process's own: a reused pid gives ESRCH. */
	n = t->stat < 0 ? -1 : pread(t->stat, text, len - 1, 0);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

static bool is_busy(const struct np_watch *w, const struct np_watched *t)
{
	return t->busy >= w->rules->min_busy;
}

static void schedule(const struct np_watch *w, struct np_watched *t, unsigned int now)
{
	if (is_busy(w, t)) {
		t->last_busy = now;
		t->ever_busy = true;
		t->idle_looks = 0;
	} else if (t->idle_looks < MAX_SKIP) {
		t->idle_looks++;
	}
	t->next_look = now + (t->idle_looks < 2 ? 1 : t->idle_looks < 4 ? 2 :
			      t->idle_looks < MAX_SKIP ? 4 : MAX_SKIP);
}

/* False when it is gone. */
static bool look_at(const struct np_watch *w, struct np_watched *t, unsigned int now)
{
	unsigned long long ticks;
	double at, passed;
	char text[1024];

	if (!read_stat(t, text, sizeof(text)) || !parse_look(text, t, &ticks))
		return false;
	at = np_clock_of_ticks();
	passed = at - t->looked_at;
	t->busy = t->looked_at > 0 && passed > 0 ?
		  (double)(ticks - t->ticks) / (double)sysconf(_SC_CLK_TCK) / passed : 0;
	if (t->busy > t->threads)	/* a tick more than there was time */
		t->busy = t->threads;
	t->ticks = ticks;
	t->looked_at = at;
	schedule(w, t, now);
	return true;
}

/* Not a task that reuses the pid of a named one that has exited. */
static bool is_named(const struct np_watch *w, const struct np_watched *t)
{
	for (size_t i = 0; i < w->rules->n_pids; i++)
		if (w->rules->pids[i] == t->pid && w->named[i] == t->start)
			return true;
	return false;
}

/* Named, or a descendant of one that is a member; a child may have a lower pid. */
static bool belongs(const struct np_watch *w, const struct np_watched *t)
{
	for (int depth = 0; t && depth < 64; depth++) {
		if (is_named(w, t))
			return true;
		t = np_watch_find(w, t->ppid);
	}
	return false;
}

static bool meet(struct np_watch *w, pid_t pid)
{
	struct np_watched *t = np_watch_find(w, pid);
	const struct np_watched *parent;
	struct np_proc_stat st;

	if (t && t->gone) {	/* the pid was reused */
		forget(t);
		*t = (struct np_watched) { .pid = pid, .stat = -1 };
	} else if (!t) {
		t = add(w, pid);
		if (!t)
			return false;
	}
	if (!t->start) {
		if (np_proc_stat(pid, &st) || st.kernel_thread)
			st.ppid = -1;	/* known, so that it is not read again and again */
		t->ppid = st.ppid;
		t->start = st.start;
		parent = np_watch_find(w, st.ppid);
		t->heir = parent && (parent->placed || parent->heir);
		memcpy(t->comm, st.comm, sizeof(t->comm));
	}
	t->seen = true;
	return true;
}

static int list(const struct np_watch *w, pid_t **pids, size_t *n, char *err, size_t err_len)
{
	int e;

	if (w->rules->cgroup)
		return np_cgroup_tasks(w->rules->cgroup, pids, n, err, err_len);
	e = np_proc_all(pids, n);
	return e ? np_fail(err, err_len, e, "/proc cannot be read: %s", strerror(-e)) : 0;
}

/* One that has left the cgroup is no longer watched, but its placement is to be undone. */
static bool has_left(const struct np_watch *w, struct np_watched *t)
{
	char text[1024];

	return w->rules->cgroup && (t->placed || t->heir) && read_stat(t, text, sizeof(text));
}

static void drop_unseen(struct np_watch *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct np_watched *t = &w->task[i];

		if (!t->seen && !has_left(w, t)) {
			forget(t);
			continue;
		}
		t->member &= t->seen;
		w->task[kept++] = *t;
	}
	w->n = kept;
}

static void choose_members(struct np_watch *w)
{
	bool all = !w->rules->n_pids;
	pid_t self = getpid();

	w->members = 0;
	for (size_t i = 0; i < w->n; i++) {
		struct np_watched *t = &w->task[i];

		if (!t->judged || (w->rules->cgroup && t->seen && !t->gone))
			t->member = t->ppid >= 0 && t->pid != self && (all || belongs(w, t));
		t->judged = true;
		w->members += t->member;
	}
}

/* The last pid that the kernel allocated: unchanged, there is no new task. */
static unsigned long last_pid(void)
{
	char *text = np_read_file("/proc/loadavg"), *word = text ? strrchr(text, ' ') : NULL;
	unsigned long pid = word ? strtoul(word, NULL, 10) : 0;

	free(text);
	return pid;
}

int np_watch_list(struct np_watch *w, char *err, size_t err_len)
{
	unsigned long last = last_pid();
	pid_t *pids;
	size_t n;
	int e;

	/* A cgroup's tasks change without a new pid. */
	if (w->n && last && last == w->last_pid && !w->rules->cgroup)
		return 0;
	e = list(w, &pids, &n, err, err_len);
	if (e)
		return e;
	for (size_t i = 0; i < w->n; i++)
		w->task[i].seen = false;
	for (size_t i = 0; !e && i < n; i++)
		if (!meet(w, pids[i]))
			e = np_fail(err, err_len, -ENOMEM, "out of memory");
	free(pids);
	if (e)
		return e;
	w->last_pid = last;
	drop_unseen(w);
	choose_members(w);
	return 0;
}

static bool matters(const struct np_watch *w, const struct np_watched *t, unsigned int now)
{
	return t->member && !t->denied && t->ever_busy && now - t->last_busy <= w->rules->pause &&
	       t->rss >= w->rules->min_pages;
}

bool np_watch_counts(const struct np_watch *w, const struct np_watched *t, unsigned int now)
{
	return t->have && !t->excluded && matters(w, t, now);
}

static int node_of(const struct np_machine *m, int cpu)
{
	return cpu >= 0 && (size_t)cpu < m->n_cpus ? m->cpu_node[cpu] : NP_NODE_NONE;
}

/* Several threads, of which only the leader's CPU is looked at: it is elsewhere now. */
static bool may_run_elsewhere(const struct np_machine *m, const struct np_watched *t)
{
	return node_of(m, t->cpu) != node_of(m, t->read_cpu) &&
	       (t->threads > 1 || t->task.task[0].threads > 1);
}

static bool is_stale(const struct np_machine *m, const struct np_watched *t, unsigned int now)
{
	double change = (double)t->rss - (double)t->read_rss;

	if (!t->have || now - t->read_at >= REREAD)
		return true;
	if (change < 0)
		change = -change;
	return change > GROWTH * (double)t->read_rss || may_run_elsewhere(m, t);
}

/* Of one thread that may run on several nodes it is enough to know where it did last. */
static bool follow(const struct np_machine *m, struct np_watched *t)
{
	struct np_task *task = t->have ? &t->task.task[0] : NULL;
	int node = node_of(m, t->cpu);

	if (!task || task->threads > 1 || t->threads > 1 || node == task->node ||
	    np_machine_node_of_cpus(m, t->task.cpus[0]) != NP_NODE_NONE)
		return false;
	task->node = node;
	t->read_cpu = t->cpu;
	return true;
}

static unsigned int cores_of(const struct np_watched *t)
{
	return t->busy < 1.5 ? 1 : (unsigned int)(t->busy + 0.5);
}

bool np_watch_read(struct np_watch *w, const struct np_machine *m, struct np_watched *t,
		   unsigned int now)
{
	double began = np_clock_of_work();
	struct np_confined confined;
	struct np_tasks task;
	char err[256];
	int e = np_tasks_read(&task, m, &t->pid, 1, 0, err, sizeof(err));

	t->denied |= e == -EPERM || e == -EACCES;
	if (!e && task.start[0] != t->start) {
		np_tasks_free(&task);
		e = -ESRCH;
	}
	if (!e && np_confined_read(&confined, m, &task, w->cpusets,
				   w->rules->override ? NULL : w->pins)) {
		np_tasks_free(&task);
		e = -ENOMEM;
	}
	if (!e && t->have)	/* what fork() left shared only becomes less: once is enough */
		task.task[0].shared_pages = t->task.task[0].shared_pages;
	else if (!e)
		np_tasks_find_shared(&task, m);
	if (t->have && !e) {
		np_tasks_free(&t->task);
		np_confined_free(&t->confined);
	}
	t->read_at = now;
	t->read_cost = np_clock_of_work() - began;
	t->read_rss = t->rss;
	t->read_cpu = t->cpu;
	if (e)
		return false;
	t->task = task;
	t->task.task[0].cores = cores_of(t);
	t->excluded = np_excluded(&w->rules->exclude, t->pid, task.task[0].comm);
	t->confined = confined;
	t->have = true;
	return true;
}

/* What reading tasks again may take of an interval. */
static double reread_budget(const struct np_watch *w)
{
	return w->rules->read_budget / 4;
}

/* Reading it takes more than an interval has for that: it waits until earlier ones have been made up for. */
static bool is_costly(const struct np_watch *w, const struct np_watched *t)
{
	return t->have && t->read_cost > reread_budget(w);
}

/* The one to read next: one that is new, else the one that was read longest ago. */
static struct np_watched *next_to_read(const struct np_watch *w, const struct np_machine *m,
				       unsigned int now)
{
	struct np_watched *next = NULL;

	for (size_t i = 0; i < w->n; i++) {
		struct np_watched *t = &w->task[i];

		if (!matters(w, t, now) || t->read_at == now || !is_stale(m, t, now) ||
		    (is_costly(w, t) && w->debt > 0))
			continue;
		if (!next || (next->have && (!t->have || t->read_at < next->read_at)))
			next = t;
	}
	return next;
}

/* Reads the task again. False when a plan would be made from the same. */
static bool read_differs(struct np_watch *w, const struct np_machine *m, struct np_watched *t,
			 unsigned int now)
{
	uint64_t *before = t->have ? malloc(m->n_nodes * sizeof(*before)) : NULL;
	int node = t->have ? t->task.task[0].node : NP_NODE_NONE;
	bool same;

	if (before)
		memcpy(before, t->task.pages, m->n_nodes * sizeof(*before));
	same = np_watch_read(w, m, t, now) && before && t->task.task[0].node == node &&
	       !memcmp(before, t->task.pages, m->n_nodes * sizeof(*before));
	free(before);
	return !same;
}

/*
 * As long as the budget lasts, a quarter of it for tasks that were read before; at least
 * one an interval. A costly one is read so seldom that it takes no more than that quarter on average.
 */
static bool read_stale(struct np_watch *w, const struct np_machine *m, unsigned int now)
{
	double began = np_clock_of_work(), budget = w->rules->read_budget;
	struct np_watched *t;
	bool changed = false, any = false;

	w->debt = w->debt > reread_budget(w) ? w->debt - reread_budget(w) : 0;
	while ((t = next_to_read(w, m, now))) {
		if (any && np_clock_of_work() - began >= (t->have ? budget / 4 : budget))
			break;
		changed |= read_differs(w, m, t, now);
		any = true;
		if (is_costly(w, t))
			w->debt += t->read_cost;
	}
	return changed;
}

int np_watch_look(struct np_watch *w, const struct np_machine *m, unsigned int now, bool *changed,
		  char *err, size_t err_len)
{
	size_t counted = w->counting;
	int e = np_watch_list(w, err, err_len);

	if (e)
		return e;
	w->counting = 0;
	np_cpusets_refresh(w->cpusets);
	np_pins_refresh(w->pins);
	for (size_t i = 0; i < w->n; i++) {
		struct np_watched *t = &w->task[i];
		unsigned int cores = cores_of(t);

		if (!t->member || now < t->next_look)
			continue;
		if (!look_at(w, t, now)) {
			t->member = false;
			t->gone = true;
		} else if (t->have && cores_of(t) != cores) {
			*changed = true;
		}
		*changed |= t->member && follow(m, t);
		if (t->have)
			t->task.task[0].cores = cores_of(t);
	}
	*changed |= read_stale(w, m, now);
	for (size_t i = 0; i < w->n; i++)
		w->counting += np_watch_counts(w, &w->task[i], now);
	*changed |= w->counting != counted;
	return 0;
}
