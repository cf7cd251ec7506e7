/* SPDX-License-Identifier: GPL-2.0-only */
/* numaplace migrate: moves the pages of what was named, one after the other, and reports each. */
#ifndef NUMAPLACE_MIGRATE_TARGETS_H
#define NUMAPLACE_MIGRATE_TARGETS_H

#include "cmd_args.h"

struct np_address_range {
	uint64_t start, end;
};

/* The words of the command line. Processes, a cgroup or a unit; or a file; or a segment. */
struct np_migrate_words {
	struct np_common common;
	const char *from, *to, *spread; /* either to or spread */
	const char *file;		/* or NULL */
	int segment;			/* or -1 */
	struct np_address_range *range; /* [n_ranges] of the one process; none: all of it */
	size_t n_ranges;
	struct np_migrate_request r; /* but for its target, range, nodes and pace */
};

/* An exit status: that of the first target that failed; the others are moved all the same. */
int np_migrate_targets(struct np_migrate_words *w, const struct np_machine *m);

#endif
