/* SPDX-License-Identifier: GPL-2.0-only */
/* Machines and flows for the contention model, in a line each. */
#ifndef NUMAPLACE_TESTS_MODEL_FIXTURE_H
#define NUMAPLACE_TESTS_MODEL_FIXTURE_H

#include <CUnit/CUnit.h>

#include "../model/model.h"

#define CLOSE(a, b, part) CU_ASSERT_DOUBLE_EQUAL((a) / (b), 1.0, part)
#define SAME		  2e-3 /* what sweeping may leave between two ways to the same answer */

/* A triad on some cores of a node. */
struct np_model_flow model_triad(int from, int to, double cores);

/* Parses; a fault fails the test. */
struct np_model model_of(const char *text);

/* Solves one or two flows, which must succeed; the second one's cores may be 0. */
struct np_model_result model_alone(const struct np_model *m, struct np_model_flow flow);
double model_beside(const struct np_model *m, struct np_model_flow flow,
		    struct np_model_flow other);

/* Load of the machine by a solution. */
struct model_load {
	double port_bytes_per_s[NP_MODEL_NODES];    /* remote lines by their weight */
	double dram_bytes_per_s[NP_MODEL_NODES];    /* writes by what they take of its time */
	double dram_capacity[NP_MODEL_NODES];	    /* after overflow and row conflicts */
	double link_bytes_per_s[NP_MODEL_LINKS][2]; /* headers included; [0]: node[0] to node[1] */
};

/* Load of ports, links and controllers by the results of np_model_solve(). */
void model_load_of(const struct np_model *m, const struct np_model_flow *flow, size_t n,
		   const struct np_model_result *result, struct model_load *load);

#endif
