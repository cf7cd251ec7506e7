// SPDX-License-Identifier: GPL-2.0-only
#include "page_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc.h"

/* Entries of pagemap that are read at once: those of a huge page. */
#define BLOCK 512

struct walker {
	const struct np_page_walk *w;
	struct np_window window;
	int pagemap;
};

int np_pagemap_open(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", np_proc_memory_thread(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

ssize_t np_pagemap_read(int pagemap, uint64_t first, uint64_t *entry, size_t n)
{
	ssize_t got;

	do
		got = pread(pagemap, entry, n * sizeof(*entry), (off_t)(first * sizeof(*entry)));
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got / (ssize_t)sizeof(*entry);
}

static int flush(struct walker *k)
{
	int e = k->window.n ? k->w->each(&k->window, k->w->arg) : 0;

	k->window.n = 0;
	return e;
}

/* Puts the pages of n entries, the first of them at `at`, into the window; step entries are a page. */
static int add(struct walker *k, uint64_t at, const uint64_t *entry, size_t n, size_t step)
{
	struct np_window *win = &k->window;
	int e = 0;

	for (size_t i = 0; !e && i < n; i += step) {
		if (!(entry[i] & (NP_PAGE_PRESENT | NP_PAGE_SWAPPED)))
			continue;
		win->page[win->n] = (void *)(uintptr_t)(at + i * k->w->page_size);
		win->weight[win->n] = (uint32_t)step;
		win->entry[win->n++] = entry[i];
		if (win->n == k->w->room)
			e = flush(k);
	}
	return e;
}

static int walk_range(struct walker *k, const struct np_vma_range *a)
{
	uint64_t size = k->w->page_size, block = BLOCK * size, entry[BLOCK];
	size_t step = a->page_size / size;
	int e = 0;

	if (step > BLOCK)
		block = a->page_size;
	for (uint64_t at = a->start, next; !e && at < a->end; at = next) {
		size_t want;
		ssize_t got;

		next = (at / block + 1) * block;
		want = ((next < a->end ? next : a->end) - at) / size;
		got = np_pagemap_read(k->pagemap, at / size, entry, want < BLOCK ? want : BLOCK);
		if (got <= 0)
			return (int)got; /* 0: the process has gone */
		e = add(k, at, entry, (size_t)got, step);
		if (!e && k->w->aligned && !(next % (k->w->room * size)))
			e = flush(k);
	}
	return e;
}

static int open_walker(struct walker *k)
{
	size_t room = k->w->room;

	k->pagemap = np_pagemap_open(k->w->pid);
	if (k->pagemap < 0)
		return k->pagemap;
	k->window.page = calloc(room, sizeof(*k->window.page));
	k->window.weight = calloc(room, sizeof(*k->window.weight));
	k->window.entry = calloc(room, sizeof(*k->window.entry));
	return k->window.page && k->window.weight && k->window.entry ? 0 : -ENOMEM;
}

int np_pages_walk(const struct np_page_walk *w)
{
	struct walker k = { .w = w, .pagemap = -1 };
	struct np_vma_range *ranges = NULL;
	size_t n = 0;
	int e = np_vma_ranges(w->pid, w->page_size, w->start, w->end, &ranges, &n);

	if (!e)
		e = open_walker(&k);
	for (size_t i = 0; !e && i < n; i++)
		if (!w->wanted || w->wanted(&ranges[i], w->arg))
			e = walk_range(&k, &ranges[i]);
	if (!e)
		e = flush(&k);
	if (k.pagemap >= 0)
		close(k.pagemap);
	free(k.window.page);
	free(k.window.weight);
	free(k.window.entry);
	free(ranges);
	return e;
}
