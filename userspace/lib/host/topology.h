/* SPDX-License-Identifier: GPL-2.0-only */
/* This machine as the policies see it, read from sysfs and procfs. */
/* Public: `make install` installs it (Documentation/reference/library.md). */
#ifndef NUMAPLACE_LIB_TOPOLOGY_H
#define NUMAPLACE_LIB_TOPOLOGY_H

#include "../../../policies/policy.h"
#include "../base/error.h"

/* The platform that printed numbers were measured on. */
enum np_platform { NP_PLATFORM_REAL, NP_PLATFORM_LAB_FUNCTIONAL, NP_PLATFORM_LAB_TIMED };

/*
 * Fills m. Returns 0 or -errno with one line in err. The caller releases it
 * with np_machine_free(). root is "" for the real /sys and /proc, or a folder
 * holding a copy of them (tests).
 */
int np_machine_read(struct np_machine *m, const char *root, struct np_err *err);
void np_machine_free(struct np_machine *m);

/* NP_PLATFORM_LAB_FUNCTIONAL when the kernel was booted with numaplace_lab=NAME,functional. */
enum np_platform np_machine_platform(const char *root);

/* "real", "lab-functional", "lab-timed". */
const char *np_platform_name(enum np_platform platform);
bool np_platform_find(const char *name, enum np_platform *platform);

/* The numbers that lists of nodes or CPUs may name; masks are the caller's to free. */
struct bitmask *np_machine_nodes(const struct np_machine *m);
struct bitmask *np_machine_memory_nodes(const struct np_machine *m);
struct bitmask *np_machine_cpus(const struct np_machine *m);
struct bitmask *np_machine_cpus_of_node(const struct np_machine *m, int index);

/* The CPUs of the nodes (kernel numbers) in mask. */
struct bitmask *np_machine_cpus_of_nodes(const struct np_machine *m, const struct bitmask *nodes);

/* Index of the node with this kernel number, or NP_NODE_NONE. */
int np_machine_node_index(const struct np_machine *m, long long id);

/* The same for a number as it is printed: "0", not "00", "+0" or " 0". */
int np_machine_node_of_text(const struct np_machine *m, const char *text);

/* Index of the node that all CPUs in mask belong to, or NP_NODE_NONE. */
struct bitmask;
int np_machine_node_of_cpus(const struct np_machine *m, const struct bitmask *cpus);

#endif
