/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of a task that other processes map too: moving them is not for one task to decide. */
#ifndef NUMAPLACE_LIB_SHARED_H
#define NUMAPLACE_LIB_SHARED_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Anonymous pages of pid that somebody else maps too, as fork() leaves them, in
 * base pages. numa_maps says in which mappings there are any (mapmax), pagemap
 * which; of large mappings a part is looked at. 0 where it cannot be read.
 */
uint64_t np_shared_pages(pid_t pid, uint64_t page_size);

#endif
