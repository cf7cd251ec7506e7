/* SPDX-License-Identifier: GPL-2.0-only */
/* Results of predictions: stored, printed as a table and as JSON. */
#ifndef NUMAPLACE_LIB_REPORT_H
#define NUMAPLACE_LIB_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "predict.h"

#define NP_SIM_NAME 128

struct np_predicted_case {
	char machine[64], tasks[NP_SIM_NAME], policy[NP_SIM_NAME];
	enum np_model_origin model;
	struct np_outcome outcome;
};

struct np_predicted_score {
	char machine[64], policy[NP_SIM_NAME];
	struct np_score score;
};

/* {0} is an empty one. */
struct np_prediction {
	struct np_predicted_case *found;
	size_t n;
	struct np_predicted_score *scored;
	size_t n_scored;
};

/* 0 or -ENOMEM. */
int np_prediction_add(struct np_prediction *s, const struct np_machine *m, const char *tasks,
		      const struct np_contender *c, const struct np_outcome *o);

/* The score of that policy on that machine, a new one at first; NULL: no memory. */
struct np_score *np_prediction_score(struct np_prediction *s, const struct np_machine *m,
				     const struct np_contender *c);

json_t *np_prediction_json(const struct np_prediction *s);
void np_prediction_print(FILE *out, const struct np_prediction *s);

void np_prediction_free(struct np_prediction *s);

#endif
