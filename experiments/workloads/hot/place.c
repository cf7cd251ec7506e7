// SPDX-License-Identifier: GPL-2.0-only
/* What one would do who knows the pattern: hot memory to the fast nodes, and the rest away first. */
#include "hot.h"

#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGES 512  /* of one call */
#define FULL  0.95 /* of the room is filled: the kernel takes some of it */
#define DRIFT 8	   /* the hot part is placed again when it has gone on by this part of it */

static size_t page_lines(void)
{
	return sysconf(_SC_PAGESIZE) / HOT_LINE;
}

/* Of these pages, those whose heat is `hot` and that are not where it wants them. */
static void move_some(void **page, size_t count, const bool *heat, bool hot, int target)
{
	int status[PAGES], to[PAGES];
	size_t wrong = 0;

	if (numa_move_pages(0, count, page, NULL, status, 0))
		return;
	for (size_t k = 0; k < count; k++)
		if (heat[k] == hot && status[k] >= 0 && hot_is_fast(status[k]) != hot) {
			to[wrong] = target;
			page[wrong++] = page[k];
		}
	if (wrong)
		numa_move_pages(0, wrong, page, to, status, MPOL_MF_MOVE);
}

static void move_to(struct hot_worker *w, const bool *heat, bool hot, int target)
{
	size_t pages = w->filled / page_lines(), count;
	void *page[PAGES];

	for (size_t first = 0; first < pages; first += count) {
		count = pages - first < PAGES ? pages - first : PAGES;
		for (size_t k = 0; k < count; k++)
			page[k] = &w->line[(first + k) * page_lines()];
		move_some(page, count, heat + first, hot, target);
	}
}

/* To the own node before others: what a full node has not taken goes to the next one. */
static void move_all(struct hot_worker *w, const bool *heat, bool hot)
{
	int own = numa_node_of_cpu(sched_getcpu());

	if (hot_is_fast(own) == hot)
		move_to(w, heat, hot, own);
	for (int node = 0; node <= numa_max_node(); node++)
		if (node != own && numa_node_size64(node, NULL) > 0 && hot_is_fast(node) == hot)
			move_to(w, heat, hot, node);
}

/* The hottest pages of the distribution, as many as there is room for. */
static void mark_hottest(const struct hot_options *o, struct hot_worker *w, bool *heat)
{
	size_t pages = w->lines / page_lines(), most = pages;

	if (o->ballast && o->fast_percent < 100)
		most = FULL * o->fast_percent / 100 * pages;
	for (size_t rank = 0; rank < most; rank++)
		heat[hot_page_of(rank, pages)] = true;
}

static bool has_drifted(struct hot_span from, struct hot_span to)
{
	size_t by = to.first > from.first ? to.first - from.first : from.first - to.first;

	return from.lines != to.lines || by > to.lines / DRIFT;
}

void hot_place(const struct hot_options *o, struct hot_worker *w, struct hot_span hot)
{
	size_t pages = w->lines / page_lines(), first = hot.first / page_lines();
	bool *heat;

	if (!has_drifted(w->placed, hot))
		return;
	heat = calloc(pages, sizeof(*heat));
	if (!heat)
		return; /* it stays as it is */
	if (w->page_at)
		mark_hottest(o, w, heat);
	else
		memset(heat + first, true, hot.lines / page_lines());
	move_all(w, heat, false);
	move_all(w, heat, true);
	free(heat);
	w->placed = hot;
}
