/* SPDX-License-Identifier: GPL-2.0-only */
/* The named regions that processes are in. Any thread may call. */
#ifndef NP_REGIONS_H
#define NP_REGIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NP_REGIONS     32 /* with names of their own; further ones are not counted */
#define NP_REGION_NAME 64

/* Changes when a process enters or leaves a region. */
extern uint32_t np_regions_change;

void np_regions_tell(uint32_t tgid, const char *name, bool enters);

/* The regions that a process is in, a bit each. */
uint32_t np_regions_of(uint32_t tgid);

void np_regions_write(FILE *f);

/* None is known any more. */
void np_regions_forget(void);

#endif
