// SPDX-License-Identifier: GPL-2.0-only
#include "caches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/grow.h"
#include "proc.h"

#define MAX_INDEX 8

static char *read_cache_file(const char *root, unsigned int cpu, unsigned int index,
			     const char *name)
{
	return np_read_file_of("%s/sys/devices/system/cpu/cpu%u/cache/index%u/%s", root, cpu, index,
			       name);
}

/* "1024K" or "12M" in bytes. */
static uint64_t parse_size(const char *text)
{
	unsigned long long size = 0;
	char unit = 0;

	if (text)
		sscanf(text, "%llu%c", &size, &unit);
	return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

/* Reads one cache as seen from cpu. False when there is none of this index. */
static bool read_cache(const char *root, unsigned int cpu, unsigned int index, struct np_cache *c)
{
	char *level = read_cache_file(root, cpu, index, "level");
	char *type = read_cache_file(root, cpu, index, "type");
	char *size = read_cache_file(root, cpu, index, "size");
	char *cpus = read_cache_file(root, cpu, index, "shared_cpu_list");
	bool ok = level && type && cpus;

	if (ok) {
		c->level = (unsigned int)strtoul(level, NULL, 10);
		snprintf(c->type, sizeof(c->type), "%.*s", (int)strcspn(type, "\n"), type);
		c->size = parse_size(size);
		c->cpus = numa_bitmask_alloc(NP_MAX_CPUS);
		if (np_list_parse_kernel(cpus, c->cpus)) {
			numa_bitmask_free(c->cpus);
			ok = false;
		}
		c->n_cpus = ok ? numa_bitmask_weight(c->cpus) : 0;
	}
	free(level);
	free(type);
	free(size);
	free(cpus);
	return ok;
}

static unsigned int first_cpu(const struct bitmask *cpus)
{
	unsigned int cpu = 0;

	while (cpu < cpus->size && !numa_bitmask_isbitset(cpus, cpu))
		cpu++;
	return cpu;
}

static int by_level(const void *a, const void *b)
{
	const struct np_cache *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (first_cpu(x->cpus) != first_cpu(y->cpus))
		return first_cpu(x->cpus) < first_cpu(y->cpus) ? -1 : 1;
	return strcmp(x->type, y->type);
}

int np_caches_read(const struct np_machine *m, const char *root, struct np_cache **caches,
		   size_t *n)
{
	struct np_cache c;

	*caches = NULL;
	*n = 0;
	for (unsigned int cpu = 0; cpu < m->n_cpus; cpu++) {
		unsigned int core_cpus = 0; /* that share its first cache, of level 1 */

		for (unsigned int index = 0; index < MAX_INDEX; index++) {
			if (!read_cache(root, cpu, index, &c))
				break;
			core_cpus = index ? core_cpus : c.n_cpus;
			c.one_core = c.n_cpus == core_cpus;
			/* Listed once, by the first of the CPUs that share it. */
			if (first_cpu(c.cpus) != cpu) {
				numa_bitmask_free(c.cpus);
				continue;
			}
			if (np_grow(caches, *n, sizeof(c))) {
				numa_bitmask_free(c.cpus);
				np_caches_free(*caches, *n);
				return -ENOMEM;
			}
			(*caches)[(*n)++] = c;
		}
	}
	if (*n)
		qsort(*caches, *n, sizeof(c), by_level);
	return 0;
}

static bool are_alike(const struct np_cache *a, const struct np_cache *b)
{
	return a == b ||
	       (a->one_core && b->one_core && a->level == b->level && a->size == b->size &&
		a->n_cpus == b->n_cpus && !strcmp(a->type, b->type));
}

size_t np_caches_alike(const struct np_cache *caches, size_t n, size_t i, struct bitmask *all)
{
	size_t count = 0;

	numa_bitmask_clearall(all);
	for (size_t k = 0; k < n; k++) {
		if (!are_alike(&caches[k], &caches[i]))
			continue;
		if (k < i)
			return 0;
		count++;
		for (unsigned int cpu = 0; cpu < caches[k].cpus->size; cpu++)
			if (numa_bitmask_isbitset(caches[k].cpus, cpu))
				numa_bitmask_setbit(all, cpu);
	}
	return count;
}

void np_caches_free(struct np_cache *caches, size_t n)
{
	for (size_t i = 0; i < n; i++)
		numa_bitmask_free(caches[i].cpus);
	free(caches);
}
