/* SPDX-License-Identifier: GPL-2.0-only */
/* Restores the saved CPUs and memory policies of tasks. */
#ifndef _NUMAPLACE_RESTORE_H
#define _NUMAPLACE_RESTORE_H

#include <linux/types.h>

struct numaplace_placement;

/**
 * struct numaplace_restore_request - one line written to restore
 * @pid: all the threads of this process, or 0
 * @tid: this thread, or 0
 * @all: every task under control
 */
struct numaplace_restore_request {
	pid_t pid, tid;
	bool all;
};

int numaplace_restore(const struct numaplace_restore_request *request);
void numaplace_restore_begin(struct numaplace_placement *p);
void numaplace_restore_failed(u64 call);
bool numaplace_restore_sweep(void);
void numaplace_restore_everything(void);

#endif
