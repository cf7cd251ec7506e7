/* SPDX-License-Identifier: GPL-2.0-only */
/* One daemon a machine (for users other than root: one for each user). */
#ifndef NUMAPLACE_LIB_LOCK_H
#define NUMAPLACE_LIB_LOCK_H

#include "../base/error.h"

/*
 * Takes the lock until this process ends. A descriptor, or -errno with one line
 * in err: -EBUSY names the process that holds it.
 */
int np_daemon_lock(struct np_err *err);

#endif
