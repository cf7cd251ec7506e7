// SPDX-License-Identifier: GPL-2.0-only
#include "fields.h"

#define ROW(scope, offset, member, table, key, scale, absent, min, max, unit, meaning) \
	{ scope, #member, offset, table, key, scale, absent, min, max, unit, meaning },

const struct np_model_field np_model_fields[] = {
#define NP_LINE_FIELD(member, ...) \
	ROW(NP_SCOPE_MODEL, offsetof(struct np_model, member), member, __VA_ARGS__)
#define NP_NODE_FIELD(member, ...) \
	ROW(NP_SCOPE_NODE, offsetof(struct np_model_node, member), member, __VA_ARGS__)
#define NP_LINK_FIELD(member, ...) \
	ROW(NP_SCOPE_LINK, offsetof(struct np_model_link, member), member, __VA_ARGS__)
#define NP_LAB_FIELD(member, ...) ROW(NP_SCOPE_LAB, 0, member, __VA_ARGS__)
#include "fields.def"
	{ 0 },
};

const struct np_model_field *np_model_field_next(enum np_model_scope scope,
						 const struct np_model_field *field)
{
	field = field ? field + 1 : np_model_fields;
	while (field->member && field->scope != scope)
		field++;
	return field->member ? field : NULL;
}
