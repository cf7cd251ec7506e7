/* SPDX-License-Identifier: GPL-2.0-only */
/* A plan made from what the daemon already knows of its tasks. */
#ifndef NUMAPLACE_LIB_PLAN_INPUT_H
#define NUMAPLACE_LIB_PLAN_INPUT_H

#include "daemon.h"

/*
 * Asks the policy about the tasks that count. 0, or -errno with one line in err.
 * p borrows masks and the machine of d: to be released with np_gather_free().
 */
int np_gather(struct np_planning *p, const struct np_daemon *d, char *err, size_t err_len);
void np_gather_free(struct np_planning *p);

#endif
