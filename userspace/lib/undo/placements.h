/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread may have been placed by the module and by plain system calls, nested in
 * either order. What system calls save for a restore are the CPUs from before the module's
 * placement.
 */
#ifndef NUMAPLACE_LIB_PLACEMENTS_H
#define NUMAPLACE_LIB_PLACEMENTS_H

#include <numa.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../../policies/policy.h"
#include "../base/error.h"
#include "state_file.h"

/* A line of the module's table, the file placements. */
struct np_placement {
	pid_t tid, pid; /* the thread and its process */
	/* CPUs that the module has set, and those before; NULL where it has set none. */
	struct bitmask *set, *saved;
	/* Memory policy that it has set, and that before; "-" where it has set none. */
	char memory[NP_MEMORY_LEN], saved_memory[NP_MEMORY_LEN];
};

/* Threads that the module has placed, in order of tid; none where there is no module. */
struct np_placements {
	struct np_placement *placement;
	size_t n;
};

/*
 * A lock, where there is a module, around adding or removing a placement: others find that
 * done or not begun. Released with np_state_file_close(). 0, or -EBUSY or -EINTR
 * with one line in err.
 */
int np_placements_lock(struct np_state_file *lock, struct np_err *err);

/*
 * Anew, in the place of what was read before. 0 or -ENOMEM; released with np_placements_free() in
 * either case.
 */
int np_placements_read(struct np_placements *p);
void np_placements_free(struct np_placements *p);

/* NULL: the module has not placed it. */
const struct np_placement *np_placements_find(const struct np_placements *p, pid_t tid);

/*
 * Where cpus, which the thread has, are what the module set: they become those before that,
 * true.
 */
bool np_placements_to_saved(const struct np_placements *p, pid_t tid, struct bitmask *cpus);

/* The same of memory, np_task.memory of the process. */
void np_placements_to_saved_memory(const struct np_placements *p, pid_t pid, char *memory);

#endif
