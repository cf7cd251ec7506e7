// SPDX-License-Identifier: GPL-2.0-only
#include "reclaimable.h"

#include <stdlib.h>

#include "proc.h"

uint64_t np_reclaimable_cache(const char *meminfo)
{
	uint64_t cache = np_proc_bytes(meminfo, " Active(file):") +
			 np_proc_bytes(meminfo, " Inactive(file):");
	uint64_t busy = np_proc_bytes(meminfo, " Dirty:") + np_proc_bytes(meminfo, " Writeback:");

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
