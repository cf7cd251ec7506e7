/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves the pages of one address space, a batch at a time. */
#ifndef _NUMAPLACE_MIGRATE_H
#define _NUMAPLACE_MIGRATE_H

#include <linux/types.h>

struct numaplace_batch;

int numaplace_migrate_init(struct numaplace_batch *b);
void numaplace_migrate_free(struct numaplace_batch *b);
int numaplace_migrate_next(struct numaplace_batch *b, unsigned long pos, unsigned long end);
void numaplace_migrate_count(struct numaplace_batch *b);
void numaplace_migrate_batch(struct numaplace_batch *b, u32 max_stall_us);

/* Of numaplace_migrate_next(): there are no more pages. */
#define NUMAPLACE_MIGRATE_END 1

#endif
