/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that share the pages of a batch, chunk by chunk. */
#ifndef _NUMAPLACE_WORKERS_H
#define _NUMAPLACE_WORKERS_H

#include <linux/types.h>

struct numaplace_batch;
struct numaplace_workers;

int numaplace_workers_start(struct numaplace_workers *workers, unsigned int threads);
void numaplace_workers_end(struct numaplace_workers *workers);
void numaplace_workers_move(struct numaplace_workers *workers, struct numaplace_batch *b,
			    u64 deadline);
void numaplace_workers_retry(struct numaplace_workers *workers, struct numaplace_batch *b);

int numaplace_workers_init(void);
void numaplace_workers_exit(void);

#endif
