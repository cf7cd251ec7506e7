// SPDX-License-Identifier: GPL-2.0-only
#include "cache.h"

#include <errno.h>
#include <stdlib.h>

int np_cache_init(struct np_cache *c, uint64_t bytes, unsigned int ways, unsigned int line_bytes)
{
	size_t slots;

	c->all_ways = ~0ull >> (NP_MAX_WAYS - ways);
	c->padded = np_way_search_padded(ways);
	c->sets = bytes / line_bytes / ways;
	c->reciprocal = UINT64_MAX / c->sets + 1;
	slots = (size_t)c->sets * c->padded;
	c->line = calloc(slots, sizeof(*c->line));
	c->state = calloc(slots, sizeof(*c->state));
	c->nru = calloc(c->sets, sizeof(*c->nru));
	if (!c->line || !c->state || !c->nru)
		return -ENOMEM;
	np_cache_clear(c);
	return 0;
}

void np_cache_free(struct np_cache *c)
{
	free(c->line);
	free(c->state);
	free(c->nru);
	*c = (struct np_cache) { 0 };
}

void np_cache_clear(struct np_cache *c)
{
	for (size_t slot = 0; slot < (size_t)c->sets * c->padded; slot++)
		np_way_set(&c->line[slot], 0);
	for (uint32_t set = 0; set < c->sets; set++)
		c->nru[set].free = c->all_ways;
}
