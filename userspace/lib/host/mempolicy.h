/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory policies by name: MODE:NODES, as in numactl's options. */
#ifndef NUMAPLACE_LIB_MEMPOLICY_H
#define NUMAPLACE_LIB_MEMPOLICY_H

#include <stddef.h>

#include "../base/cpulist.h"

/* From Linux 6.9 on; newer than the libnuma of the build, the kernel's number. */
#define NP_MPOL_WEIGHTED_INTERLEAVE 6

/*
 * Parses "bind:0-1", "preferred:1", "interleave:all", "local", "default", ...
 * *nodes is NULL for modes that take none, else the caller's to free.
 * 0, or -EINVAL with one line in err.
 */
int np_mempolicy_parse(const char *text, const struct np_list_space *space, int *mode,
		       struct bitmask **nodes, struct np_err *err);

/* "bind:0-1". Returns buf. */
char *np_mempolicy_format(int mode, const struct bitmask *nodes, char *buf, size_t len);

/*
 * The policy that numa_maps prints, in the words above: "preferred:0" for "prefer:0". "" where
 * it names no nodes (default, local): nobody has chosen any. Returns text.
 */
char *np_mempolicy_chosen(const char *printed, char *text, size_t len);

/* nodes become those that policy "bind:NODES" leaves the pages of a task; none by all others. */
void np_mempolicy_may_hold(const char *policy, struct bitmask *nodes);

#endif
