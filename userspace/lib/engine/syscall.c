// SPDX-License-Identifier: GPL-2.0-only
/* The engine of plain system calls, which works without the module. */
#include <errno.h>

#include "../host/proc.h"
#include "../undo/placements.h"
#include "affinity.h"
#include "engines.h"
#include "move_pages.h"
#include "spread_pages.h"

static int syscall_probe(struct np_err *err)
{
	if (numa_available() < 0)
		return np_fail(err, -EOPNOTSUPP,
			       "this kernel has no NUMA system calls (CONFIG_NUMA is off)");
	return 0;
}

static int syscall_place(const struct np_place_request *r, struct np_err *err)
{
	struct np_err why;
	struct np_state_file lock;
	struct np_proc_stat st;
	int e = np_proc_check(r->pid, r->one_thread, &st, err);

	if (e)
		return e;
	if (r->mem_mode >= 0)
		return np_fail(
			err, -EOPNOTSUPP,
			"the memory policy of process %d cannot be set: no system call sets "
			"another process's policy, and %.127s; or start the program with `numactl`",
			r->pid,
			np_engine_module.probe(&why) ?
				why.text :
				"--engine says not to use the numaplace module");
	if (!r->cpus)
		return np_fail(err, -EINVAL, "nothing to do for process %d", r->pid);
	if (!r->inherit)
		return np_fail(err, -EOPNOTSUPP,
			       "children of process %d inherit its CPUs; only the numaplace module can "
			       "keep them from it (`make module`, `insmod`)",
			       r->pid);
	e = np_placements_lock(&lock, err);
	if (!e)
		e = np_affinity_place(r, err);
	np_state_file_close(&lock);
	return e;
}

static int syscall_restore(const struct np_whose *whose, size_t *n, size_t *kept,
			   struct np_err *err)
{
	struct np_state_file lock;
	int e = np_placements_lock(&lock, err);

	*n = *kept = 0;
	if (!e)
		e = np_affinity_restore(whose, n, kept, err);
	np_state_file_close(&lock);
	return e;
}

static int syscall_undo(const struct np_undo *u, size_t n, struct np_err *err)
{
	struct np_state_file lock;
	int e = np_placements_lock(&lock, err);

	if (!e)
		e = np_affinity_undo(u, n, err);
	np_state_file_close(&lock);
	return e;
}

static int syscall_migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
			   struct np_err *err)
{
	const char *option = r->threads ? "--threads" : r->split ? "--split" : NULL;
	struct np_proc_stat st;
	int e = np_proc_check(r->pid, false, &st, err);

	if (!e && option)
		return np_fail(err, -EOPNOTSUPP,
			       "%s cannot be kept for process %d: move_pages(2) knows nothing like "
			       "it; only the numaplace module does (`make module`, `insmod`)",
			       option, r->pid);
	return e ? e : (r->share ? np_spread_pages : np_move_pages)(r, out, err);
}

const struct np_engine_ops np_engine_syscall = {
	.name = "syscall",
	.probe = syscall_probe,
	.place = syscall_place,
	.undo = syscall_undo,
	.migrate = syscall_migrate,
	.restore = syscall_restore,
};
