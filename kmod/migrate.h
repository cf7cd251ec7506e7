/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves the pages of one address space, a batch at a time. */
#ifndef _NUMAPLACE_MIGRATE_H
#define _NUMAPLACE_MIGRATE_H

#include <linux/types.h>

struct numaplace_batch;

int numaplace_migrate_init(struct numaplace_batch *b, unsigned int threads);
void numaplace_migrate_free(struct numaplace_batch *b);
bool numaplace_migrate_next(struct numaplace_batch *b, unsigned long *pos, unsigned long end,
			    unsigned int most);
void numaplace_migrate_batch(struct numaplace_batch *b, u64 deadline);
void numaplace_migrate_finish(struct numaplace_batch *b);

#endif
