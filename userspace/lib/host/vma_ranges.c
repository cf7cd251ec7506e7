// SPDX-License-Identifier: GPL-2.0-only
#include "vma_ranges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/grow.h"
#include "numa_maps.h"
#include "proc.h"

struct collector {
	struct np_vma_range *range;
	char (*policy)[sizeof(((struct np_mapping *)0)->policy)]; /* [n] */
	char task[sizeof(((struct np_mapping *)0)->policy)];	  /* policy of the task */
	size_t n;
	size_t at; /* of range, the next that has no end yet */
	uint64_t base_page_size;
};

/* numa_maps knows what is resident and the page size, but not where a range ends. */
static int collect(const struct np_mapping *map, void *arg)
{
	struct collector *c = arg;

	if (map->stack)
		strcpy(c->task, map->policy);
	if (!map->total)
		return 0;
	if (np_grow(&c->range, c->n, sizeof(*c->range)) ||
	    np_grow(&c->policy, c->n, sizeof(*c->policy)))
		return -ENOMEM;
	strcpy(c->policy[c->n], map->policy);
	c->range[c->n++] = (struct np_vma_range) {
		.start = map->start,
		.end = map->start,
		.page_size = map->page_kib ? map->page_kib * 1024 : c->base_page_size,
		.anon = map->anon,
		.mapmax = map->mapmax,
		.anonymous = np_mapping_anonymous(map),
		.memory = np_mapping_memory(map),
		.hugetlb = map->hugetlb,
	};
	return 0;
}

int np_vma_range_parse(const char *line, uint64_t *start, uint64_t *end)
{
	char *p, *q;

	*start = strtoull(line, &p, 16);
	if (p == line || *p != '-')
		return -EINVAL;
	*end = strtoull(p + 1, &q, 16);
	return q == p + 1 || *q != ' ' || *end < *start ? -EINVAL : 0;
}

int np_proc_maps(pid_t pid, int (*each)(char *line, void *arg), void *arg)
{
	char path[64], *line = NULL;
	size_t size = 0;
	int r = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", np_proc_memory_thread(pid));
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	for (errno = 0; !r && getline(&line, &size, f) >= 0; errno = 0)
		r = each(line, arg);
	if (!r && errno)
		r = -errno;
	free(line);
	fclose(f);
	return r;
}

/* Both files list the ranges in the order of their addresses. */
static int set_end(char *line, void *arg)
{
	struct collector *c = arg;
	uint64_t start, end;

	if (np_vma_range_parse(line, &start, &end))
		return 0;
	while (c->at < c->n && c->range[c->at].start < start)
		c->at++; /* it has been unmapped in between */
	if (c->at < c->n && c->range[c->at].start == start)
		c->range[c->at++].end = end;
	return c->at == c->n;
}

static int add_mapped(char *line, void *arg)
{
	struct collector *c = arg;
	uint64_t start, end;

	if (np_vma_range_parse(line, &start, &end))
		return 0;
	if (np_grow(&c->range, c->n, sizeof(*c->range)))
		return -ENOMEM;
	c->range[c->n++] = (struct np_vma_range) { .start = start, .end = end, .page_size = 1 };
	return 0;
}

/* Those within [start, end), after a reading with result e. */
static int give(struct collector *c, int e, uint64_t start, uint64_t end,
		struct np_vma_range **ranges, size_t *n)
{
	size_t kept = 0;

	if (e < 0) {
		free(c->range);
		return e == -ENOENT ? -ESRCH : e;
	}
	for (size_t i = 0; i < c->n; i++) {
		struct np_vma_range a = c->range[i];

		if (start || end) {
			if (a.start < start)
				a.start = start / a.page_size * a.page_size;
			if (a.end > end)
				a.end = end;
		}
		if (a.start < a.end)
			c->range[kept++] = a;
	}
	*ranges = c->range;
	*n = kept;
	return 0;
}

int np_vma_ranges(pid_t pid, uint64_t base_page_size, uint64_t start, uint64_t end,
		  struct np_vma_range **ranges, size_t *n)
{
	struct collector c = { .base_page_size = base_page_size };
	int e = np_mappings(pid, base_page_size, collect, &c);

	for (size_t i = 0; i < c.n; i++)
		c.range[i].chosen = c.task[0] && np_mapping_chosen(c.policy[i], c.task);
	free(c.policy);
	return give(&c, e ? e : np_proc_maps(pid, set_end, &c), start, end, ranges, n);
}

int np_vma_mapped(pid_t pid, uint64_t start, uint64_t end, struct np_vma_range **ranges, size_t *n)
{
	struct collector c = { 0 };

	return give(&c, np_proc_maps(pid, add_mapped, &c), start, end, ranges, n);
}
