/* SPDX-License-Identifier: GPL-2.0-only */
/* The cpuset of a systemd unit by its properties AllowedCPUs and AllowedMemoryNodes. */
#ifndef NUMAPLACE_LIB_UNIT_CPUSET_H
#define NUMAPLACE_LIB_UNIT_CPUSET_H

#include <jansson.h>
#include <stdbool.h>

#include "../base/error.h"

/* Whether systemd runs here. */
bool np_unit_managed(void);

/*
 * *lists as np_cpuset_read() has them, of the properties; *cgroup, "" when the unit does not run,
 * is NULL or for the caller to free. 0, or -errno with one line in err.
 */
int np_unit_read(const char *unit, json_t **lists, char **cgroup, struct np_err *err);

/* Sets the properties until the next boot; returns once the unit's cgroup may still have to follow. */
int np_unit_write(const char *unit, const json_t *lists, struct np_err *err);

#endif
