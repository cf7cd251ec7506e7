// SPDX-License-Identifier: GPL-2.0-only
#include "walk.h"

#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "areas.h"
#include "proc.h"
#include "residency.h"

/* Pages asked of in one call. */
#define BATCH 4096

struct walk {
	const struct np_machine *m;
	pid_t pid;
	uint64_t *pages;	/* [n_nodes] */
	void *address[BATCH];
	int status[BATCH];
};

/* Where anonymous mappings begin. */
struct starts {
	uint64_t *start;
	size_t n;
};

static int keep_anonymous(const struct np_mapping *map, void *arg)
{
	struct starts *s = arg;
	uint64_t *bigger;

	if (!np_mapping_anonymous(map))
		return 0;
	bigger = realloc(s->start, (s->n + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	s->start = bigger;
	s->start[s->n++] = map->start;
	return 0;
}

static bool is_anonymous(const struct starts *s, uint64_t start)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->start[i] == start)
			return true;
	return false;
}

static int ask(struct walk *w, size_t n)
{
	if (move_pages(w->pid, n, w->address, NULL, w->status, 0) < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		int node = w->status[i] < 0 ? NP_NODE_NONE :
					      np_machine_node_index(w->m, w->status[i]);

		if (node != NP_NODE_NONE)
			w->pages[node]++;
	}
	return 0;
}

static int walk_area(struct walk *w, const struct np_area *area)
{
	uint64_t at = area->start;
	int e = 0;

	while (!e && at < area->end) {
		size_t n = 0;

		for (; n < BATCH && at < area->end; n++, at += w->m->page_size)
			w->address[n] = (void *)(uintptr_t)at;
		e = ask(w, n);
	}
	return e;
}

static int walk_task(struct walk *w)
{
	struct starts s = { 0 };
	struct np_area *area = NULL;
	size_t n = 0;
	int e = np_mappings(w->pid, w->m->page_size, keep_anonymous, &s);

	if (!e)
		e = np_areas(w->pid, w->m->page_size, 0, 0, &area, &n);
	for (size_t i = 0; !e && i < n; i++)
		if (is_anonymous(&s, area[i].start))
			e = walk_area(w, &area[i]);
	free(s.start);
	free(area);
	return e;
}

int np_walk_tasks(struct np_tasks *t, const struct np_machine *m, char *err, size_t err_len)
{
	struct walk *w = malloc(sizeof(*w));
	int e = w ? 0 : np_fail(err, err_len, -ENOMEM, "out of memory");

	for (size_t i = 0; !e && i < t->n; i++) {
		uint64_t *pages = calloc(m->n_nodes, sizeof(*pages));

		if (!pages) {
			e = np_fail(err, err_len, -ENOMEM, "out of memory");
			break;
		}
		w->m = m;
		w->pid = t->task[i].pid;
		w->pages = pages;
		e = walk_task(w);
		if (!e)
			memcpy(t->pages + i * m->n_nodes, pages, m->n_nodes * sizeof(*pages));
		else if (e == -EPERM || e == -EACCES)
			e = np_proc_denied(w->pid, "ask for the pages of", err, err_len);
		else if (e != -ENOMEM)
			e = 0;
		free(pages);
	}
	free(w);
	return e;
}
