// SPDX-License-Identifier: GPL-2.0-only
#include "family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../host/proc.h"

#define BUSY_CPUS 0.1
/* A task that pauses keeps its place for so many seconds. */
#define PAUSE 5
/* Seconds: a shorter interval cannot tell which task is busy; the kernel counts in ticks. */
#define SHORTEST 0.05

struct process {
	struct np_proc_stat st;
	bool in;
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct np_member *np_family_find(const struct np_family *f, pid_t pid)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->member[i].pid == pid)
			return &f->member[i];
	return NULL;
}

/* Every process that runs. The caller frees *all. */
static int read_processes(struct process **all, size_t *n)
{
	size_t n_pids, kept = 0;
	pid_t *pids;
	int e = np_proc_all(&pids, &n_pids);

	if (e)
		return e;
	*all = calloc(n_pids + 1, sizeof(**all));
	for (size_t i = 0; *all && i < n_pids; i++)
		if (!np_proc_stat(pids[i], &(*all)[kept].st) && (*all)[kept].st.state != 'Z')
			kept++;
	free(pids);
	*n = kept;
	return *all ? 0 : -ENOMEM;
}

static bool is_in(const struct process *all, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].in && all[i].st.pid == pid)
			return true;
	return false;
}

/* Marks the descendants of ancestor; a child may be listed before its parent. */
static size_t mark(struct process *all, size_t n, pid_t ancestor)
{
	size_t marked = 0;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			if (all[i].in || (all[i].st.ppid != ancestor &&
					  !is_in(all, n, all[i].st.ppid)))
				continue;
			all[i].in = more = true;
			marked++;
		}
	}
	return marked;
}

/* Resident pages less those of files and shared memory; 0 when it has just exited. */
static uint64_t anonymous_pages(pid_t pid)
{
	unsigned long long resident = 0, shared = 0;
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	text = np_read_file(path);
	if (text && sscanf(text, "%*u %llu %llu", &resident, &shared) != 2)
		resident = shared = 0;
	free(text);
	return resident > shared ? resident - shared : 0;
}

static struct np_member meet(const struct np_family *f, const struct np_proc_stat *st, double now)
{
	const struct np_member *old = np_family_find(f, st->pid);
	double passed = now - f->updated;
	struct np_member m = { .pid = st->pid, .start = st->start };
	bool known = old && old->start == st->start;

	if (known)
		m = *old;
	m.anon = anonymous_pages(m.pid);
	if (known && passed < SHORTEST)
		return m;
	if ((double)(st->ticks - m.ticks) >= BUSY_CPUS * passed * (double)sysconf(_SC_CLK_TCK))
		m.last_busy = now;
	m.busy = m.last_busy > 0 && now - m.last_busy < PAUSE;
	m.ticks = st->ticks;
	return m;
}

int np_family_update(struct np_family *f)
{
	struct np_member *member;
	struct process *all;
	double now = seconds();
	size_t n, n_in, at = 0;
	int e = read_processes(&all, &n);

	if (e)
		return e;
	n_in = mark(all, n, f->ancestor);
	member = calloc(n_in + 1, sizeof(*member));
	for (size_t i = 0; member && i < n; i++)
		if (all[i].in)
			member[at++] = meet(f, &all[i].st, now);
	free(all);
	if (!member)
		return -ENOMEM;
	free(f->member);
	f->member = member;
	f->n = at;
	if (now - f->updated >= SHORTEST)
		f->updated = now;
	return 0;
}

void np_family_free(struct np_family *f)
{
	free(f->member);
	f->member = NULL;
	f->n = 0;
}
