/* SPDX-License-Identifier: GPL-2.0-only */
/* Three lists, random keys, three sorted sets: experiments 3, 5 and 6 of Prabhanjan et al. */
#ifndef NP_REDIS_WORKLOADS_H
#define NP_REDIS_WORKLOADS_H

#include "client.h"
#include "redis_data.h"

struct np_check {
	uint64_t expected, found; /* elements */
	uint64_t mismatches;	  /* elements that are not what the client expects */
	uint64_t digest;	  /* of all elements and values, in any order */
};

struct np_workload {
	const char *name, *summary;
	/* Each returns 0, or -1 after saying why. generation counts the updates so far. */
	int (*load)(struct np_client *c, const struct np_data *d);
	int (*update)(struct np_client *c, const struct np_data *d, unsigned int generation);
	int (*verify)(struct np_client *c, const struct np_data *d, unsigned int generation,
		      struct np_check *check);
};

/* NULL name ends the table. */
extern const struct np_workload np_workloads[];

#endif
