/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that exchange messages: by pipes, by Unix sockets and by TCP within one network
 * namespace. What they say to processes outside of the set is not seen, nor are Unix sockets
 * of another network namespace than the caller's.
 */
#ifndef NUMAPLACE_LIB_TASK_GROUPS_H
#define NUMAPLACE_LIB_TASK_GROUPS_H

#include "../../../policies/policy.h"

/*
 * Sets task[].messages of those in a group: bytes that it has written by write(2) and the like
 * (/proc/PID/io) a second of its CPU time, times the CPUs that it keeps busy now. Sets task[].group of n tasks: the same number, from 1 up, for tasks with a connection, also
 * by way of others; 0 where none is seen. A task whose descriptors may not be read has none.
 * and no messages. 0 or -ENOMEM, with every group 0.
 */
int np_task_groups(struct np_task *task, size_t n);

#endif
