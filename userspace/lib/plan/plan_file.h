/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plan in a file: a snapshot (Documentation/reference/snapshot.md) of what it was made
 * from, and what was decided. It can be looked at anywhere, and applied later
 * on the machine that it was made on.
 */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_PLAN_FILE_H
#define NUMAPLACE_LIB_PLAN_FILE_H

#include "request.h"

#define NP_PLAN_FILE_VERSION 2

/* The plan as one object: what `plan --json` prints. */
json_t *np_plan_file_json(const struct np_request *p);

/*
 * The plan as it was saved ("-": on standard input): machine and tasks are those of then. 0, or
 * -errno with one line in err. Released with np_request_free().
 */
int np_plan_file_read(struct np_request *p, const char *path, struct np_err *err);

/*
 * The plan for this machine as it is now: what was decided, with today's pages,
 * free memory and cpusets. Refused with -ESTALE when the machine is not the one that
 * it was made on, was booted since, or has other nodes, CPUs, distances or memory.
 * Tasks that have exited stay in the plan, to be skipped; *gone is their number.
 */
int np_plan_file_renew(struct np_request *p, const char *path, size_t *gone, struct np_err *err);

#endif
