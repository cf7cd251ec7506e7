// SPDX-License-Identifier: GPL-2.0-only
#include "layers.h"

#include <errno.h>
#include <stdlib.h>

#include "../base/cpulist.h"
#include "../base/error.h"
#include "../base/record.h"
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

static void layer_free(struct np_layer *layer)
{
	numa_bitmask_free(layer->set);
	numa_bitmask_free(layer->under);
}

/* 0 or -ENOMEM. */
static int add(struct np_layers *l, const char *line)
{
	struct np_layer layer = { .set = cpus_of(line, "cpus"),
				  .under = cpus_of(line, "saved_cpus") };
	struct np_layer *bigger = l->layer;
	uint64_t tid, pid;

	if (!np_record_number(line, "tid", &tid) || !np_record_number(line, "pid", &pid)) {
		layer_free(&layer);
		return 0;
	}
	if (!(l->n & (l->n - 1)))
		bigger = realloc(l->layer, (l->n ? l->n * 2 : 1) * sizeof(*bigger));
	if (!bigger) {
		layer_free(&layer);
		return -ENOMEM;
	}
	l->layer = bigger;
	layer.tid = (pid_t)tid;
	layer.pid = (pid_t)pid;
	l->layer[l->n++] = layer;
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	const struct np_layer *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

int np_layers_lock(struct np_state_file *lock, struct np_err *err)
{
	struct np_module_info info;
	struct np_err ignored;
	int e;

	lock->lock = lock->data = -1;
	if (np_module_probe(&info, &ignored))
		return 0;
	e = np_state_file_open(lock, NULL, "placements", err);
	/* A user without a folder for the lock can place all the same. */
	return e == -EBUSY || e == -EINTR ? e : 0;
}

int np_layers_read(struct np_layers *l)
{
	char *text = np_module_read("placements");
	int e = 0;

	np_layers_free(l);
	for (const char *p = text; !e && p && *p; p = np_record_next(p))
		e = add(l, p);
	free(text);
	if (l->n)
		qsort(l->layer, l->n, sizeof(*l->layer), by_tid);
	return e;
}

void np_layers_free(struct np_layers *l)
{
	for (size_t i = 0; i < l->n; i++)
		layer_free(&l->layer[i]);
	free(l->layer);
	*l = (struct np_layers) { 0 };
}

const struct np_layer *np_layers_find(const struct np_layers *l, pid_t tid)
{
	const struct np_layer key = { .tid = tid };

	return l->n ? bsearch(&key, l->layer, l->n, sizeof(key), by_tid) : NULL;
}

bool np_layers_lift(const struct np_layers *l, pid_t tid, struct bitmask *cpus)
{
	const struct np_layer *layer = np_layers_find(l, tid);

	if (!layer || !layer->set || !layer->under || !numa_bitmask_equal(layer->set, cpus))
		return false;
	copy_bitmask_to_bitmask(layer->under, cpus);
	return true;
}
