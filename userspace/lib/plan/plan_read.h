/* SPDX-License-Identifier: GPL-2.0-only */
/* A plan while it is read. */
#ifndef NUMAPLACE_LIB_PLAN_READ_H
#define NUMAPLACE_LIB_PLAN_READ_H

#include "../files/json.h"
#include "plan_file.h"

struct np_plan_source {
	char what[NP_JSON_WHAT]; /* "plan f.json", for errors */
	json_t *root;		 /* the caller's to release */
	struct np_err *err;
};

/* As np_plan_file_read(); s->root is set after an error too. */
int np_plan_source_read(struct np_plan_source *s, struct np_request *p, const char *path,
			struct np_err *err);

/* The decisions over the machine and the tasks that p has, and what follows from them. */
int np_plan_decide(const struct np_plan_source *s, struct np_request *p);

#endif
