// SPDX-License-Identifier: GPL-2.0-only
#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int np_cache_init(struct np_cache *c, uint64_t bytes, unsigned int ways, unsigned int line_bytes)
{
	c->ways = ways;
	c->sets = bytes / line_bytes / ways;
	c->reciprocal = UINT64_MAX / c->sets + 1;
	c->way = calloc((size_t)c->sets * ways, sizeof(*c->way));
	return c->way ? 0 : -ENOMEM;
}

void np_cache_free(struct np_cache *c)
{
	free(c->way);
	c->way = NULL;
}

/* Short enough that a call of memmove costs more. */
static void shift(struct np_way *first, struct np_way *end)
{
	for (; end > first; end--)
		end[0] = end[-1];
}

static struct np_way *set_of(const struct np_cache *c, uint32_t line)
{
	return c->way + (size_t)np_cache_set(c, line) * c->ways;
}

struct np_way *np_cache_peek(const struct np_cache *c, uint32_t line)
{
	struct np_way *set = set_of(c, line);

	for (unsigned int i = 0; i < c->ways; i++)
		if (set[i].line == line + 1)
			return &set[i];
	return NULL;
}

struct np_way *np_cache_find(struct np_cache *c, uint32_t line)
{
	struct np_way *set = set_of(c, line), *found = np_cache_peek(c, line), kept;

	if (!found || found == set)
		return found;
	kept = *found;
	shift(set, found);
	*set = kept;
	return set;
}

struct np_way *np_cache_insert(struct np_cache *c, uint32_t line, struct np_way *victim)
{
	struct np_way *set = set_of(c, line), *last = set + c->ways - 1;
	struct np_way *empty = set;

	while (empty < last && empty->line)
		empty++;
	*victim = *empty;
	shift(set, empty);
	*set = (struct np_way){ .line = line + 1 };
	return set;
}

void np_cache_clear(struct np_cache *c)
{
	memset(c->way, 0, (size_t)c->sets * c->ways * sizeof(*c->way));
}

void np_cache_drop(struct np_cache *c, uint32_t line)
{
	struct np_way *way = np_cache_peek(c, line);

	if (way)
		*way = (struct np_way){ 0 };
}
