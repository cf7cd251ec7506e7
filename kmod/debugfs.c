// SPDX-License-Identifier: GPL-2.0-only
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "debugfs.h"
#include "move.h"
#include "parse.h"
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

/* An open migrate: what became of the last line that was written to it, unless it was refused. */
struct open_migrate {
	struct mutex lock; /* of the result, for as long as a line is carried out */
	struct numaplace_move_result result;
};

static ssize_t migrate_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
#define FIELD(name) offsetof(struct numaplace_move_request, name)
	static const struct numaplace_key keys[] = {
		{ "pid", numaplace_parse_pid, FIELD(pid), true },
		{ "from", numaplace_parse_nodes, FIELD(from), true },
		{ "to", numaplace_parse_node, FIELD(to), true },
		{ "start", numaplace_parse_u64, FIELD(start) },
		{ "end", numaplace_parse_u64, FIELD(end) },
		{ "max_stall_us", numaplace_parse_u32, FIELD(max_stall_us) },
		{ "shared", numaplace_parse_bool, FIELD(shared) },
		{ "files", numaplace_parse_bool, FIELD(files) },
		{ "split", numaplace_parse_bool, FIELD(split) },
		{ "dry", numaplace_parse_bool, FIELD(dry) },
		{ "limit", numaplace_parse_u64, FIELD(limit) },
		{},
	};
#undef FIELD
	struct open_migrate *open = ((struct seq_file *)file->private_data)->private;
	struct numaplace_move_request request = { .files = true };
	int err;

	err = read_request(file, from, count, keys, &request);
	if (err == -EPERM)
		return err; /* somebody else's result is not for them to clear */
	if (mutex_lock_interruptible(&open->lock))
		return -EINTR;
	memset(&open->result, 0, sizeof(open->result));
	if (!err)
		err = numaplace_move(&request, &open->result);
	/* The next read gives this result, not the end of the last one. */
	file->f_pos = *pos = 0;
	mutex_unlock(&open->lock);
	return err ? err : count;
}

static int migrate_show(struct seq_file *m, void *unused)
{
	struct open_migrate *open = m->private;
	const struct numaplace_move_result *result = &open->result;

	/* Whoever waited here would keep others waiting where they cannot be killed. */
	if (!mutex_trylock(&open->lock))
		return -EBUSY;
	if (result->begun) {
		seq_printf(m, "error=%d next=0x%lx", -result->error, result->next);
		numaplace_stats_show_counts(m, &result->counts);
		seq_printf(m, " ns=%llu longest_unmapped_us=%llu\n", result->ns,
			   div_u64(result->unmapped_ns, NSEC_PER_USEC));
	}
	mutex_unlock(&open->lock);
	return 0;
}

static int migrate_open(struct inode *inode, struct file *file)
{
	struct open_migrate *open = kzalloc(sizeof(*open), GFP_KERNEL);
	int err;

	if (!open)
		return -ENOMEM;
	mutex_init(&open->lock);
	err = single_open(file, migrate_show, open);
	if (err)
		kfree(open);
	else /* a reader, which would wait for a writer's position, is told that there is one */
		file->f_mode &= ~FMODE_ATOMIC_POS;
	return err;
}

static int migrate_release(struct inode *inode, struct file *file)
{
	kfree(((struct seq_file *)file->private_data)->private);
	return single_release(inode, file);
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

static const struct file_operations migrate_fops = {
	.owner = THIS_MODULE,
	.open = migrate_open,
	.release = migrate_release,
	.read = seq_read,
	.write = migrate_write,
	.llseek = seq_lseek,
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
