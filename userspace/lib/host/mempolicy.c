// SPDX-License-Identifier: GPL-2.0-only
#include "mempolicy.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <string.h>

#include "../base/error.h"

/* Newer than the libnuma of the build; the kernel's number. */
#define MODE_PREFERRED_MANY 5

static const struct {
	const char *name;
	int mode;
	unsigned int most; /* nodes it takes */
} modes[] = {
	{ "default", MPOL_DEFAULT, 0 },
	{ "local", MPOL_LOCAL, 0 },
	{ "preferred", MPOL_PREFERRED, 1 },
	{ "preferred-many", MODE_PREFERRED_MANY, NP_MAX_NODES },
	{ "bind", MPOL_BIND, NP_MAX_NODES },
	{ "interleave", MPOL_INTERLEAVE, NP_MAX_NODES },
	{ "weighted-interleave", NP_MPOL_WEIGHTED_INTERLEAVE, NP_MAX_NODES },
};

#define N_MODES (sizeof(modes) / sizeof(modes[0]))

static int parse_nodes(size_t m, const char *list, const struct np_list_space *space,
		       struct bitmask **nodes, struct np_err *err)
{
	if (modes[m].most == 0)
		return list ? np_fail(err, -EINVAL, "memory mode %s takes no nodes",
				      modes[m].name) :
			      0;
	if (!list)
		return np_fail(err, -EINVAL, "memory mode %s needs nodes; write %s:NODES",
			       modes[m].name, modes[m].name);
	*nodes = np_list_parse(list, space, err);
	if (!*nodes)
		return -EINVAL;
	if (numa_bitmask_weight(*nodes) <= modes[m].most)
		return 0;
	numa_bitmask_free(*nodes);
	*nodes = NULL;
	return np_fail(err, -EINVAL,
		       "memory mode %s takes one node, not %s; preferred-many takes several",
		       modes[m].name, list);
}

int np_mempolicy_parse(const char *text, const struct np_list_space *space, int *mode,
		       struct bitmask **nodes, struct np_err *err)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);

	*nodes = NULL;
	for (size_t m = 0; m < N_MODES; m++) {
		if (strlen(modes[m].name) != len || strncmp(modes[m].name, text, len))
			continue;
		*mode = modes[m].mode;
		return parse_nodes(m, colon ? colon + 1 : NULL, space, nodes, err);
	}
	return np_fail(err, -EINVAL,
		       "no memory mode \"%.*s\"; there are default, local, preferred:NODE, "
		       "preferred-many:NODES, bind:NODES, interleave:NODES, "
		       "weighted-interleave:NODES",
		       (int)len, text);
}

char *np_mempolicy_format(int mode, const struct bitmask *nodes, char *buf, size_t len)
{
	const char *name = "unknown";
	char list[NP_LIST_LEN];

	for (size_t m = 0; m < N_MODES; m++)
		if (modes[m].mode == mode)
			name = modes[m].name;
	if (nodes)
		snprintf(buf, len, "%s:%s", name, np_list_format(nodes, list, sizeof(list)));
	else
		snprintf(buf, len, "%s", name);
	return buf;
}

char *np_mempolicy_chosen(const char *printed, char *text, size_t len)
{
	static const struct {
		const char *printed, *name;
	} other[] = {
		{ "prefer (many)", "preferred-many" },
		{ "prefer", "preferred" },
		{ "weighted interleave", "weighted-interleave" },
	};
	size_t mode = strcspn(printed, ":="), known = 0;

	snprintf(text, len, "%s", strchr(printed, ':') ? printed : "");
	for (size_t i = 0; text[0] && !known && i < sizeof(other) / sizeof(other[0]); i++) {
		known = strlen(other[i].printed);
		if (known == mode && !strncmp(printed, other[i].printed, known))
			snprintf(text, len, "%s%s", other[i].name, printed + known);
		else
			known = 0;
	}
	return text;
}

void np_mempolicy_may_hold(const char *policy, struct bitmask *nodes)
{
	const char *list = strchr(policy, ':');

	numa_bitmask_clearall(nodes);
	if (!strncmp(policy, "bind", 4) && list && np_list_parse_kernel(list + 1, nodes))
		numa_bitmask_clearall(nodes);
}
