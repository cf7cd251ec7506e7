// SPDX-License-Identifier: GPL-2.0-only
/* What a move of pages came to: sums of several, and as JSON. */
#include <string.h>

#include "engine.h"

void np_migrate_add(struct np_migrate_result *sum, const struct np_migrate_result *r)
{
	if (!sum->engine || strchr(r->engine, '+'))
		sum->engine = r->engine; /* "module+syscall" says more than "module" */
	sum->asked += r->asked;
#define X(name) sum->name += r->name;
	NUMAPLACE_COUNTS(X)
#undef X
	sum->bytes += r->bytes;
	sum->ns += r->ns;
	if (r->longest_unmapped_us > sum->longest_unmapped_us)
		sum->longest_unmapped_us = r->longest_unmapped_us;
}

uint64_t np_migrate_left(const struct np_migrate_result *r)
{
	return r->asked - r->moved - r->already - r->absent;
}

json_t *np_json_migrate(const struct np_migrate_result *r)
{
	json_t *j = json_object();

	json_object_set_new(j, "asked", json_integer((json_int_t)r->asked));
#define X(name) json_object_set_new(j, #name, json_integer((json_int_t)r->name));
	NUMAPLACE_COUNTS(X)
#undef X
	json_object_set_new(j, "bytes", json_integer((json_int_t)r->bytes));
	json_object_set_new(j, "ns", json_integer((json_int_t)r->ns));
	json_object_set_new(j, "longest_unmapped_us",
			    json_integer((json_int_t)r->longest_unmapped_us));
	json_object_set_new(j, "engine", json_string(r->engine));
	return j;
}
