// SPDX-License-Identifier: GPL-2.0-only
#include "count_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/grow.h"

/* Pages that a plan may move, of the mappings with one memory policy. */
struct held {
	char policy[NP_MAPPING_POLICY];
	uint64_t pages[NP_MAX_NODES]; /* by node index */
};

struct count {
	const struct np_machine *m;
	struct np_counted *counted;
	struct held *held;
	size_t n_held;
};

static struct held *held_by(struct count *c, const char *policy)
{
	for (size_t i = 0; i < c->n_held; i++)
		if (!strcmp(c->held[i].policy, policy))
			return &c->held[i];
	if (np_grow(&c->held, c->n_held, sizeof(*c->held)))
		return NULL;
	memset(&c->held[c->n_held], 0, sizeof(*c->held));
	strcpy(c->held[c->n_held].policy, policy);
	return &c->held[c->n_held++];
}

static int count_mapping(const struct np_mapping *map, void *arg)
{
	struct count *c = arg;
	struct np_counted *counted = c->counted;
	uint64_t *into = np_mapping_memory(map) ? counted->memory : counted->file;
	bool shm = np_mapping_shm(map), own = into == counted->memory && !shm;
	struct held *held = own && map->total ? held_by(c, map->policy) : NULL;

	if (own && map->total && !held)
		return -ENOMEM;
	for (size_t i = 0; i < c->m->n_nodes; i++) {
		uint64_t pages = map->pages[c->m->node[i].id];

		into[i] += pages;
		counted->shm[i] += shm ? pages : 0;
		if (held)
			held->pages[i] += pages;
	}
	if (map->stack)
		strcpy(counted->policy, map->policy);
	return 0;
}

/* No plan moves pages of a chosen policy, as none moves shared memory: they count as such. */
static void keep_chosen(struct count *c)
{
	struct np_counted *counted = c->counted;

	for (size_t i = 0; i < c->n_held; i++) {
		if (!np_mapping_chosen(c->held[i].policy, counted->policy))
			continue;
		for (size_t node = 0; node < c->m->n_nodes; node++) {
			counted->shm[node] += c->held[i].pages[node];
			counted->chosen += c->held[i].pages[node];
		}
	}
}

int np_count_pages(pid_t pid, const struct np_machine *m, struct np_counted *counted)
{
	struct count c = { .m = m, .counted = counted };
	int e = np_mappings(pid, m->page_size, count_mapping, &c);

	keep_chosen(&c);
	free(c.held);
	return e;
}
