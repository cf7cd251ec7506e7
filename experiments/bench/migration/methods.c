// SPDX-License-Identifier: GPL-2.0-only
#include "methods.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../userspace/lib/engine/module.h"
#include "../../../userspace/lib/engine/move_pages.h"

#define PAGE 4096

static int failed(const char *what, int e)
{
	fprintf(stderr, "np-move: %s: %s\n", what, strerror(-e));
	return e;
}

int parse_options(const char *text, struct options *o)
{
	*o = (struct options) { .text = text };
	for (int n = 0; *text; text += n, n = 0) {
		if (sscanf(text, "threads=%u %n", &o->threads, &n) != 1)
			sscanf(text, "max_stall_us=%u %n", &o->max_stall_us, &n);
		if (!n)
			return -1;
	}
	return 0;
}

static int move_by_module(const struct target *t, int to, const struct options *o,
			  struct moved *out)
{
	const struct np_migrate_request request = {
		.pid = t->pid,
		.to = to,
		.start = (uintptr_t)t->memory,
		.end = (uintptr_t)t->memory + t->pages * PAGE,
		.threads = o->threads,
		.max_stall_us = o->max_stall_us,
		.shared = t->kind != TARGET_PRIVATE,
		.files = t->kind != TARGET_PRIVATE,
	};
	struct np_migrate_result result;
	struct np_err err = { "" };
	uint64_t began = now_ns();
	int ret = np_module_migrate(&request, &result, &err);

	out->ns = now_ns() - began;
	out->own_ns = result.ns;
	out->longest_unmapped_us = result.longest_unmapped_us;
	if (ret)
		fprintf(stderr, "np-move: %s\n", err.text);
	return ret;
}

/* All pages in one call, nothing asked before or after: what move_pages(2) does at its best. */
static int move_in_one_call(const struct target *t, int to, const struct options *o,
			    struct moved *out)
{
	void **page = calloc(t->pages, sizeof(*page));
	int *node = calloc(t->pages, sizeof(*node)), *status = calloc(t->pages, sizeof(*status));
	uint64_t began;
	long ret;

	if (!page || !node || !status)
		return failed("move_pages", -ENOMEM);
	for (size_t i = 0; i < t->pages; i++) {
		page[i] = t->memory + i * PAGE;
		node[i] = to;
		status[i] = -1;
	}
	began = now_ns();
	ret = move_pages(t->pid, t->pages, page, node, status,
			 t->kind == TARGET_PRIVATE ? MPOL_MF_MOVE : MPOL_MF_MOVE_ALL);
	out->ns = now_ns() - began;
	free(page);
	free(node);
	free(status);
	return ret < 0 ? failed("move_pages", -errno) : 0;
}

/* The engine of `numaplace migrate --engine syscall`: asks, moves, and asks again. */
static int move_by_engine(const struct target *t, int to, const struct options *o,
			  struct moved *out)
{
	const struct np_migrate_request request = {
		.pid = t->pid,
		.to = to,
		.start = (uintptr_t)t->memory,
		.end = (uintptr_t)t->memory + t->pages * PAGE,
		.shared = t->kind != TARGET_PRIVATE,
		.files = t->kind != TARGET_PRIVATE,
	};
	struct np_migrate_result result;
	struct np_err err = { "" };
	uint64_t began = now_ns();
	int ret = np_move_pages(&request, &result, &err);

	out->ns = now_ns() - began;
	out->own_ns = result.ns;
	if (ret)
		fprintf(stderr, "np-move: %s\n", err.text);
	return ret;
}

/* The whole process, as it takes no range: code and stack, some hundred pages, come along. */
static int move_process(const struct target *t, int to, const struct options *o, struct moved *out)
{
	struct bitmask *from = numa_allocate_nodemask(), *into = numa_allocate_nodemask();
	uint64_t began;
	int ret;

	numa_bitmask_setbit(from, (unsigned int)t->node);
	numa_bitmask_setbit(into, (unsigned int)to);
	began = now_ns();
	ret = numa_migrate_pages(t->pid, from, into);
	out->ns = now_ns() - began;
	numa_free_nodemask(from);
	numa_free_nodemask(into);
	return ret < 0 ? failed("migrate_pages", -errno) : 0;
}

const struct method methods[] = {
	{ "module", move_by_module },
	{ "move_pages", move_in_one_call },
	{ "engine", move_by_engine },
	{ "migrate_pages", move_process },
	{ NULL, NULL },
};

long pages_on(const struct target *t, int node)
{
	void **page = calloc(t->pages, sizeof(*page));
	int *status = calloc(t->pages, sizeof(*status));
	long found = -ENOMEM;

	for (size_t i = 0; page && i < t->pages; i++)
		page[i] = t->memory + i * PAGE;
	if (page && status)
		found = move_pages(t->pid, t->pages, page, NULL, status, 0) ? -errno : 0;
	for (size_t i = 0; found >= 0 && i < t->pages; i++)
		found += status[i] == node;
	free(page);
	free(status);
	return found;
}
