/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placing a whole cgroup (version 2) by its cpuset: the kernel has every task in it follow, those
 * to come as well, and moves their pages. What it was before is in the file cgroups.json.
 */
#ifndef NUMAPLACE_LIB_CGROUP_PLACE_H
#define NUMAPLACE_LIB_CGROUP_PLACE_H

#include <jansson.h>
#include <numa.h>
#include <stddef.h>

#include "../base/error.h"

/* One of them is not NULL: a cgroup's name or folder, or a unit of systemd as np_cgroup_of_unit(). */
struct np_cgroup_name {
	const char *path, *unit;
};

struct np_cgroup_place {
	struct np_cgroup_name name;
	const struct bitmask *cpus, *mems; /* CPU and node numbers; NULL: left alone */
};

/*
 * All or nothing. *answer, which the caller releases, is {"cgroup": "/shop", "unit": name or null,
 * "pages": {"0": bytes}}: the anonymous memory by node just after it; pages is missing where the
 * cgroup has no memory controller. 0, or -errno with one line in err.
 */
int np_cgroup_place(const struct np_cgroup_place *r, json_t **answer, struct np_err *err);

struct np_cgroups_back {
	size_t restored, kept; /* cgroups; kept: CPUs or nodes were changed by others since */
	struct np_err note;    /* what was left alone; "": nothing */
};

/*
 * Gives cgroups back what they had before: of this name and below it, or all where name is NULL.
 * Those that have been removed are forgotten. One that fails does not prevent the others. 0, or
 * -errno with one line in err; it is no error when none was placed.
 */
int np_cgroup_restore(const struct np_cgroup_name *name, struct np_cgroups_back *back,
		      struct np_err *err);

#endif
