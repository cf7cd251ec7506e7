/* SPDX-License-Identifier: GPL-2.0-only */
/* The rows of fields.def as a table, to read, check and print the model's numbers. */
#ifndef NUMAPLACE_FIELDS_H
#define NUMAPLACE_FIELDS_H

#include "model.h"

#define NP_REQUIRED -1 /* no number of the model is negative */

enum np_model_scope { NP_SCOPE_MODEL, NP_SCOPE_NODE, NP_SCOPE_LINK, NP_SCOPE_LAB };

struct np_model_field {
	enum np_model_scope scope;
	const char *member;
	size_t offset; /* in the scope's struct; NP_SCOPE_LAB has none */
	const char *table, *key;
	double scale, absent, min, max;
	const char *unit, *meaning;
};

/* Ends with a row without a member. */
extern const struct np_model_field np_model_fields[];

/* The next row of the scope, the first for NULL; NULL after the last. */
const struct np_model_field *np_model_field_next(enum np_model_scope scope,
						 const struct np_model_field *field);

/* The field's member of the scope's struct. */
static inline double *np_model_member(const struct np_model_field *field, void *base)
{
	return (double *)((char *)base + field->offset);
}

static inline double np_model_value(const struct np_model_field *field, const void *base)
{
	return *(const double *)((const char *)base + field->offset);
}

#endif
