/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks for predictions, from a file or drawn at random: Documentation/reference/task-sets.md. */
#ifndef NUMAPLACE_LIB_TASK_SET_H
#define NUMAPLACE_LIB_TASK_SET_H

#include "../host/tasks.h"

/*
 * Reads the [[task]] tables of a TOML file as tasks of machine m. 0, or -errno
 * with one line in err. The caller releases t with np_tasks_free().
 */
int np_task_set_read(const char *path, const struct np_machine *m, struct np_tasks *t,
		     struct np_err *err);

/*
 * Draws 1 to max_tasks tasks: the same for the same seed on every computer.
 * Together they keep at most as many CPUs busy as there are and fill at most
 * half of the memory. 0, -ENOMEM, or -EINVAL: m has no CPUs or no memory.
 */
int np_task_set_random(uint64_t seed, unsigned int max_tasks, const struct np_machine *m,
		       struct np_tasks *t);

/* The free memory of m's nodes, in bytes: what a set that was read or drawn for m leaves. */
void np_tasks_take_memory(const struct np_tasks *t, struct np_machine *m);

/*
 * Adds count tasks without pages or CPUs of their own, whose fields are 0 but
 * for pages, which point to t's rows. 0, or -ENOMEM and t is as it was.
 */
int np_tasks_add(struct np_tasks *t, const struct np_machine *m, size_t count);

#endif
