// SPDX-License-Identifier: GPL-2.0-only
/* Placing through the module, and by system calls where the module may not. */
#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../host/cgroup.h"
#include "../host/mempolicy.h"
#include "../host/module_files.h"
#include "../host/proc.h"
#include "../undo/placements.h"
#include "affinity.h"
#include "module.h"

/* In a process of its own: takes the policy, then writes the line on its behalf. */
static int write_with_policy(const struct np_place_request *r, const char *line)
{
	const struct bitmask *nodes = r->mem_nodes;

	if (set_mempolicy(r->mem_mode, nodes ? nodes->maskp : NULL, nodes ? nodes->size + 1 : 0))
		return errno == EINVAL ? -ENOSYS : -errno;
	return np_module_write("place", line);
}

/*
 * The module installs the writer's own memory policy in the target, because
 * only the kernel's set_mempolicy() can make a valid one.
 */
static int write_place(const struct np_place_request *r, const char *line)
{
	int pipes[2], e = -EIO;
	pid_t child;

	if (r->mem_mode < 0)
		return np_module_write("place", line);
	if (pipe(pipes))
		return -errno;
	child = fork();
	if (child == 0) {
		e = write_with_policy(r, line);
		_exit(write(pipes[1], &e, sizeof(e)) != sizeof(e));
	}
	close(pipes[1]);
	if (child < 0)
		e = -errno;
	else if (read(pipes[0], &e, sizeof(e)) != sizeof(e))
		e = -EIO;
	close(pipes[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return e;
}

/* Calls each() for every thread that is meant, with its CPUs; true when it is true for one. */
static bool any_thread(const struct np_place_request *r, const struct np_placements *placements,
		       bool (*each)(const struct bitmask *now, const struct bitmask *cpus))
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	pid_t *tids = NULL, one = r->pid;
	bool found = false;
	size_t n = 1;

	if (!r->one_thread && np_proc_threads(r->pid, &tids, &n))
		n = 0;
	for (size_t i = 0; !found && i < n; i++) {
		pid_t tid = tids ? tids[i] : one;

		if (np_affinity_get(tid, now))
			continue;
		np_placements_to_saved(placements, tid, now);
		found = each(now, r->cpus);
	}
	free(tids);
	numa_bitmask_free(now);
	return found;
}

static bool differs(const struct bitmask *now, const struct bitmask *cpus)
{
	return !numa_bitmask_equal(now, cpus);
}

static bool overlaps_in_part(const struct bitmask *now, const struct bitmask *cpus)
{
	bool both = false, beyond = false;

	for (unsigned int cpu = 0; cpu < NP_MAX_CPUS; cpu++) {
		if (!numa_bitmask_isbitset(cpus, cpu))
			continue;
		if (numa_bitmask_isbitset(now, cpu))
			both = true;
		else
			beyond = true;
	}
	return both && beyond;
}

/* Whether the cpuset of the process allows all these CPUs. */
static bool is_allowed(pid_t pid, const struct bitmask *cpus)
{
	struct bitmask *allowed = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_cpusets *sets = np_cpusets_open();
	bool all = sets && !np_cpusets_cpus(sets, pid, allowed);

	for (unsigned int cpu = 0; all && cpu < NP_MAX_CPUS; cpu++)
		all = !numa_bitmask_isbitset(cpus, cpu) || numa_bitmask_isbitset(allowed, cpu);
	np_cpusets_close(sets);
	numa_bitmask_free(allowed);
	return all;
}

/* Whether the module would give less; of what it has placed, by the CPUs from before. */
static bool would_be_narrowed(const struct np_place_request *r)
{
	struct np_placements placements = { 0 };
	bool result = !is_allowed(r->pid, r->cpus) || np_placements_read(&placements) ||
		      any_thread(r, &placements, overlaps_in_part);

	np_placements_free(&placements);
	return result;
}

static int write_line(const struct np_place_request *r)
{
	char line[NUMAPLACE_MAX_WRITE], cpus[NUMAPLACE_MAX_WRITE / 2];

	if (r->cpus)
		np_list_format(r->cpus, cpus, sizeof(cpus));
	snprintf(line, sizeof(line), "pid=%d threads=%s%s%s%s inherit=%d\n", r->pid,
		 r->one_thread ? "one" : "all", r->cpus ? " cpus=" : "", r->cpus ? cpus : "",
		 r->mem_mode >= 0 ? " mem=caller" : "", r->inherit);
	return write_place(r, line);
}

/*
 * From Linux 6.2 on, CPUs that a task has chosen for itself (numactl does so
 * for the programs that it starts) narrow what the module can give it, and in
 * a cpuset other than the root's the module cannot tell which are allowed.
 * sched_setaffinity(2) knows no such limits. -EAGAIN: use that, on top of what the module did.
 * It is not restored before: that would end its earlier placements, memory policies too.
 */
static int place_by_module(const struct np_place_request *r, struct np_err *err)
{
	int e;

	if (r->cpus && would_be_narrowed(r))
		return -EAGAIN;
	e = write_line(r);
	if (e == -EINVAL && r->cpus)
		return -EAGAIN;
	if (e)
		return np_module_refused(r->pid, "place", e, err);
	return r->cpus && any_thread(r, &(struct np_placements) { 0 }, differs) ? -EAGAIN : 0;
}

/* CPUs by system calls; then the memory policy by the module. */
static int place_by_both(const struct np_place_request *r, struct np_err *err)
{
	struct np_place_request cpus = *r, memory = *r;
	struct np_affinity_undo *undo;
	struct np_err ignored;
	int e;

	if (!r->inherit)
		return np_fail(err, -EOPNOTSUPP,
			       "the CPUs of process %d can only be set with sched_setaffinity(2), "
			       "and those children inherit",
			       r->pid);
	cpus.undo = &undo;
	e = np_affinity_place(&cpus, err);
	memory.cpus = NULL;
	if (!e && r->mem_mode >= 0) {
		e = write_line(&memory);
		if (e) {
			np_affinity_undo(&(struct np_undo) { r->pid, undo }, 1, &ignored);
			np_module_refused(r->pid, "place", e, err);
		}
	}
	if (!e && r->undo)
		*r->undo = undo;
	else
		np_affinity_undo_free(undo);
	return e;
}

int np_module_place(const struct np_place_request *r, struct np_err *err)
{
	char mem[NP_LIST_LEN + 32];
	struct np_state_file lock;
	struct np_proc_stat st;
	int e = np_proc_check(r->pid, r->one_thread, &st, err);

	if (r->undo)
		*r->undo = NULL;
	if (e)
		return e;
	if (!r->cpus && r->mem_mode < 0)
		return np_fail(err, -EINVAL, "nothing to do for process %d", r->pid);
	e = np_placements_lock(&lock, err);
	if (!e)
		e = place_by_module(r, err);
	if (e == -EAGAIN)
		e = place_by_both(r, err);
	np_state_file_close(&lock);
	if (e == -ENOSYS)
		return np_fail(err, -EOPNOTSUPP,
			       "the kernel does not take memory policy %s; it may be too old for it",
			       np_mempolicy_format(r->mem_mode, r->mem_nodes, mem, sizeof(mem)));
	return e;
}
