// SPDX-License-Identifier: GPL-2.0-only
#include "reclaimable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"

static uint64_t bytes_of(const char *meminfo, const char *key)
{
	const char *at = strstr(meminfo, key);
	unsigned long long kib = 0;

	if (at)
		sscanf(at + strlen(key), " %llu", &kib);
	return (uint64_t)kib * 1024;
}

uint64_t np_reclaimable_cache(const char *meminfo)
{
	uint64_t cache = bytes_of(meminfo, " Active(file):") +
			 bytes_of(meminfo, " Inactive(file):");
	uint64_t busy = bytes_of(meminfo, " Dirty:") + bytes_of(meminfo, " Writeback:");

	return cache > busy ? cache - busy : 0;
}

void np_reclaimable_add(struct np_machine *m)
{
	for (size_t i = 0; i < m->n_nodes; i++) {
		char *text = np_read_file_of("/sys/devices/system/node/node%d/meminfo",
					     m->node[i].id);

		if (text)
			m->node[i].mem_free += np_reclaimable_cache(text);
		free(text);
	}
}
