/* SPDX-License-Identifier: GPL-2.0-only */
/* Appends described tasks, which run on no machine. */
#ifndef NUMAPLACE_LIB_TASK_ROOM_H
#define NUMAPLACE_LIB_TASK_ROOM_H

#include "../host/tasks.h"

/*
 * Adds count tasks without pages or CPUs of their own, whose fields are 0 but
 * for pages, which point to t's rows. 0, or -ENOMEM and t is as it was.
 */
int np_tasks_add(struct np_tasks *t, const struct np_machine *m, size_t count);

#endif
