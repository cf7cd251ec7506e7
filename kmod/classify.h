/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads page tables: finds the status of each page, without touching the page. */
#ifndef _NUMAPLACE_CLASSIFY_H
#define _NUMAPLACE_CLASSIFY_H

#include <linux/types.h>

struct address_space;
struct mm_struct;
struct numaplace_batch;

unsigned long numaplace_classify_skip(struct mm_struct *mm, unsigned long addr, unsigned long end);
unsigned long numaplace_classify_cut(struct mm_struct *mm, unsigned long addr, unsigned long end);
unsigned int numaplace_classify_rename(struct numaplace_batch *b, unsigned int first,
				       unsigned int n, u8 from, u8 to);
void numaplace_classify_pages(struct numaplace_batch *b, unsigned int first, unsigned int n,
			      bool last);
bool numaplace_classify_can_move(const struct address_space *mapping);

#endif
