// SPDX-License-Identifier: GPL-2.0-only
#include "query_pages.h"

#include <errno.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#include "page_walk.h"
#include "proc.h"

struct query {
	const struct np_machine *m;
	pid_t pid;
	uint64_t *pages; /* [n_nodes] */
};

int np_query_batch(pid_t pid, size_t n, void **page, const uint32_t *weight,
		   const struct np_machine *m, uint64_t *pages)
{
	int status[NP_QUERY_BATCH];

	if (move_pages(np_proc_memory_thread(pid), n, page, NULL, status, 0) < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		int node = status[i] < 0 ? NP_NODE_NONE : np_machine_node_index(m, status[i]);

		if (node != NP_NODE_NONE)
			pages[node] += weight ? weight[i] : 1;
	}
	return 0;
}

static bool is_memory(const struct np_vma_range *range, void *arg)
{
	return range->memory;
}

static int ask(const struct np_window *window, void *arg)
{
	const struct query *w = arg;

	return np_query_batch(w->pid, window->n, window->page, window->weight, w->m, w->pages);
}

static int query_task(struct query *w)
{
	const struct np_page_walk walk = {
		.pid = w->pid,
		.page_size = w->m->page_size,
		.room = NP_QUERY_BATCH,
		.wanted = is_memory,
		.each = ask,
		.arg = w,
	};

	return np_pages_walk(&walk);
}

int np_query_pages(struct np_tasks *t, const struct np_machine *m, struct np_err *err)
{
	int e = 0;

	for (size_t i = 0; !e && i < t->n; i++) {
		uint64_t *pages = calloc(m->n_nodes, sizeof(*pages));
		struct query w = { m, t->task[i].pid, pages };

		if (!pages)
			return np_fail(err, -ENOMEM, "out of memory");
		e = query_task(&w);
		if (!e) {
			memcpy(t->pages + i * m->n_nodes, pages, m->n_nodes * sizeof(*pages));
			t->sampled[i] = 0;
		} else if (e == -EPERM || e == -EACCES)
			e = np_proc_denied(w.pid, "ask for the pages of", err);
		else if (e != -ENOMEM)
			e = 0;
		free(pages);
	}
	return e;
}
