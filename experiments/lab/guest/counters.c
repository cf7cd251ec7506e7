// SPDX-License-Identifier: GPL-2.0-only
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "lab.h"

static struct dentry *folder;

/* A consistent copy of the plugin's totals: the misses are the sum over where they were served. */
static void read_cpu(struct np_lab_cpu *out, const struct np_lab_cpu *shared)
{
	for (;;) {
		u64 before = READ_ONCE(shared->sequence);

		smp_rmb();		   /* the first reading of sequence before the copy */
		*out = data_race(*shared); /* a copy with a write in it is not used */
		smp_rmb();		   /* the copy before the second reading of sequence */
		if (!(before & 1) && before == READ_ONCE(shared->sequence))
			return;
		cpu_relax();
	}
}

static void show_cpu(struct seq_file *s, const struct np_lab_shared *shared, unsigned int cpu)
{
	struct np_lab_cpu c;
	unsigned int node;

	read_cpu(&c, &shared->cpu[cpu]);
	seq_printf(s, "cpu=%u", cpu);
#define X(name) seq_printf(s, " " #name "=%llu", c.name);
	NP_LAB_COUNTERS(X)
#undef X
	for (node = 0; node < shared->nodes; node++)
		seq_printf(s, " dram_node%u=%llu", node, c.dram[node]);
	seq_putc(s, '\n');
}

static int counters_show(struct seq_file *s, void *unused)
{
	const struct np_lab_shared *shared = s->private;
	unsigned int cpu;

	for (cpu = 0; cpu < shared->cpus; cpu++)
		show_cpu(s, shared, cpu);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

void numaplace_lab_counters_create(const struct np_lab_shared *shared)
{
	folder = debugfs_create_dir("numaplace_lab", NULL);
	debugfs_create_file("counters", 0400, folder, (void *)shared, &counters_fops);
}

void numaplace_lab_counters_remove(void)
{
	debugfs_remove(folder);
}
