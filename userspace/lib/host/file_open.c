// SPDX-License-Identifier: GPL-2.0-only
#include "file_open.h"

#include <errno.h>
#include <sys/stat.h>

long long np_file_segment(const struct np_file *file)
{
	struct stat st;

	if (!file->id.ipc || stat("/proc/self/ns/ipc", &st) || st.st_ino != file->id.ipc)
		return -1;
	return (long long)file->id.inode;
}

struct wanted {
	const struct np_file *file;
	pid_t pid;
	char *text;
};

static int find_range(const struct np_file_range *range, void *arg)
{
	const struct wanted *w = arg;
	dev_t device;

	if (!np_file_id_equal(&range->id, &w->file->id))
		return 0;
	device = w->file->device ? np_file_range_device(w->pid, range) : 0;
	if (device && device != w->file->device)
		return 0;
	np_file_range_path(w->pid, range, w->text);
	return 1;
}

const char *np_file_find_path(const struct np_file *file, char *text)
{
	for (size_t i = 0; i < file->n_readers; i++) {
		struct wanted w = { file, file->reader[i].pid, text };

		if (np_file_ranges(w.pid, find_range, &w) == 1)
			return text;
	}
	return NULL;
}

/* Whether it is this very file: its path or its number may have become another one's. */
static bool is_it(const struct np_file *file, const struct np_mapped_file *mapped)
{
	struct np_file_id id;

	return mapped->memory && !np_mapped_file_identify(mapped, &id) &&
	       np_file_id_equal(&id, &file->id) &&
	       (!file->born || !mapped->born || file->born == mapped->born);
}

static int open_as(const struct np_file *file, const char *path, struct np_mapped_file *mapped,
		   struct np_err *err)
{
	int e = np_mapped_file_open(mapped, path, err);

	if (!e && is_it(file, mapped))
		return 0;
	np_mapped_file_close(mapped);
	return e ? e : np_fail(err, -ESTALE, "%s is another file now", mapped->name);
}

int np_file_open(const struct np_file *file, struct np_mapped_file *mapped, struct np_err *err)
{
	char through[NP_THROUGH_LEN];
	const char *path = np_file_find_path(file, through);
	int e = path ? open_as(file, path, mapped, err) : -ENOENT, by_path;
	struct np_err why;

	if (!e || e == -EOPNOTSUPP)
		return e;
	if (np_file_segment(file) >= 0)
		return np_mapped_file_attach(mapped, (int)np_file_segment(file), err);
	by_path = open_as(file, file->path, mapped, &why);
	/* One that is mapped and may not be reached that way is there all the same. */
	if (!by_path || (e != -ENOENT && e != -ESTALE))
		return by_path ? e : 0;
	return by_path == -ENOENT ?
		       np_fail(err, -ESTALE, "%s is in nobody's memory any more", mapped->name) :
		       np_fail(err, by_path, "%s", why.text);
}
