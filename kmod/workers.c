// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "chunk.h"
#include "classify.h"
#include "migrate.h"
#include "throttle.h"
#include "workers.h"

static struct workqueue_struct *helpers;

struct numaplace_hand {
	struct work_struct work;
	struct numaplace_crew *crew;
	struct numaplace_batch *batch;
	struct numaplace_room room;
};

/* How many pages to take, 0 if there is no time for more. A batch has one chunk at least. */
static unsigned int chunk_size(const struct numaplace_crew *crew, const struct numaplace_batch *b)
{
	u64 now = ktime_get_ns(), left = crew->deadline > now ? crew->deadline - now : 0;
	unsigned int size = numaplace_pace_chunk(b->n, crew->n, crew->page_ns, left);

	return crew->taken ? size : max(size, NUMAPLACE_PACE_MIN);
}

/* Where a chunk of about so many pages ends. It cuts no huge page that is mapped. */
static unsigned int chunk_end(const struct numaplace_batch *b, unsigned int end)
{
	unsigned long addr = b->start + ((unsigned long)end << PAGE_SHIFT);
	unsigned long past = b->start + ((unsigned long)b->n << PAGE_SHIFT);
	struct vm_area_struct *vma = end < b->n ? find_vma(b->mm, addr) : NULL;

	if (end >= b->n)
		return b->n;
	if (vma && vma->vm_start <= addr)
		addr = numaplace_scan_cut(b->mm, addr, min(past, vma->vm_end));
	return (addr - b->start) >> PAGE_SHIFT;
}

/* Takes the next pages of the batch. Returns how many, 0 if none are left or there is no time. */
static unsigned int take(struct numaplace_crew *crew, const struct numaplace_batch *b,
			 unsigned int *first)
{
	unsigned int size = 0;

	lockdep_assert_held(&b->mm->mmap_lock);
	spin_lock(&crew->lock);
	*first = crew->taken;
	if (crew->taken < b->n)
		size = chunk_size(crew, b);
	if (size)
		crew->taken = chunk_end(b, crew->taken + size);
	size = crew->taken - *first;
	spin_unlock(&crew->lock);
	return size;
}

/* Decaying maximum (1/8 per chunk): one host hiccup does not shrink the chunks for long. */
static void note_speed(struct numaplace_crew *crew, unsigned int n, u64 ns)
{
	u64 page_ns = div_u64(ns, n);

	spin_lock(&crew->lock);
	crew->page_ns = max(page_ns, crew->page_ns - crew->page_ns / 8);
	spin_unlock(&crew->lock);
}

/*
 * Each thread locks for itself and for a chunk only: if one held the lock for
 * the others, a writer between them would wait for it and they for the writer.
 */
static void move_chunks(struct numaplace_hand *hand)
{
	struct numaplace_batch *b = hand->batch;
	unsigned int first, n;
	u64 begun;

	do {
		begun = ktime_get_ns();
		mmap_read_lock(b->mm);
		n = take(hand->crew, b, &first);
		if (n)
			numaplace_chunk_move(b, &hand->room, first, n);
		mmap_read_unlock(b->mm);
		if (n)
			note_speed(hand->crew, n, ktime_get_ns() - begun);
		cond_resched();
	} while (n);
}

static void help(struct work_struct *work)
{
	move_chunks(container_of(work, struct numaplace_hand, work));
}

/**
 * numaplace_crew_start() - set up the threads that move a job's pages
 * @crew: the threads' state, all zero
 * @threads: how many, the caller included
 *
 * Return: 0 or -ENOMEM; numaplace_crew_end() is right after either.
 */
int numaplace_crew_start(struct numaplace_crew *crew, unsigned int threads)
{
	int err = 0;

	spin_lock_init(&crew->lock);
	crew->hand = kcalloc(threads, sizeof(*crew->hand), GFP_KERNEL);
	if (!crew->hand)
		return -ENOMEM;
	for (crew->n = 0; !err && crew->n < threads; crew->n++) {
		crew->hand[crew->n].crew = crew;
		INIT_WORK(&crew->hand[crew->n].work, help);
		err = numaplace_chunk_init(&crew->hand[crew->n].room);
	}
	return err;
}

/**
 * numaplace_crew_end() - release the threads' state
 * @crew: the state
 */
void numaplace_crew_end(struct numaplace_crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++)
		numaplace_chunk_free(&crew->hand[i].room);
	kfree(crew->hand);
}

static void collect_times(struct numaplace_crew *crew, struct numaplace_batch *b)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++) {
		struct numaplace_room *room = &crew->hand[i].room;

		b->setup_ns += room->setup_ns;
		b->copy_ns += room->copy_ns;
		b->finish_ns += room->finish_ns;
		room->setup_ns = 0;
		room->copy_ns = 0;
		room->finish_ns = 0;
	}
}

/**
 * numaplace_crew_move() - move the open pages of a batch
 * @crew: the threads that move them
 * @b: the batch
 * @deadline: when to end, by ktime_get_ns(); U64_MAX: no deadline
 *
 * Where the time is too short for all pages, b->n is how many were looked at.
 */
void numaplace_crew_move(struct numaplace_crew *crew, struct numaplace_batch *b, u64 deadline)
{
	unsigned int i, used = clamp_t(unsigned int, b->open / NUMAPLACE_PACE_MIN, 1, crew->n);

	crew->taken = 0;
	crew->deadline = deadline;
	for (i = 0; i < crew->n; i++)
		crew->hand[i].batch = b;
	for (i = 1; i < used; i++)
		queue_work_node(b->to, helpers, &crew->hand[i].work);
	move_chunks(&crew->hand[0]);
	/* A worker that has not begun by now has nothing left to do. */
	for (i = 1; i < used; i++)
		cancel_work_sync(&crew->hand[i].work);
	b->n = min(b->n, crew->taken);
	collect_times(crew, b);
}

/**
 * numaplace_crew_retry() - try the pages of a batch that are still open
 * @crew: the batch's threads; only the caller's moves pages
 * @b: the batch
 */
void numaplace_crew_retry(struct numaplace_crew *crew, struct numaplace_batch *b)
{
	crew->taken = 0;
	crew->deadline = U64_MAX;
	move_chunks(&crew->hand[0]);
	collect_times(crew, b);
}

/**
 * numaplace_crew_init() - get ready for crews
 *
 * Return: 0 or -ENOMEM.
 */
int numaplace_crew_init(void)
{
	helpers = alloc_workqueue("numaplace-crew", WQ_UNBOUND, 0);
	return helpers ? 0 : -ENOMEM;
}

/**
 * numaplace_crew_exit() - undo numaplace_crew_init()
 */
void numaplace_crew_exit(void)
{
	destroy_workqueue(helpers);
}
