// SPDX-License-Identifier: GPL-2.0-only
#include "query_pages.h"

#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#include "page_walk.h"
#include "proc.h"

/* Pages asked of in one call. */
#define BATCH 4096

struct query {
	const struct np_machine *m;
	pid_t pid;
	uint64_t *pages; /* [n_nodes] */
	int status[BATCH];
};

static bool is_memory(const struct np_vma_range *range, void *arg)
{
	return range->memory;
}

static int ask(const struct np_window *window, void *arg)
{
	struct query *w = arg;

	if (move_pages(np_proc_memory_thread(w->pid), window->n, window->page, NULL, w->status, 0) <
	    0)
		return -errno;
	for (size_t i = 0; i < window->n; i++) {
		int node = w->status[i] < 0 ? NP_NODE_NONE :
					      np_machine_node_index(w->m, w->status[i]);

		if (node != NP_NODE_NONE)
			w->pages[node] += window->weight[i];
	}
	return 0;
}

static int query_task(struct query *w)
{
	const struct np_page_walk walk = {
		.pid = w->pid,
		.page_size = w->m->page_size,
		.room = BATCH,
		.wanted = is_memory,
		.each = ask,
		.arg = w,
	};

	return np_pages_walk(&walk);
}

int np_query_pages(struct np_tasks *t, const struct np_machine *m, struct np_err *err)
{
	struct query *w = malloc(sizeof(*w));
	int e = w ? 0 : np_fail(err, -ENOMEM, "out of memory");

	for (size_t i = 0; !e && i < t->n; i++) {
		uint64_t *pages = calloc(m->n_nodes, sizeof(*pages));

		if (!pages) {
			e = np_fail(err, -ENOMEM, "out of memory");
			break;
		}
		w->m = m;
		w->pid = t->task[i].pid;
		w->pages = pages;
		e = query_task(w);
		if (!e) {
			memcpy(t->pages + i * m->n_nodes, pages, m->n_nodes * sizeof(*pages));
			t->sampled[i] = 0;
		} else if (e == -EPERM || e == -EACCES)
			e = np_proc_denied(w->pid, "ask for the pages of", err);
		else if (e != -ENOMEM)
			e = 0;
		free(pages);
	}
	free(w);
	return e;
}
