/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's weights for interleaving (Linux 6.9): one set for the whole machine, in sysfs.
 * Here as JSON, {"0": 1, "1": 3} by the kernel's node numbers. root: of /sys, "" but in tests.
 */
#ifndef NUMAPLACE_LIB_INTERLEAVE_WEIGHTS_H
#define NUMAPLACE_LIB_INTERLEAVE_WEIGHTS_H

#include <jansson.h>

#include "../base/error.h"

/* NULL: the kernel has none. The caller releases it. */
json_t *np_weights_kernel_read(const char *root);

/*
 * Writes those that differ; nodes that are gone are left out. Ends the kernel's own choice.
 * 0, or -errno with one line in err.
 */
int np_weights_kernel_write(const char *root, const json_t *weights, struct np_err *err);

/* Whether the kernel chooses them itself, by what firmware says (Linux 6.16): 0, 1; -1: it cannot. */
int np_weights_kernel_auto(const char *root);
int np_weights_kernel_set_auto(const char *root, struct np_err *err);

/*
 * 0, or -errno with one line in err: there are none (-EOPNOTSUPP), or there is no permission to
 * write them.
 */
int np_weights_kernel_check(const char *root, struct np_err *err);

/* "0:100 1:37". Returns text. */
const char *np_weights_list(const json_t *weights, char *text, size_t len);

#endif
