/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cpuset of a cgroup (version 2) by its files. Lists are an object {"cpus": "0-3", "mems": "0"}
 * as the kernel prints them, "" for those of the cgroup above; a key that is missing is left alone.
 */
#ifndef NUMAPLACE_LIB_CPUSET_H
#define NUMAPLACE_LIB_CPUSET_H

#include <jansson.h>

#include "../base/error.h"

/*
 * Whether the cgroup of this folder below root can have a cpuset. 0, or -EOPNOTSUPP with one line
 * in err: the root, a threaded cgroup, a kernel without the controller in version 2.
 */
int np_cpuset_check(const char *root, const char *folder, struct np_err *err);

/*
 * Whether the cgroup above has these CPUs and nodes: the kernel accepts others, and then goes by
 * those of the cgroup above. 0, or -EINVAL with one line in err.
 */
int np_cpuset_fits(const char *root, const char *folder, const json_t *lists, struct np_err *err);

/* The lists that were written, both keys; "" where the controller is not enabled. */
json_t *np_cpuset_read(const char *folder);

/*
 * All of the lists or none. "" becomes all that the cgroup above has, in words, where the kernel
 * refuses it: a cgroup with tasks and a list gets no empty one any more. 0, or -errno with one line in err. The kernel moves the pages that are
 * on nodes left out, before this returns or soon after it.
 */
int np_cpuset_write(const char *folder, const json_t *lists, struct np_err *err);

/* Those above folder, ["", "/above"] below root, that do not give their children the controller. */
json_t *np_cpuset_missing(const char *root, const char *folder);

/* Has them do so, in this order. 0, or -errno with one line in err and nothing changed. */
int np_cpuset_enable(const char *root, const json_t *levels, struct np_err *err);

/*
 * Ends it, in the reverse order, and returns those where children still have less than all. Their
 * children's lists are empty then.
 */
json_t *np_cpuset_disable(const char *root, const json_t *levels);

#endif
