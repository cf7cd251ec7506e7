/* SPDX-License-Identifier: GPL-2.0-only */
/* Gives a task under control other CPUs. */
#ifndef _NUMAPLACE_PLACE_CPUS_H
#define _NUMAPLACE_PLACE_CPUS_H

struct cpumask;
struct numaplace_placement;

int numaplace_place_cpus_check(const struct numaplace_placement *p, const struct cpumask *cpus);
int numaplace_place_cpus(struct numaplace_placement *p, const struct cpumask *cpus);

#endif
