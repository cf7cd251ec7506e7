// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "batch.h"
#include "chunk.h"
#include "classify.h"
#include "lock_mm.h"
#include "throttle.h"
#include "workers.h"

static struct workqueue_struct *queue;

struct numaplace_worker {
	struct work_struct work;
	struct numaplace_workers *workers;
	struct numaplace_batch *batch;
	struct numaplace_migrate_buf buf;
};

/* How many pages to take, 0 if there is no time for more. A batch has one chunk at least. */
static unsigned int chunk_size(const struct numaplace_workers *workers,
			       const struct numaplace_batch *b)
{
	u64 now = ktime_get_ns(), left = workers->deadline > now ? workers->deadline - now : 0;
	unsigned int size = numaplace_throttle_chunk(b->n, workers->n, workers->page_ns, left);

	return workers->taken ? size : max(size, NUMAPLACE_BATCH_MIN);
}

/* End of a chunk of about so many pages. It cuts no huge page that is mapped. */
static unsigned int chunk_end(const struct numaplace_batch *b, unsigned int end)
{
	unsigned long addr = b->start + ((unsigned long)end << PAGE_SHIFT);
	unsigned long past = b->start + ((unsigned long)b->n << PAGE_SHIFT);
	struct vm_area_struct *vma = end < b->n ? find_vma(b->mm, addr) : NULL;

	if (end >= b->n)
		return b->n;
	if (vma && vma->vm_start <= addr)
		addr = numaplace_classify_cut(b->mm, addr, min(past, vma->vm_end));
	return (addr - b->start) >> PAGE_SHIFT;
}

/* How many pages the next chunk may move, about: others may take it. */
static unsigned int count_next(struct numaplace_workers *workers, const struct numaplace_batch *b)
{
	unsigned int i, end, n = 0;

	spin_lock(&workers->lock);
	i = workers->taken;
	end = i < b->n ? min(b->n, i + chunk_size(workers, b)) : i;
	spin_unlock(&workers->lock);
	for (; i < end; i++)
		n += READ_ONCE(b->status[i]) == NUMAPLACE_PAGE_pending;
	return n;
}

/* Takes the next pages of the batch. Returns how many, 0 if none are left or there is no time. */
static unsigned int take(struct numaplace_workers *workers, const struct numaplace_batch *b,
			 unsigned int *first)
{
	unsigned int size = 0;

	lockdep_assert_held(&b->mm->mmap_lock);
	spin_lock(&workers->lock);
	*first = workers->taken;
	if (workers->taken < b->n)
		size = chunk_size(workers, b);
	if (size)
		workers->taken = chunk_end(b, workers->taken + size);
	size = workers->taken - *first;
	spin_unlock(&workers->lock);
	return size;
}

/* Decaying maximum (1/8 per chunk): one host hiccup does not shrink the chunks for long. */
static void note_speed(struct numaplace_workers *workers, unsigned int n, u64 ns)
{
	u64 page_ns = div_u64(ns, n);

	spin_lock(&workers->lock);
	workers->page_ns = max(page_ns, workers->page_ns - workers->page_ns / 8);
	spin_unlock(&workers->lock);
}

/*
 * Each thread locks for itself and for a chunk only: if one held the lock for
 * the others, a writer between them would wait for it and they for the writer.
 */
static void move_chunks(struct numaplace_worker *worker)
{
	struct numaplace_batch *b = worker->batch;
	unsigned int first, n;
	u64 begun;

	do {
		begun = ktime_get_ns();
		numaplace_chunk_fill(b, &worker->buf, count_next(worker->workers, b));
		if (!numaplace_lock_mm(b->mm, b->cancelled, worker->workers->deadline))
			break;
		n = take(worker->workers, b, &first);
		if (n)
			numaplace_chunk_move(b, &worker->buf, first, n);
		mmap_read_unlock(b->mm);
		if (n)
			note_speed(worker->workers, n, ktime_get_ns() - begun);
		cond_resched();
	} while (n);
	numaplace_chunk_drain(&worker->buf);
}

static void run_worker(struct work_struct *work)
{
	move_chunks(container_of(work, struct numaplace_worker, work));
}

/**
 * numaplace_workers_start() - set up the threads that move a job's pages
 * @workers: the threads' state, all zero
 * @threads: how many, the caller included
 *
 * Return: 0 or -ENOMEM; numaplace_workers_end() is right after either.
 */
int numaplace_workers_start(struct numaplace_workers *workers, unsigned int threads)
{
	int err = 0;

	spin_lock_init(&workers->lock);
	workers->worker = kcalloc(threads, sizeof(*workers->worker), GFP_KERNEL);
	if (!workers->worker)
		return -ENOMEM;
	for (workers->n = 0; !err && workers->n < threads; workers->n++) {
		workers->worker[workers->n].workers = workers;
		INIT_WORK(&workers->worker[workers->n].work, run_worker);
		err = numaplace_chunk_init(&workers->worker[workers->n].buf);
	}
	return err;
}

/**
 * numaplace_workers_end() - release the threads' state
 * @workers: the state
 */
void numaplace_workers_end(struct numaplace_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		numaplace_chunk_free(&workers->worker[i].buf);
	kfree(workers->worker);
}

static void collect_times(struct numaplace_workers *workers, struct numaplace_batch *b)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++) {
		struct numaplace_migrate_buf *buf = &workers->worker[i].buf;

		b->setup_ns += buf->setup_ns;
		b->copy_ns += buf->copy_ns;
		b->finish_ns += buf->finish_ns;
		buf->setup_ns = 0;
		buf->copy_ns = 0;
		buf->finish_ns = 0;
	}
}

/**
 * numaplace_workers_move() - move the pending pages of a batch
 * @workers: the threads that move them
 * @b: the batch
 * @deadline: when to end, by ktime_get_ns(); U64_MAX: no deadline
 *
 * If the time is too short for all pages, b->n is then the number of pages examined.
 */
void numaplace_workers_move(struct numaplace_workers *workers, struct numaplace_batch *b,
			    u64 deadline)
{
	unsigned int used = clamp_t(unsigned int, b->pending / NUMAPLACE_BATCH_MIN, 1, workers->n);
	unsigned int i;

	workers->taken = 0;
	workers->deadline = deadline;
	for (i = 0; i < workers->n; i++)
		workers->worker[i].batch = b;
	for (i = 1; i < used; i++)
		queue_work_node(b->to, queue, &workers->worker[i].work);
	move_chunks(&workers->worker[0]);
	/* A worker that has not begun by now has nothing left to do. */
	for (i = 1; i < used; i++)
		cancel_work_sync(&workers->worker[i].work);
	b->n = min(b->n, workers->taken);
	collect_times(workers, b);
}

/**
 * numaplace_workers_retry() - try the pages of a batch that are still pending
 * @workers: the batch's threads; only the caller's moves pages
 * @b: the batch
 */
void numaplace_workers_retry(struct numaplace_workers *workers, struct numaplace_batch *b)
{
	workers->taken = 0;
	workers->deadline = U64_MAX;
	move_chunks(&workers->worker[0]);
	collect_times(workers, b);
}

/**
 * numaplace_workers_init() - create the work queue
 *
 * Return: 0 or -ENOMEM.
 */
int numaplace_workers_init(void)
{
	queue = alloc_workqueue("numaplace-workers", WQ_UNBOUND, 0);
	return queue ? 0 : -ENOMEM;
}

/**
 * numaplace_workers_exit() - undo numaplace_workers_init()
 */
void numaplace_workers_exit(void)
{
	destroy_workqueue(queue);
}
