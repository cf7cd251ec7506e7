// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

#include "cpuset.h"
#include "debugfs.h"
#include "inherit.h"
#include "mempolicy.h"
#include "taskwork.h"
#include "uapi/numaplace.h"

static int __init numaplace_init(void)
{
	int err;

	err = numaplace_cpuset_init();
	if (err)
		goto err_cpuset;
	err = numaplace_mempolicy_init();
	if (err)
		goto err_mempolicy;
	err = numaplace_inherit_init();
	if (err)
		goto err_inherit;
	/* Last: from here on there are users. */
	err = numaplace_debugfs_init();
	if (err)
		goto err_debugfs;
	return 0;

err_debugfs:
	numaplace_inherit_exit();
err_inherit:
	numaplace_mempolicy_exit();
err_mempolicy:
	numaplace_cpuset_exit();
err_cpuset:
	/* The files may have been open for a moment. */
	numaplace_taskwork_exit();
	pr_err("not loaded: error %d\n", err);
	return err;
}

static void __exit numaplace_exit(void)
{
	numaplace_debugfs_exit();
	numaplace_inherit_exit();
	numaplace_mempolicy_exit();
	numaplace_cpuset_exit();
	numaplace_taskwork_exit();
}

module_init(numaplace_init);
module_exit(numaplace_exit);

MODULE_DESCRIPTION("Moves the pages and the tasks of running programs between NUMA nodes");
MODULE_LICENSE("GPL");
MODULE_VERSION(NUMAPLACE_VERSION);
MODULE_INFO(headers, NUMAPLACE_HEADERS);
