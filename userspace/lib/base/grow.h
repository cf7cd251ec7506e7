/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays that grow by one item at a time. */
#ifndef NUMAPLACE_LIB_GROW_H
#define NUMAPLACE_LIB_GROW_H

#include <stddef.h>

/*
 * Makes room behind the n items, each of this size, that the pointer at array leads to: NULL at
 * first, and grown by this function only. 0, or -ENOMEM with the array as it was.
 */
int np_grow(void *array, size_t n, size_t size);

#endif
