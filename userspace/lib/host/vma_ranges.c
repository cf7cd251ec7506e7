// SPDX-License-Identifier: GPL-2.0-only
#include "vma_ranges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numa_maps.h"

struct collector {
	struct np_area *area;
	size_t n, room;
	uint64_t base_page_size;
};

/* numa_maps knows what is resident and the page size, but not where an area ends. */
static int collect(const struct np_mapping *map, void *arg)
{
	struct collector *c = arg;

	if (!map->total)
		return 0;
	if (c->n == c->room) {
		size_t room = c->room ? c->room * 2 : 64;
		struct np_area *bigger = realloc(c->area, room * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		c->area = bigger;
		c->room = room;
	}
	c->area[c->n++] = (struct np_area){
		.start = map->start, .end = map->start,
		.page_size = map->page_kib ? map->page_kib * 1024 : c->base_page_size,
		.anon = map->anon, .mapmax = map->mapmax,
		.anonymous = np_mapping_anonymous(map),
		.memory = np_mapping_memory(map),
	};
	return 0;
}

int np_area_parse(const char *line, uint64_t *start, uint64_t *end)
{
	char *p, *q;

	*start = strtoull(line, &p, 16);
	if (p == line || *p != '-')
		return -EINVAL;
	*end = strtoull(p + 1, &q, 16);
	return q == p + 1 || *q != ' ' || *end < *start ? -EINVAL : 0;
}

/* Both files list the areas in the order of their addresses. */
static int find_ends(pid_t pid, struct collector *c)
{
	char path[64], *line = NULL;
	size_t size = 0, at = 0;
	uint64_t start, end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (at < c->n && getline(&line, &size, f) >= 0) {
		if (np_area_parse(line, &start, &end))
			continue;
		while (at < c->n && c->area[at].start < start)
			at++;	/* it has been unmapped in between */
		if (at < c->n && c->area[at].start == start)
			c->area[at++].end = end;
	}
	free(line);
	fclose(f);
	return 0;
}

static void clip(struct collector *c, uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct np_area a = c->area[i];

		if (start || end) {
			if (a.start < start)
				a.start = start / a.page_size * a.page_size;
			if (a.end > end)
				a.end = end;
		}
		if (a.start < a.end)
			c->area[kept++] = a;
	}
	c->n = kept;
}

int np_areas(pid_t pid, uint64_t base_page_size, uint64_t start, uint64_t end,
	     struct np_area **areas, size_t *n)
{
	struct collector c = { .base_page_size = base_page_size };
	int e = np_mappings(pid, base_page_size, collect, &c);

	if (!e)
		e = find_ends(pid, &c);
	if (e) {
		free(c.area);
		return e == -ENOENT ? -ESRCH : e;
	}
	clip(&c, start, end);
	*areas = c.area;
	*n = c.n;
	return 0;
}
