// SPDX-License-Identifier: GPL-2.0-only
#include "reserved_cpus.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../engine/affinity.h"
#include "../host/cgroup.h"
#include "../host/proc.h"
#include "../undo/inherited.h"
#include "../undo/placements.h"
#include "../undo/saved_affinity.h"

struct np_reserved {
	const char *root; /* np_reserved_open()'s */
	struct bitmask *isolated;
	struct np_placements placements; /* what the module has placed, once it was asked */
	bool asked_module;
	struct np_saved_affinity state; /* open while one task is looked at */
	bool open, refused;		/* another process holds it: waited for once */
};

/* False: there is no such file. */
static bool add_list(const char *folder, const char *file, struct bitmask *to)
{
	struct bitmask *more = numa_bitmask_alloc(NP_MAX_CPUS);
	char *text = np_read_file_of("%s/%s", folder, file);
	bool there = text;

	/* A kernel without such CPUs prints an empty line, or "(null)". */
	if (text && !np_list_parse_kernel(text, more))
		for (unsigned int cpu = 0; cpu < NP_MAX_CPUS; cpu++)
			if (numa_bitmask_isbitset(more, cpu))
				numa_bitmask_setbit(to, cpu);
	free(text);
	numa_bitmask_free(more);
	return there;
}

/* Those of isolated partitions, which before Linux 6.7 only the groups below the root one name. */
static void add_partitions(const char *group, struct bitmask *to)
{
	struct dirent *child;
	DIR *dir;

	if (add_list(group, "cpuset.cpus.isolated", to))
		return;
	dir = opendir(group);
	while (dir && (child = readdir(dir))) {
		char path[2 * PATH_MAX], *text;

		snprintf(path, sizeof(path), "%s/%s", group, child->d_name);
		text = np_read_file_of("%s/cpuset.cpus.partition", path);
		if (text && !strcmp(text, "isolated\n"))
			add_list(path, "cpuset.cpus.effective", to);
		free(text);
	}
	if (dir)
		closedir(dir);
}

static void read_isolated(struct np_reserved *p)
{
	char folder[PATH_MAX];
	struct np_err ignored;

	numa_bitmask_clearall(p->isolated);
	snprintf(folder, sizeof(folder), "%s/sys/devices/system/cpu", p->root);
	add_list(folder, "isolated", p->isolated);
	add_list(folder, "nohz_full", p->isolated);
	snprintf(folder, sizeof(folder), "%s/sys/fs/cgroup", p->root);
	if (p->root[0] || !np_cgroup_root(folder, sizeof(folder), &ignored))
		add_partitions(folder, p->isolated);
}

struct np_reserved *np_reserved_open(const char *root)
{
	struct np_reserved *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->isolated = numa_bitmask_alloc(NP_MAX_CPUS);
	p->root = root;
	read_isolated(p);
	return p;
}

void np_reserved_refresh(struct np_reserved *p)
{
	np_placements_free(&p->placements);
	p->asked_module = p->refused = false;
	read_isolated(p);
}

void np_reserved_close(struct np_reserved *p)
{
	if (!p)
		return;
	np_placements_free(&p->placements);
	numa_bitmask_free(p->isolated);
	free(p);
}

const struct bitmask *np_reserved_isolated(const struct np_reserved *p)
{
	return p->isolated;
}

void np_reserved_subtract(const struct np_reserved *p, struct np_machine *m)
{
	for (size_t cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] != NP_NODE_NONE &&
		    numa_bitmask_isbitset(p->isolated, (unsigned int)cpu))
			m->node[m->cpu_node[cpu]].cpus--;
}

static const struct np_placements *placements(struct np_reserved *p)
{
	if (!p->asked_module && np_placements_read(&p->placements))
		np_placements_free(&p->placements);
	p->asked_module = true;
	return &p->placements;
}

/* Whether the module has set the thread's present CPUs; cpus become those before that. */
static bool placed_by_module(struct np_reserved *p, pid_t tid, struct bitmask *cpus)
{
	return np_placements_to_saved(placements(p), tid, cpus);
}

void np_reserved_memory(struct np_reserved *p, pid_t pid, char *memory)
{
	if (memory[0])
		np_placements_to_saved_memory(placements(p), pid, memory);
}

/*
 * The same for system calls: by the thread's own record, or that from which it has inherited its
 * CPUs.
 */
static bool placed_by_calls(struct np_reserved *p, pid_t pid, pid_t tid, const struct bitmask *now,
			    struct bitmask *before)
{
	struct np_err ignored;
	const struct np_saved *r;
	struct np_proc_stat st;

	if (!p->open && !p->refused)
		p->refused = np_saved_affinity_open_kept(&p->state, &ignored);
	p->open = !p->refused;
	if (!p->open)
		return false;
	if (np_proc_thread_stat(pid, tid, &st))
		return false;
	r = np_saved_affinity_find(&p->state, tid);
	/* One of another start time is of a thread that had this number. */
	if (!r || st.start != r->start || !np_inherited_has(r, pid, now))
		r = np_inherited_origin(&p->state, pid, st.start, now);
	if (!r)
		return false;
	copy_bitmask_to_bitmask(r->original, before);
	return true;
}

/* Of the words that hold m's CPUs. */
static size_t words(const struct np_machine *m)
{
	size_t bits = 8 * sizeof(unsigned long);

	return (m->n_cpus + bits - 1) / bits;
}

static bool covers(const struct bitmask *mask, const struct bitmask *cpus, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cpus->maskp[i] & ~mask->maskp[i])
			return false;
	return true;
}

/* Affinities of a task's threads. */
struct choice {
	struct bitmask *first, *all; /* the first user-set affinity, and the union */
	size_t chosen, other;	     /* threads with and without a user-set affinity */
	bool differ;
};

/* The thread's CPUs, or those from before a placement by numaplace. False: it has exited. */
static bool own_cpus(struct np_reserved *p, pid_t pid, pid_t tid, struct bitmask *mask)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	bool there = !np_affinity_get(tid, now);

	if (there && (placed_by_module(p, tid, now) || !placed_by_calls(p, pid, tid, now, mask)))
		copy_bitmask_to_bitmask(now, mask);
	numa_bitmask_free(now);
	return there;
}

static void add_thread(struct np_reserved *p, pid_t pid, pid_t tid, const struct bitmask *allowed,
		       size_t n, struct bitmask *mask, struct choice *c)
{
	numa_bitmask_clearall(mask);
	if (numa_sched_getaffinity(tid, mask) <= 0)
		return; /* it has exited */
	if (!covers(mask, allowed, n) && !own_cpus(p, pid, tid, mask))
		return;
	if (covers(mask, allowed, n)) {
		c->other++;
		return;
	}
	if (!c->chosen++)
		copy_bitmask_to_bitmask(mask, c->first);
	else if (!numa_bitmask_equal(c->first, mask))
		c->differ = true;
	for (size_t i = 0; i < n; i++)
		c->all->maskp[i] |= mask->maskp[i];
}

static void add_threads(struct np_reserved *p, pid_t pid, const pid_t *tids, size_t n,
			const struct bitmask *allowed, size_t n_words, struct choice *c)
{
	struct bitmask *mask = numa_bitmask_alloc(NP_MAX_CPUS);

	for (size_t i = 0; i < n; i++)
		add_thread(p, pid, tids[i], allowed, n_words, mask, c);
	numa_bitmask_free(mask);
}

/* Where the threads differ, those that do nothing have no part in where the task is. */
static void choose_by_busy_threads(struct np_reserved *p, pid_t pid, pid_t *tids, size_t n,
				   const struct bitmask *allowed, size_t n_words, struct choice *c)
{
	struct np_proc_stat *st = calloc(n, sizeof(*st));

	if (!st)
		return;
	numa_bitmask_clearall(c->all);
	c->other = 0;
	c->differ = true; /* whatever the busy ones have, no thread is bound */
	add_threads(p, pid, tids, np_proc_busy_threads(pid, tids, n, st), allowed, n_words, c);
	free(st);
}

/* cpus becomes what is left. */
static enum np_pinned judge(const struct choice *c, const struct np_machine *m,
			    struct bitmask *cpus)
{
	if (!c->chosen)
		return NP_PINNED_NOT;
	for (size_t i = 0; i < words(m); i++)
		cpus->maskp[i] &= c->all->maskp[i];
	if (!c->differ && !c->other)
		return NP_PINNED_TASK;
	/* Threads that are all on one node stay where they are: nothing is to be bound. */
	if (c->other || np_machine_node_of_cpus(m, cpus) == NP_NODE_NONE)
		numa_bitmask_clearall(cpus);
	return NP_PINNED_THREADS;
}

static void keep_usable(const struct np_reserved *p, const struct np_machine *m,
			struct bitmask *cpus)
{
	for (unsigned int cpu = 0; cpu < NP_MAX_CPUS; cpu++)
		if (cpu >= m->n_cpus || m->cpu_node[cpu] == NP_NODE_NONE ||
		    numa_bitmask_isbitset(p->isolated, cpu))
			numa_bitmask_clearbit(cpus, cpu);
}

enum np_pinned np_reserved_narrow(struct np_reserved *p, const struct np_machine *m, pid_t pid,
				  struct bitmask *cpus)
{
	struct choice c = {
		.first = numa_bitmask_alloc(NP_MAX_CPUS),
		.all = numa_bitmask_alloc(NP_MAX_CPUS),
	};
	enum np_pinned pinned;
	pid_t *tids = NULL;
	size_t n = 0;

	keep_usable(p, m, cpus);
	if (np_proc_threads(pid, &tids, &n))
		n = 0;
	add_threads(p, pid, tids, n, cpus, words(m), &c);
	if (c.chosen && (c.other || c.differ))
		choose_by_busy_threads(p, pid, tids, n, cpus, words(m), &c);
	if (p->open)
		np_saved_affinity_keep(&p->state);
	p->open = false;
	pinned = judge(&c, m, cpus);
	free(tids);
	numa_bitmask_free(c.first);
	numa_bitmask_free(c.all);
	return pinned;
}
