/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that lives as long as QEMU's translated blocks, which it drops all at once. */
#ifndef NP_BLOCK_MEMORY_H
#define NP_BLOCK_MEMORY_H

#include <stddef.h>

/* Takes size bytes, zeroed and aligned to 16; NULL: out of memory. By any thread. */
void *np_block_memory_take(size_t size);

/* Frees all of it: no block runs any more. */
void np_block_memory_forget(void);

#endif
