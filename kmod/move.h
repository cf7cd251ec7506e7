/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves pages of a process, in the thread that asks for it. */
#ifndef _NUMAPLACE_MOVE_H
#define _NUMAPLACE_MOVE_H

#include <linux/nodemask.h>
#include <linux/types.h>

#include "stats.h"

/**
 * struct numaplace_move_request - one line written to migrate
 * @pid: the process whose pages move
 * @from: nodes that they are to leave
 * @to: node that they are to go to
 * @start: where to begin, with @end; both 0 for the whole process
 * @end: where to stop
 * @max_stall_us: for how long a page may be unmapped, about
 * @shared: also pages that other processes map
 * @files: also pages of files and of shared memory
 * @split: break transparent huge pages up to move them
 * @dry: move nothing, and count as moved what would be tried
 * @limit: pages to be moved at most, or 0
 */
struct numaplace_move_request {
	pid_t pid;
	nodemask_t from;
	int to;
	u64 start, end;
	u32 max_stall_us;
	bool shared;
	bool files;
	bool split;
	bool dry;
	u64 limit;
};

/**
 * struct numaplace_move_result - what became of a request
 * @begun: whether it was not refused; the rest is right then
 * @error: negative errno that ended it, or 0
 * @next: address to go on from
 * @counts: number of pages by status
 * @ns: time that it took
 * @unmapped_ns: for how long a page was mapped by nobody, at most
 */
struct numaplace_move_result {
	bool begun;
	int error;
	unsigned long next;
	struct numaplace_counts counts;
	u64 ns, unmapped_ns;
};

int numaplace_move(const struct numaplace_move_request *request,
		   struct numaplace_move_result *result);

#endif
