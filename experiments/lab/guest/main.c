// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's side of the simulated machine. The plugin's page arrives as the
 * memory of an ivshmem device.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/stringify.h>

#include "lab.h"

#define BAR_MEMORY 2

static struct np_lab_shared *shared;

static int check(const struct np_lab_shared *s, resource_size_t size)
{
	if (size < sizeof(*s) || s->magic != NP_LAB_MAGIC || s->version != NP_LAB_VERSION ||
	    s->cpus > NP_LAB_MAX_CPUS || s->nodes > NP_LAB_MAX_NODES) {
		pr_err("the shared memory device is not that of the lab's plugin, version %d\n",
		       NP_LAB_VERSION);
		return -ENODEV;
	}
	return 0;
}

/* From here on the plugin simulates caches, memory and the CPUs' speed. */
static void end_untimed_start(void)
{
	asm volatile(".byte " __stringify(NP_LAB_MARKER(NP_LAB_START_ENDS)));
}

static int lab_probe(struct pci_dev *dev, const struct pci_device_id *id)
{
	resource_size_t size = pci_resource_len(dev, BAR_MEMORY);
	int ret;

	if (shared)
		return -EBUSY;
	ret = pcim_enable_device(dev);
	if (ret)
		return ret;
	ret = pci_request_region(dev, BAR_MEMORY, KBUILD_MODNAME);
	if (ret)
		return ret;
	shared = devm_memremap(&dev->dev, pci_resource_start(dev, BAR_MEMORY), size, MEMREMAP_WB);
	if (IS_ERR(shared)) {
		ret = PTR_ERR(shared);
		goto err_region;
	}
	ret = check(shared, size);
	if (ret)
		goto err_region;
	ret = numaplace_lab_tasks_begin();
	if (ret)
		goto err_region;
	numaplace_lab_counters_create(shared);
	end_untimed_start();
	return 0;

err_region:
	shared = NULL;
	pci_release_region(dev, BAR_MEMORY);
	return ret;
}

static void lab_remove(struct pci_dev *dev)
{
	numaplace_lab_counters_remove();
	numaplace_lab_tasks_end();
	pci_release_region(dev, BAR_MEMORY);
	shared = NULL;
}

static const struct pci_device_id lab_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110) }, /* ivshmem */
	{},
};
MODULE_DEVICE_TABLE(pci, lab_ids);

static struct pci_driver lab_driver = {
	.name = KBUILD_MODNAME,
	.id_table = lab_ids,
	.probe = lab_probe,
	.remove = lab_remove,
};
module_pci_driver(lab_driver);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Memory counters of the numaplace lab, and the end of its untimed start");
