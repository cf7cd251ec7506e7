// SPDX-License-Identifier: GPL-2.0-only
/* The module as an engine: its table, its refusals, restore. */
#include "control_module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "affinity.h"
#include "control_engines.h"
#include "list.h"
#include "module.h"
#include "proc.h"
#include "record.h"
#include "spread.h"

static int module_probe(char *err, size_t err_len)
{
	struct np_module_info info;

	return np_module_probe(&info, err, err_len);
}

int np_module_refused(pid_t pid, const char *what, int e, char *err, size_t err_len)
{
	const char *why;

	switch (e) {
	case -EPERM:
		return np_proc_denied(pid, what, err, err_len);
	case -ESRCH:
		return np_fail(err, err_len, e, "process %d has exited", pid);
	case -EACCES:
		why = "its cpuset does not allow these nodes";
		break;
	case -ENODEV:
		why = "the node has no memory";
		break;
	case -EINVAL:
		why = "it is a kernel thread or its CPUs are fixed";
		break;
	case -EBUSY:
		why = "it has not reacted within 5 s, is a deadline task, or too many jobs wait; "
		      "try again";
		break;
	default:
		why = strerror(-e);
	}
	return np_fail(err, err_len, e, "the module cannot %s process %d: %s", what, pid, why);
}

/* True when the thread's CPUs are no longer those that the module gave it. */
static bool changed_since(const char *line, pid_t tid)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS), *set = numa_bitmask_alloc(NP_MAX_CPUS);
	char cpus[NUMAPLACE_MAX_WRITE];
	bool changed = np_record_get(line, "cpus", cpus, sizeof(cpus)) &&
		       !np_list_parse_kernel(cpus, set) && numa_bitmask_weight(set) &&
		       !np_affinity_get(tid, now) && !numa_bitmask_equal(now, set);

	numa_bitmask_free(now);
	numa_bitmask_free(set);
	return changed;
}

static int restore_placements(pid_t pid, size_t *n, size_t *kept, char *err, size_t err_len)
{
	char *text = np_module_read("placements"), line[32];
	uint64_t tid, group;
	bool thread = false;
	int e;

	*n = *kept = 0;
	for (const char *p = text; p && *p; p = np_record_next(p)) {
		if (!np_record_number(p, "tid", &tid) || !np_record_number(p, "pid", &group) ||
		    (pid && (pid_t)group != pid && (pid_t)tid != pid))
			continue;
		thread = pid && (pid_t)group != pid;
		++*(changed_since(p, (pid_t)tid) ? kept : n);
	}
	free(text);
	if (*n + *kept == 0)
		return pid ? np_fail(err, err_len, -ENOENT, "process %d is not under control; there "
				     "is nothing to restore", pid) : 0;
	if (pid)
		snprintf(line, sizeof(line), "%s=%d\n", thread ? "tid" : "pid", pid);
	else
		snprintf(line, sizeof(line), "all\n");
	e = np_module_write("restore", line);
	if (e)
		return np_module_refused(pid, "restore", e, err, err_len);
	if (*kept)
		np_fail(err, err_len, 0, "%zu thread%s left alone: the CPUs were changed after "
			"numaplace had set them", *kept, *kept == 1 ? "" : "s");
	return 0;
}

struct step {
	int e;
	size_t n, kept;
	char err[NP_ERR_LEN];
};

/* The worst of the steps; that one had nothing to do counts only if none had. */
static const struct step *worst_of(const struct step *step, size_t n)
{
	const struct step *worst = step;

	for (size_t i = 1; i < n; i++) {
		bool failed = step[i].e && step[i].e != -ENOENT;

		if ((failed && (!worst->e || worst->e == -ENOENT)) ||
		    (step[i].e == 0 && worst->e == -ENOENT) ||
		    (step[i].e == 0 && worst->e == 0 && step[i].kept))
			worst = &step[i];
	}
	return worst;
}

/*
 * A task may have been placed by the module and by plain system calls, one on
 * top of the other. What system calls set last goes first, then the module's,
 * then the rest.
 */
int np_module_restore(pid_t pid, size_t *n, size_t *kept, char *err, size_t err_len)
{
	struct step step[3] = { 0 };
	const struct step *worst;

	step[0].e = np_affinity_restore_unchanged(pid, &step[0].n, step[0].err, NP_ERR_LEN);
	step[1].e = restore_placements(pid, &step[1].n, &step[1].kept, step[1].err, NP_ERR_LEN);
	step[2].e = np_affinity_restore(pid, &step[2].n, &step[2].kept, step[2].err, NP_ERR_LEN);
	*n = step[0].n + step[1].n + step[2].n;
	*kept = step[1].kept + step[2].kept;
	worst = worst_of(step, 3);
	np_fail(err, err_len, 0, "%s", worst->err);
	return worst->e;
}

const struct np_control np_control_module = {
	.name = "module",
	.probe = module_probe,
	.place = np_module_place,
	.migrate = np_module_migrate,
	.spread = np_spread_pages,
	.memory = np_module_memory,
	.restore = np_module_restore,
};
