/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine and its tasks at one moment, as one JSON object: what `ps --json`
 * prints, and all that a policy needs to know. Documentation/reference/snapshot.md
 * describes every key.
 */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_SNAPSHOT_H
#define NUMAPLACE_LIB_SNAPSHOT_H

#include <jansson.h>

#include "../base/error.h"
#include "../host/tasks.h"
#include "../host/topology.h"

#define NP_SNAPSHOT_VERSION 1

struct np_snapshot {
	enum np_platform platform;
	struct np_machine machine;
	struct np_tasks tasks;
};

/* The caller releases the object. */
json_t *np_snapshot_json(enum np_platform platform, const struct np_machine *m,
			 const struct np_tasks *t);

/* The same of n tasks only, by their index; row NULL: the first n. */
json_t *np_snapshot_json_of(enum np_platform platform, const struct np_machine *m,
			    const struct np_tasks *t, const size_t *row, size_t n);

/*
 * Reads one from a file, "-" for standard input. 0, or -errno with one line in
 * err that says where the file is wrong: -EINVAL when it is no snapshot.
 */
int np_snapshot_read(const char *path, struct np_snapshot *s, struct np_err *err);

/* The same from an object; what stands for it in errors: "plan F". */
int np_snapshot_of_json(json_t *root, const char *what, struct np_snapshot *s, struct np_err *err);

void np_snapshot_free(struct np_snapshot *s);

#endif
