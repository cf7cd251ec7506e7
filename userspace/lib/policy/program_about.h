/* SPDX-License-Identifier: GPL-2.0-only */
/* What a program that is a policy says about itself: "about" in its answer, as `policies --json`
 * prints it. */
#ifndef NUMAPLACE_LIB_PROGRAM_ABOUT_H
#define NUMAPLACE_LIB_PROGRAM_ABOUT_H

#include <jansson.h>

#include "../../../policies/plan/plan.h"
#include "../base/error.h"

struct np_program_about {
	json_t *json; /* that the texts below are of */
	struct np_option option[NP_OPTIONS_MAX + 1];
	const char **words[NP_OPTIONS_MAX];
};

/*
 * Sets policy's summary, needs and options, which point into a; about NULL: it says nothing. what
 * stands for the program in errors. 0, or -errno with one line in err. In either case a is
 * released with np_program_about_free().
 */
int np_program_about_read(struct np_program_about *a, json_t *about, struct np_policy *policy,
			  const char *what, struct np_err *err);
void np_program_about_free(struct np_program_about *a);

/* "number", "whole number", "switch", "word" */
const char *np_option_type_name(enum np_option_type type);

#endif
