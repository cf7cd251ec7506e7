// SPDX-License-Identifier: GPL-2.0-only
#include "placements.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/grow.h"
#include "../base/record.h"
#include "../host/mempolicy.h"
#include "../host/module_files.h"

/* The list of CPUs of that key, or NULL: it has none. */
static struct bitmask *cpus_of(const char *line, const char *key)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	char list[NUMAPLACE_MAX_WRITE];

	if (np_record_get(line, key, list, sizeof(list)) && !np_list_parse_kernel(list, cpus) &&
	    numa_bitmask_weight(cpus))
		return cpus;
	numa_bitmask_free(cpus);
	return NULL;
}

static void placement_free(struct np_placement *placement)
{
	numa_bitmask_free(placement->set);
	numa_bitmask_free(placement->saved);
}

/* 0 or -ENOMEM. */
static int add(struct np_placements *p, const char *line)
{
	struct np_placement placement = { .set = cpus_of(line, "cpus"),
					  .saved = cpus_of(line, "saved_cpus") };
	uint64_t tid, pid;

	if (!np_record_number(line, "tid", &tid) || !np_record_number(line, "pid", &pid)) {
		placement_free(&placement);
		return 0;
	}
	if (np_grow(&p->placement, p->n, sizeof(placement))) {
		placement_free(&placement);
		return -ENOMEM;
	}
	np_record_get(line, "mem", placement.memory, sizeof(placement.memory));
	np_record_get(line, "saved_mem", placement.saved_memory, sizeof(placement.saved_memory));
	placement.tid = (pid_t)tid;
	placement.pid = (pid_t)pid;
	p->placement[p->n++] = placement;
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	const struct np_placement *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

int np_placements_lock(struct np_state_file *lock, struct np_err *err)
{
	struct np_module_info info;
	struct np_err ignored;
	int e;

	*lock = (struct np_state_file) { .lock = -1, .data = -1 };
	if (np_module_probe(&info, &ignored))
		return 0;
	e = np_state_file_open(lock, NULL, "placements", err);
	/* A user without a folder for the lock can place all the same. */
	return e == -EBUSY || e == -EINTR ? e : 0;
}

int np_placements_read(struct np_placements *p)
{
	char *text = np_module_read("placements");
	int e = 0;

	np_placements_free(p);
	for (const char *line = text; !e && line && *line; line = np_record_next(line))
		e = add(p, line);
	free(text);
	if (p->n)
		qsort(p->placement, p->n, sizeof(*p->placement), by_tid);
	return e;
}

void np_placements_free(struct np_placements *p)
{
	for (size_t i = 0; i < p->n; i++)
		placement_free(&p->placement[i]);
	free(p->placement);
	*p = (struct np_placements) { 0 };
}

const struct np_placement *np_placements_find(const struct np_placements *p, pid_t tid)
{
	const struct np_placement key = { .tid = tid };

	return p->n ? bsearch(&key, p->placement, p->n, sizeof(key), by_tid) : NULL;
}

bool np_placements_to_saved(const struct np_placements *p, pid_t tid, struct bitmask *cpus)
{
	const struct np_placement *placement = np_placements_find(p, tid);

	if (!placement || !placement->set || !placement->saved ||
	    !numa_bitmask_equal(placement->set, cpus))
		return false;
	copy_bitmask_to_bitmask(placement->saved, cpus);
	return true;
}

void np_placements_to_saved_memory(const struct np_placements *p, pid_t pid, char *memory)
{
	const struct np_placement *placement = np_placements_find(p, pid);

	if (placement && !strcmp(placement->memory, memory))
		np_mempolicy_chosen(placement->saved_memory, memory, NP_MEMORY_LEN);
}
