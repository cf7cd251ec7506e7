/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves a part of a batch: what one thread takes at a time. */
#ifndef _NUMAPLACE_CHUNK_H
#define _NUMAPLACE_CHUNK_H

#include <linux/types.h>

struct numaplace_batch;

/**
 * struct numaplace_migrate_buf - buffers and times of a thread that moves chunks
 * @src: for migrate_vma
 * @dst: for migrate_vma
 * @small: pages of the target node for the next chunk, by their lru
 * @huge: the same, huge ones
 * @n_small: how many
 * @n_huge: how many
 * @setup_ns: taken so far to unmap pages
 * @copy_ns: taken so far to copy
 * @finish_ns: taken so far to map the new pages
 */
struct numaplace_migrate_buf {
	unsigned long *src, *dst;
	struct list_head small, huge;
	unsigned int n_small, n_huge;
	u64 setup_ns, copy_ns, finish_ns;
};

int numaplace_chunk_init(struct numaplace_migrate_buf *buf);
void numaplace_chunk_free(struct numaplace_migrate_buf *buf);
void numaplace_chunk_fill(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
			  unsigned int n);
void numaplace_chunk_drain(struct numaplace_migrate_buf *buf);
void numaplace_chunk_move(struct numaplace_batch *b, struct numaplace_migrate_buf *buf,
			  unsigned int first, unsigned int n);

#endif
