// SPDX-License-Identifier: GPL-2.0-only
#include <linux/highmem.h>
#include <linux/migrate.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "copy.h"
#include "uapi/numaplace.h"

/* Fewer pages than this are not worth another thread. */
#define MIN_SHARE	64UL

static struct workqueue_struct *copiers;

struct share {
	struct work_struct work;
	const unsigned long *dst, *src;
	unsigned long n;
};

static void copy_entry(unsigned long dst, unsigned long src)
{
	struct page *to = migrate_pfn_to_page(dst), *from = migrate_pfn_to_page(src);
	unsigned int i, n = dst & MIGRATE_PFN_COMPOUND ? HPAGE_PMD_NR : 1;

	for (i = 0; i < n; i++) {
		copy_highpage(to + i, from + i);
		cond_resched();
	}
}

static void copy_share(const struct share *s)
{
	unsigned long i;

	for (i = 0; i < s->n; i++)
		if (s->dst[i])
			copy_entry(s->dst[i], s->src[i]);
}

static void copy_by_worker(struct work_struct *work)
{
	copy_share(container_of(work, struct share, work));
}

/**
 * numaplace_copy_pages() - copy the contents of pages
 * @dst: where to, as migrate_vma has it; 0 for a page that is not to be copied
 * @src: where from
 * @n: how many
 * @threads: how many threads to use at most
 * @nid: the node near which to copy
 */
void numaplace_copy_pages(const unsigned long *dst, const unsigned long *src, unsigned long n,
			  unsigned int threads, int nid)
{
	struct share share[NUMAPLACE_MAX_THREADS];
	unsigned long each = max(DIV_ROUND_UP(n, threads), MIN_SHARE), done = 0;
	unsigned int used, i;

	for (used = 0; done < n; used++, done += share[used - 1].n) {
		struct share *s = &share[used];

		s->dst = dst + done;
		s->src = src + done;
		s->n = min(each, n - done);
		if (!used)
			continue;
		INIT_WORK_ONSTACK(&s->work, copy_by_worker);
		queue_work_node(nid, copiers, &s->work);
	}
	if (used)
		copy_share(&share[0]);
	for (i = 1; i < used; i++) {
		flush_work(&share[i].work);
		destroy_work_on_stack(&share[i].work);
	}
}

/**
 * numaplace_copy_init() - get ready to copy
 *
 * Return: 0 or -ENOMEM.
 */
int numaplace_copy_init(void)
{
	/* The pages are locked meanwhile, so a worker must be there without memory, too. */
	copiers = alloc_workqueue("numaplace-copy", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return copiers ? 0 : -ENOMEM;
}

/**
 * numaplace_copy_exit() - undo numaplace_copy_init()
 */
void numaplace_copy_exit(void)
{
	destroy_workqueue(copiers);
}
