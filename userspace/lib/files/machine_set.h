/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of a machine file's [model], set by the names under which `numaplace machine` prints them. */
#ifndef NUMAPLACE_LIB_MACHINE_SET_H
#define NUMAPLACE_LIB_MACHINE_SET_H

#include <jansson.h>

#include "../base/error.h"

/*
 * assignment: TABLE.FIELD=NUMBER such as dram.latency_ns=90; dram[2].latency_ns=90 for the
 * [[model.node]] of node 2, link[0].latency_ns=50 for the first [[model.link]]. file is the
 * file's table, before it is checked; the number's source says that it was set and what it
 * was. 0, or -EINVAL with one line in err.
 */
int np_machine_set(json_t *file, const char *assignment, struct np_err *err);

#endif
