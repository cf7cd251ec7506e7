// SPDX-License-Identifier: GPL-2.0-only
#include "machine_set.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD 32

static json_t *node_table(const json_t *model, int number, const char *table)
{
	json_t *node;
	size_t i;

	json_array_foreach(json_object_get(model, "node"), i, node)
		if (json_integer_value(json_object_get(node, "node")) == number)
			return json_object_get(node, table);
	return NULL;
}

/* index -1: the table of all nodes. */
static json_t *table_of(const json_t *model, const char *table, int index)
{
	if (!strcmp(table, "link"))
		return index < 0 ? NULL :
				   json_array_get(json_object_get(model, table), (size_t)index);
	return index < 0 ? json_object_get(model, table) : node_table(model, index, table);
}

/* The { value, source } that a name such as dram[2].latency_ns stands for. */
static json_t *number_of(const json_t *file, const char *name)
{
	char table[WORD], key[WORD];
	const json_t *model = json_object_get(file, "model");
	int index = -1, end = 0;

	if (sscanf(name, "%31[a-z0-9_][%d].%31[a-z0-9_]%n", table, &index, key, &end) != 3) {
		index = -1;
		if (sscanf(name, "%31[a-z0-9_].%31[a-z0-9_]%n", table, key, &end) != 2)
			return NULL;
	}
	return name[end] || (index < 0 && strchr(name, '[')) ?
		       NULL :
		       json_object_get(table_of(model, table, index), key);
}

int np_machine_set(json_t *file, const char *assignment, struct np_err *err)
{
	const char *equals = strchr(assignment, '=');
	char name[3 * WORD], source[96], *end;
	json_t *number;
	double value;

	if (!equals || (size_t)(equals - assignment) >= sizeof(name))
		return np_fail(err, -EINVAL, "'%s' sets nothing: write TABLE.FIELD=NUMBER",
			       assignment);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - assignment), assignment);
	number = number_of(file, name);
	if (!json_is_object(number))
		return np_fail(err, -EINVAL,
			       "the machine has no number '%s' to set: numaplace machine prints "
			       "their names",
			       name);
	value = strtod(equals + 1, &end);
	if (end == equals + 1 || *end || !isfinite(value))
		return np_fail(err, -EINVAL, "'%s' of %s is not a number", equals + 1, name);
	snprintf(source, sizeof(source), "assumed: set, and %g in the file",
		 json_number_value(json_object_get(number, "value")));
	json_object_set_new(number, "value", json_real(value));
	json_object_set_new(number, "source", json_string(source));
	return 0;
}
