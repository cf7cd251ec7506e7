/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies pages, with several threads where that is asked for. */
#ifndef _NUMAPLACE_COPY_H
#define _NUMAPLACE_COPY_H

int numaplace_copy_init(void);
void numaplace_copy_exit(void);
void numaplace_copy_pages(const unsigned long *dst, const unsigned long *src, unsigned long n,
			  unsigned int threads, int nid);

#endif
