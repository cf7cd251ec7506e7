/* SPDX-License-Identifier: GPL-2.0-only */
/* This machine as the policies see it, read from sysfs and procfs. */
/* Public: `make install` installs it (Documentation/library.md). */
#ifndef NUMAPLACE_LIB_TOPOLOGY_H
#define NUMAPLACE_LIB_TOPOLOGY_H

#include "../../../policies/policy.h"

/* Where the numbers printed here come from. */
enum np_where { NP_WHERE_REAL, NP_WHERE_LAB_PLAIN, NP_WHERE_LAB_SIMULATED };

/*
 * Fills m. Returns 0 or -errno with one line in err. The caller releases it
 * with np_machine_free(). root is "" for the real /sys and /proc, or a folder
 * holding a copy of them (tests).
 */
int np_machine_read(struct np_machine *m, const char *root, char *err, size_t err_len);
void np_machine_free(struct np_machine *m);

/* "lab-plain" when the kernel was booted with numaplace_lab=NAME,plain. */
enum np_where np_machine_where(const char *root);
const char *np_where_name(enum np_where where);	/* "real", "lab-plain", "lab-simulated" */

/* The numbers that lists of nodes or CPUs may name; masks are the caller's to free. */
struct bitmask *np_machine_nodes(const struct np_machine *m);
struct bitmask *np_machine_memory_nodes(const struct np_machine *m);
struct bitmask *np_machine_cpus(const struct np_machine *m);

/* The CPUs of the nodes (kernel numbers) in mask. */
struct bitmask *np_machine_cpus_of_nodes(const struct np_machine *m, const struct bitmask *nodes);

/* Index of the node with this kernel number, or NP_NODE_NONE. */
int np_machine_node_index(const struct np_machine *m, int id);

/* Index of the node that all CPUs in mask belong to, or NP_NODE_NONE. */
struct bitmask;
int np_machine_node_of_cpus(const struct np_machine *m, const struct bitmask *cpus);

#endif
