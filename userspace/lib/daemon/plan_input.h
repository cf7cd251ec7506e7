/* SPDX-License-Identifier: GPL-2.0-only */
/* A plan from the daemon's own data of its tasks. */
#ifndef NUMAPLACE_LIB_PLAN_INPUT_H
#define NUMAPLACE_LIB_PLAN_INPUT_H

#include "../plan/request.h"
#include "task_watch.h"

/*
 * Asks p's policy about the eligible tasks of this interval, on p's machine; assumed: inputs
 * declared for every task. 0, or -errno with one line in err. p then refers to masks and to a
 * machine that it does not own: release it with np_plan_input_free().
 */
int np_plan_input(struct np_request *p, const struct np_task_watch *w, unsigned int now,
		  const struct np_task *assumed, struct np_err *err);
void np_plan_input_free(struct np_request *p);

#endif
