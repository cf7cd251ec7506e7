// SPDX-License-Identifier: GPL-2.0-only
#include "move_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page_sender.h"

/* Pages looked at in one go: large calls, bounded memory. */
#define WINDOW 32768
/* Return value of each() that ends the walk. */
#define ENOUGH 1

struct mover {
	const struct np_migrate_request *r;
	struct np_migrate_result *out;
	struct np_sender sender;
	int *node; /* [WINDOW] where the pages of the window are, -1: done with */
};

/* Counts the page and returns false when it need not move. */
static bool must_move(struct mover *m, int node, uint64_t entry, uint32_t weight)
{
	const struct bitmask *from = m->r->from;

	if (node == m->r->to) {
		m->out->asked += weight;
		m->out->already += weight;
		return false;
	}
	if (node < 0) {
		np_sender_count(m->out, node, weight);
		return false;
	}
	if (from && !numa_bitmask_isbitset(from, (unsigned int)node))
		return false; /* not asked for */
	if ((entry & NP_PAGE_FILE) && !m->r->files) {
		m->out->asked += weight;
		m->out->file += weight;
		return false;
	}
	return true;
}

static uint64_t left_to_move(const struct mover *m)
{
	return !m->r->limit		   ? UINT64_MAX :
	       m->r->limit > m->out->moved ? m->r->limit - m->out->moved :
					     0;
}

/* Hands pages from *at on to the sender, as many as may still move. */
static void choose(struct mover *m, const struct np_window *w, size_t *at)
{
	uint64_t left = left_to_move(m);

	for (; *at < w->n && left; (*at)++) {
		if (m->node[*at] < 0)
			continue;
		if (w->weight[*at] > left)
			break;
		left -= w->weight[*at];
		np_sender_add(&m->sender, w->page[*at], w->weight[*at], m->r->to);
	}
}

/* Counts what was sent and stayed; w holds them, from number first on. */
static void count_left(struct mover *m, const struct np_window *w, size_t first)
{
	const struct np_sender *s = &m->sender;

	for (size_t i = 0, at = first; i < s->n; at++) {
		if (m->node[at] < 0)
			continue;
		/* A page of a file that several map is that before it is shared. */
		if (s->error[i] == -EACCES && (w->entry[at] & NP_PAGE_FILE)) {
			m->out->asked += w->weight[at];
			m->out->file += w->weight[at];
		} else if (s->error[i] < 0) {
			np_sender_count(m->out, s->error[i], w->weight[at]);
		}
		i++;
	}
}

/* Pages behind the limit that came along: the kernel moves a huge page whole. */
static int count_along(struct mover *m, const struct np_window *w, size_t at)
{
	size_t n = w->n - at < 512 ? w->n - at : 512;
	int e = n ? np_sender_ask(&m->sender, w->page + at, n, m->sender.status) : 0;

	for (size_t i = 0; !e && i < n; i++) {
		if (m->node[at + i] < 0 || m->sender.status[i] != m->r->to)
			continue;
		m->out->asked += w->weight[at + i];
		m->out->moved += w->weight[at + i];
		m->out->bytes += w->weight[at + i] * m->sender.page_size;
	}
	return e;
}

/*
 * Of a dry run: what would be sent counts as moved, but for pages that the call would leave to others,
 * which have the names that count_left() gives them.
 */
static void count_tried(struct mover *m, const struct np_window *w)
{
	struct np_migrate_result *out = m->out;

	for (size_t i = 0; i < w->n && left_to_move(m); i++) {
		bool others = !m->r->shared && !(w->entry[i] & NP_PAGE_EXCLUSIVE);
		uint64_t *count = !others		       ? &out->moved :
				  (w->entry[i] & NP_PAGE_FILE) ? &out->file :
								 &out->shared;

		if (m->node[i] < 0)
			continue;
		out->asked += w->weight[i];
		*count += w->weight[i];
		out->bytes += others ? 0 : w->weight[i] * m->sender.page_size;
	}
}

static int send_window(struct mover *m, const struct np_window *w)
{
	size_t at = 0;
	int e = 0;

	while (!e && at < w->n && left_to_move(m)) {
		size_t first = at;

		choose(m, w, &at);
		if (!m->sender.n)
			break;
		e = np_send(&m->sender);
		count_left(m, w, first);
		m->sender.n = 0;
	}
	return !e && !left_to_move(m) ? count_along(m, w, at) : e;
}

/* Moves what of a window must move. */
static int each(const struct np_window *w, void *arg)
{
	struct mover *m = arg;
	int e = np_sender_ask(&m->sender, w->page, w->n, m->node);

	for (size_t i = 0; !e && i < w->n; i++)
		if (!must_move(m, m->node[i], w->entry[i], w->weight[i]))
			m->node[i] = -1;
	if (!e && m->r->dry)
		count_tried(m, w);
	else if (!e)
		e = send_window(m, w);
	if (!e && !left_to_move(m))
		return ENOUGH;
	/* Where nothing was sent, too. */
	return e ? e : np_sender_go_on(&m->sender);
}

/* Leaves out what was chosen, as asked. With no_small, leaves out ranges of anonymous small pages; without files those of a pool. */
static bool wanted(const struct np_vma_range *range, void *arg)
{
	const struct mover *m = arg;

	if (range->chosen && m->r->keep_chosen)
		return false;
	if (range->hugetlb)
		return m->r->files;
	return !m->r->no_small || !range->anonymous || range->page_size > m->sender.page_size;
}

int np_move_pages(const struct np_migrate_request *r, struct np_migrate_result *out,
		  struct np_err *err)
{
	struct mover m = { .r = r, .out = out, .sender = { .r = r, .out = out, .err = err } };
	struct np_page_walk walk = { .room = WINDOW, .wanted = wanted, .each = each, .arg = &m };
	int e;

	m.node = calloc(WINDOW, sizeof(*m.node));
	e = m.node ? np_sender_walk(&m.sender, &walk) : np_fail(err, -ENOMEM, "out of memory");
	free(m.node);
	return e;
}
