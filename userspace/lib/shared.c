// SPDX-License-Identifier: GPL-2.0-only
#include "shared.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "residency.h"

/* Documentation/admin-guide/mm/pagemap.rst of the kernel. */
#define PRESENT   (1ull << 63)
#define FILE_PAGE (1ull << 61)
#define EXCLUSIVE (1ull << 56)

#define BLOCK 512	/* entries that are read at once */
#define BLOCKS 128	/* of a mapping at most, evenly spread */

struct suspects {
	uint64_t *start;	/* [n] of mappings, ascending */
	size_t n, room;
};

static int suspect(const struct np_mapping *map, void *arg)
{
	struct suspects *s = arg;

	if (!map->anon || map->mapmax < 2)
		return 0;
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 32;
		uint64_t *bigger = realloc(s->start, room * sizeof(*bigger));

		if (!bigger)
			return -1;
		s->start = bigger;
		s->room = room;
	}
	s->start[s->n++] = map->start;
	return 0;
}

static uint64_t shared_of(const uint64_t *entry, size_t n)
{
	uint64_t shared = 0;

	for (size_t i = 0; i < n; i++)
		shared += (entry[i] & PRESENT) && !(entry[i] & (FILE_PAGE | EXCLUSIVE));
	return shared;
}

static uint64_t count_shared(int pagemap, uint64_t first, uint64_t pages)
{
	uint64_t entry[BLOCK], step = BLOCK, shared = 0, looked = 0;

	if (pages > BLOCK * BLOCKS)
		step = pages / BLOCKS;
	for (uint64_t at = 0; at < pages; at += step) {
		size_t want = pages - at < BLOCK ? (size_t)(pages - at) : BLOCK;
		ssize_t got = pread(pagemap, entry, want * sizeof(*entry),
				    (off_t)((first + at) * sizeof(*entry)));

		if (got <= 0)
			return 0;
		shared += shared_of(entry, (size_t)got / sizeof(*entry));
		looked += (uint64_t)got / sizeof(*entry);
	}
	return looked ? (uint64_t)((double)shared * (double)pages / (double)looked) : 0;
}

static FILE *open_maps(pid_t pid, int *pagemap)
{
	char path[64];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	*pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (*pagemap < 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		close(*pagemap);
	return maps;
}

uint64_t np_shared_pages(pid_t pid, uint64_t page_size)
{
	struct suspects s = { 0 };
	unsigned long long start, end;
	uint64_t shared = 0;
	char *line = NULL;
	size_t size = 0, next = 0;
	FILE *maps = NULL;
	int pagemap;

	if (!np_mappings(pid, page_size, suspect, &s) && s.n)
		maps = open_maps(pid, &pagemap);
	while (maps && next < s.n && getline(&line, &size, maps) >= 0) {
		if (sscanf(line, "%llx-%llx", &start, &end) != 2)
			continue;
		while (next < s.n && s.start[next] < start)	/* it has been unmapped since */
			next++;
		if (next < s.n && s.start[next] == start)
			shared += count_shared(pagemap, start / page_size, (end - start) / page_size);
	}
	if (maps) {
		fclose(maps);
		close(pagemap);
	}
	free(line);
	free(s.start);
	return shared;
}
