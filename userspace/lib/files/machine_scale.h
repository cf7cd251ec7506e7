/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine at 1/S of its speed: NAME/S. Cores, bandwidths and latencies are S times slower, and the
 * kernel's clock is as it is, so that the same work fills S times the simulated time.
 */
#ifndef NUMAPLACE_LIB_MACHINE_SCALE_H
#define NUMAPLACE_LIB_MACHINE_SCALE_H

#include <jansson.h>
#include <stddef.h>

#include "../base/error.h"

#define NP_MACHINE_SCALE_MAX 64

/*
 * Divides name into a machine's name and the S after its last '/', 1 without one. 0, or -EINVAL with
 * one line in err where S is not 1 to NP_MACHINE_SCALE_MAX.
 */
int np_machine_scale_split(const char *name, char *machine, size_t len, unsigned int *scale,
			   struct np_err *err);

/* Changes the numbers of [model] and [[cache]], with their sources. file: the table of a machine file. */
void np_machine_scale_apply(json_t *file, unsigned int scale);

#endif
