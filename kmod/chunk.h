/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves a part of a batch: what is unmapped at a time. */
#ifndef _NUMAPLACE_CHUNK_H
#define _NUMAPLACE_CHUNK_H

#include <linux/types.h>

struct numaplace_batch;

int numaplace_chunk_init(struct numaplace_batch *b);
void numaplace_chunk_free(struct numaplace_batch *b);
void numaplace_chunk_fill(struct numaplace_batch *b, unsigned int n);
void numaplace_chunk_move(struct numaplace_batch *b, unsigned int first, unsigned int n);

#endif
