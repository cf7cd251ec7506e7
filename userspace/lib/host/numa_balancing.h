/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's own NUMA balancing, which also moves tasks and pages. */
#ifndef NUMAPLACE_LIB_NUMA_BALANCING_H
#define NUMAPLACE_LIB_NUMA_BALANCING_H

/* kernel.numa_balancing: 0 off, 1 on, 2 memory tiering, 3 both; -1: the kernel has none. */
int np_balancing_read(void);

/* One line on a value that is not off; NULL when nothing is to be said. */
const char *np_balancing_text(int balancing);

#endif
