// SPDX-License-Identifier: GPL-2.0-only
/* The memory policy that the module has set for a process, from its placements file. */
#include <stdlib.h>
#include <string.h>

#include "../base/record.h"
#include "../host/mempolicy.h"
#include "../host/module_files.h"
#include "module.h"

/* Any node: the module checked them when they were set. */
static int parse(const char *text, int *mode, struct bitmask **nodes)
{
	struct bitmask *any = numa_bitmask_alloc(NP_MAX_NODES);
	const struct np_list_space space = { "node", any, any };
	struct np_err err;
	int e;

	numa_bitmask_setall(any);
	e = np_mempolicy_parse(text, &space, mode, nodes, &err);
	numa_bitmask_free(any);
	return e;
}

int np_module_memory(pid_t pid, int *mode, struct bitmask **nodes)
{
	char *text = np_module_read("placements"), mem[NUMAPLACE_MAX_WRITE];
	uint64_t tid;
	int e = 0;

	*mode = -1;
	*nodes = NULL;
	for (const char *p = text; p && *p; p = np_record_next(p)) {
		if (!np_record_number(p, "tid", &tid) || (pid_t)tid != pid ||
		    !np_record_get(p, "mem", mem, sizeof(mem)) || !strcmp(mem, "-"))
			continue;
		e = parse(mem, mode, nodes);
		if (e)
			*mode = -1;
		break;
	}
	free(text);
	return e;
}
