/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages of a task that other processes map too: moving them is not for one task to decide. */
#ifndef NUMAPLACE_LIB_SHARED_PAGES_H
#define NUMAPLACE_LIB_SHARED_PAGES_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Anonymous pages of pid in [start, end), everywhere where both are 0, that another
 * process maps too, as fork() leaves them, in base pages. numa_maps says in which
 * mappings there are any (mapmax), pagemap which; of large mappings a part is looked
 * at. Not those of mappings with a policy of their own and of hugetlb, which are no task's
 * to move either and are counted for themselves. 0 where it cannot be read.
 */
uint64_t np_shared_pages(pid_t pid, uint64_t page_size, uint64_t start, uint64_t end);

#endif
