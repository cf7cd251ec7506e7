// SPDX-License-Identifier: GPL-2.0-only
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "debugfs.h"
#include "job.h"
#include "parse.h"
#include "pause.h"
#include "place.h"
#include "restore.h"
#include "stats.h"
#include "target.h"
#include "task_table.h"
#include "uapi/numaplace.h"

static struct dentry *dir;

/* The line that was written, to be released with kfree(). */
static char *read_line(const struct file *file, const char __user *from, size_t count)
{
	char *line;

	if (!numaplace_target_may(file))
		return ERR_PTR(-EPERM);
	if (count > NUMAPLACE_MAX_WRITE)
		return ERR_PTR(-E2BIG);
	line = memdup_user_nul(from, count);
	if (!IS_ERR(line) && strlen(line) != count) {
		kfree(line);
		return ERR_PTR(-EINVAL);
	}
	return line;
}

/* Reads a written line into a request. */
static int read_request(const struct file *file, const char __user *from, size_t count,
			const struct numaplace_key *keys, void *request)
{
	char *line = read_line(file, from, count);
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	err = numaplace_parse_line(line, keys, request);
	kfree(line);
	return err;
}

static int parse_threads(char *value, void *field)
{
	static const char *const words[] = {
		[NUMAPLACE_THREADS_ALL] = "all",
		[NUMAPLACE_THREADS_ONE] = "one",
		NULL,
	};

	return numaplace_parse_word(value, words, field);
}

static int parse_caller(char *value, void *field)
{
	if (!value || strcmp(value, "caller"))
		return -EINVAL;
	*(bool *)field = true;
	return 0;
}

static ssize_t place_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
#define FIELD(name) offsetof(struct numaplace_place_request, name)
	static const struct numaplace_key keys[] = {
		{ "pid", numaplace_parse_pid, FIELD(pid), true },
		{ "threads", parse_threads, FIELD(threads) },
		{ "cpus", numaplace_parse_cpus, FIELD(cpus) },
		{ "mem", parse_caller, FIELD(mem) },
		{ "inherit", numaplace_parse_bool, FIELD(inherit) },
		{},
	};
#undef FIELD
	struct numaplace_place_request request = { .inherit = true };
	int err;

	if (!zalloc_cpumask_var(&request.cpus, GFP_KERNEL))
		return -ENOMEM;
	err = read_request(file, from, count, keys, &request);
	if (!err)
		err = numaplace_place(&request);
	free_cpumask_var(request.cpus);
	return err ? err : count;
}

static ssize_t restore_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
#define FIELD(name) offsetof(struct numaplace_restore_request, name)
	static const struct numaplace_key keys[] = {
		{ "pid", numaplace_parse_pid, FIELD(pid) },
		{ "tid", numaplace_parse_pid, FIELD(tid) },
		{ "all", numaplace_parse_flag, FIELD(all) },
		{},
	};
#undef FIELD
	struct numaplace_restore_request request = {};
	int err = read_request(file, from, count, keys, &request);

	if (!err)
		err = numaplace_restore(&request);
	return err ? err : count;
}

static int parse_pause(char *value, void *field)
{
	static const char *const words[] = {
		[NUMAPLACE_PAUSE_AUTO] = "auto",
		[NUMAPLACE_PAUSE_ALWAYS] = "always",
		[NUMAPLACE_PAUSE_NEVER] = "never",
		NULL,
	};

	return numaplace_parse_word(value, words, field);
}

static ssize_t migrate_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
#define FIELD(name) offsetof(struct numaplace_job_request, name)
	static const struct numaplace_key keys[] = {
		{ "pid", numaplace_parse_pid, FIELD(pid), true },
		{ "from", numaplace_parse_nodes, FIELD(from), true },
		{ "to", numaplace_parse_node, FIELD(to), true },
		{ "start", numaplace_parse_u64, FIELD(start) },
		{ "end", numaplace_parse_u64, FIELD(end) },
		{ "pause", parse_pause, FIELD(pause) },
		{ "max_stall_us", numaplace_parse_u32, FIELD(max_stall_us) },
		{ "rate_mib", numaplace_parse_u32, FIELD(rate_mib) },
		{ "duty", numaplace_parse_u32, FIELD(duty) },
		{ "threads", numaplace_parse_u32, FIELD(threads) },
		{ "shared", numaplace_parse_bool, FIELD(shared) },
		{ "split", numaplace_parse_bool, FIELD(split) },
		{ "limit", numaplace_parse_u64, FIELD(limit) },
		{},
	};
#undef FIELD
	struct numaplace_job_request request = {
		.threads = NUMAPLACE_THREADS,
		.duty = NUMAPLACE_DUTY,
	};
	int err = read_request(file, from, count, keys, &request);
	u64 id;

	if (!err)
		err = numaplace_job_start(&request, &id);
	if (err)
		return err;
	WRITE_ONCE(*(u64 *)file->private_data, id);
	/* So that the next read gives this job, not the end of the last reply. */
	*pos = 0;
	return count;
}

static ssize_t migrate_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	u64 id = READ_ONCE(*(u64 *)file->private_data);
	char reply[32];
	int len = 0;

	if (id)
		len = scnprintf(reply, sizeof(reply), "job=%llu\n", id);
	return simple_read_from_buffer(to, count, pos, reply, len);
}

static int migrate_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(sizeof(u64), GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int migrate_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t cancel_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	static const struct numaplace_key keys[] = {
		{ "job", numaplace_parse_u64, 0, true },
		{},
	};
	u64 id = 0;
	int err = read_request(file, from, count, keys, &id);

	if (!err)
		err = numaplace_job_cancel(id);
	return err ? err : count;
}

static int version_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "numaplace=%s abi=%d\n", NUMAPLACE_VERSION, NUMAPLACE_ABI);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(version);

static int placements_show(struct seq_file *m, void *unused)
{
	return numaplace_task_table_show(m);
}
DEFINE_SHOW_ATTRIBUTE(placements);

static int jobs_show(struct seq_file *m, void *unused)
{
	numaplace_job_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(jobs);

static int stats_show(struct seq_file *m, void *unused)
{
	numaplace_stats_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static const struct file_operations place_fops = {
	.owner = THIS_MODULE,
	.write = place_write,
	.llseek = noop_llseek,
};

static const struct file_operations restore_fops = {
	.owner = THIS_MODULE,
	.write = restore_write,
	.llseek = noop_llseek,
};

static const struct file_operations cancel_fops = {
	.owner = THIS_MODULE,
	.write = cancel_write,
	.llseek = noop_llseek,
};

static const struct file_operations migrate_fops = {
	.owner = THIS_MODULE,
	.open = migrate_open,
	.release = migrate_release,
	.read = migrate_read,
	.write = migrate_write,
	.llseek = default_llseek,
};

static const struct {
	const char *name;
	umode_t mode;
	const struct file_operations *fops;
} files[] = {
	/* clang-format off */
	{ "version", 0444, &version_fops },
	{ "place", 0200, &place_fops },
	{ "placements", 0400, &placements_fops },
	{ "restore", 0200, &restore_fops },
	{ "migrate", 0600, &migrate_fops },
	{ "jobs", 0400, &jobs_fops },
	{ "cancel", 0200, &cancel_fops },
	{ "stats", 0400, &stats_fops },
	/* clang-format on */
};

/**
 * numaplace_debugfs_init() - make the files
 *
 * Return: 0, or why there can be none: -ENODEV without debugfs, -EPERM where it
 * is switched off.
 */
int numaplace_debugfs_init(void)
{
	struct dentry *file;
	unsigned int i;

	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	if (IS_ERR(dir))
		return PTR_ERR(dir);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		file = debugfs_create_file(files[i].name, files[i].mode, dir, NULL, files[i].fops);
		if (IS_ERR(file)) {
			debugfs_remove(dir);
			return PTR_ERR(file);
		}
	}
	return 0;
}

/**
 * numaplace_debugfs_exit() - remove the files; waits for operations in progress
 */
void numaplace_debugfs_exit(void)
{
	debugfs_remove(dir);
}
