// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "sweep.h"

#define SWEEP_MS 20

/* A queue of the module's own, one work at a time: works in different queues may run at once. */
static struct workqueue_struct *sweeper;

static bool (*do_sweep)(void);

static void sweep(struct work_struct *work);
static DECLARE_DELAYED_WORK(sweep_work, sweep);

static void sweep(struct work_struct *work)
{
	if (do_sweep())
		numaplace_sweep_later();
}

/**
 * numaplace_sweep_later() - schedule the sweep after SWEEP_MS
 */
void numaplace_sweep_later(void)
{
	queue_delayed_work(sweeper, &sweep_work, msecs_to_jiffies(SWEEP_MS));
}

/**
 * numaplace_sweep_now() - schedule the sweep immediately; from atomic context too
 */
void numaplace_sweep_now(void)
{
	mod_delayed_work(sweeper, &sweep_work, 0);
}

/**
 * numaplace_sweep_init() - create the queue
 * @act: does what is pending; returns whether there is more to do later
 *
 * Return: 0 or -ENOMEM.
 */
int numaplace_sweep_init(bool (*act)(void))
{
	do_sweep = act;
	sweeper = alloc_workqueue("numaplace-sweep", WQ_UNBOUND, 1);
	return sweeper ? 0 : -ENOMEM;
}

/**
 * numaplace_sweep_exit() - undo numaplace_sweep_init(); nothing schedules the sweep any more
 */
void numaplace_sweep_exit(void)
{
	cancel_delayed_work_sync(&sweep_work);
	destroy_workqueue(sweeper);
}
