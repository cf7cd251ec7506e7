// SPDX-License-Identifier: GPL-2.0-only
#include "json.h"

#include "../../../policies/plan/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../host/tasks.h"

/* "8191," once for every other CPU there can be. */
#define LONGEST_LIST (NP_MAX_CPUS / 2 * 5 + 1)

json_t *np_json_read(const char *kind, const char *path, char *what, struct np_err *err)
{
	bool standard = !strcmp(path, "-");
	FILE *f = standard ? stdin : fopen(path, "re");
	json_t *root = NULL;
	json_error_t why;
	int e = errno;

	snprintf(what, NP_JSON_WHAT, "%.10s %.110s", kind, standard ? "on standard input" : path);
	if (f) {
		root = json_loadf(f, JSON_REJECT_DUPLICATES, &why);
		e = ferror(f) ? errno : EINVAL;
	}
	if (!f || (!root && ferror(f)))
		np_fail(err, 0, "%s cannot be read: %s", what, strerror(e));
	else if (!root)
		np_fail(err, 0, "%s is not JSON: line %d, column %d: %.100s", what, why.line,
			why.column, why.text);
	if (f && !standard)
		fclose(f);
	errno = e;
	return root;
}

void np_json_set_node(json_t *object, const struct np_machine *m, size_t node, json_t *value)
{
	char id[16];

	snprintf(id, sizeof(id), "%d", m->node[node].id);
	json_object_set_new(object, id, value);
}

json_t *np_json_pages(const struct np_machine *m, const uint64_t *pages)
{
	json_t *j = json_object();

	for (size_t i = 0; i < m->n_nodes; i++)
		np_json_set_node(j, m, i, json_integer((json_int_t)pages[i]));
	return j;
}

json_t *np_json_reals(const struct np_machine *m, const double *value)
{
	json_t *j = json_object();

	for (size_t i = 0; i < m->n_nodes; i++)
		np_json_set_node(j, m, i, json_real(value[i]));
	return j;
}

json_t *np_json_of_node(const json_t *object, const struct np_machine *m, size_t node)
{
	char id[16];

	snprintf(id, sizeof(id), "%d", m->node[node].id);
	return json_object_get(object, id);
}

json_t *np_json_list(const struct bitmask *mask)
{
	char list[LONGEST_LIST];

	return json_string(np_list_format(mask, list, sizeof(list)));
}

json_t *np_json_text(const char *text)
{
	json_t *j = json_string(text);
	char *plain;

	if (j || !(plain = strdup(text)))
		return j;
	for (char *c = plain; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	j = json_string(plain);
	free(plain);
	return j;
}

const char *np_json_text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "";
}

double np_json_number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

json_t *np_json_node(const struct np_machine *m, int node)
{
	return node == NP_NODE_NONE ? json_null() : json_integer(m->node[node].id);
}

json_t *np_json_known(double value, enum np_provenance source)
{
	return json_pack("{s:o,s:s}", "value",
			 source == NP_PROVENANCE_NONE ? json_null() : json_real(value), "source",
			 np_provenance_name(source));
}
