// SPDX-License-Identifier: GPL-2.0-only
#include "file_ranges.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "vma_ranges.h"

bool np_file_id_equal(const struct np_file_id *a, const struct np_file_id *b)
{
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode &&
	       a->ipc == b->ipc;
}

/* "START-END rw-p OFFSET MAJOR:MINOR INODE   PATH" */
int np_file_range_parse(char *line, struct np_file_range *out)
{
	unsigned long long inode;
	int path = 0;

	memset(out, 0, sizeof(*out));
	if (np_vma_range_parse(line, &out->start, &out->end) ||
	    sscanf(line, "%*s %*s %*s %x:%x %llu %n", &out->id.major, &out->id.minor, &inode,
		   &path) < 3)
		return -EINVAL;
	/* Of a segment the inode is its identifier, which may be 0. */
	if (!path || line[path] != '/')
		return -ENOENT;
	out->id.inode = inode;
	line[path + (int)strcspn(line + path, "\n")] = '\0';
	out->path = line + path;
	return 0;
}

uint64_t np_ipc_namespace(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

struct walk {
	pid_t pid;
	uint64_t ipc;
	int (*each)(const struct np_file_range *range, void *arg);
	void *arg;
};

static int see_line(char *line, void *arg)
{
	struct walk *w = arg;
	struct np_file_range range;

	if (np_file_range_parse(line, &range))
		return 0;
	if (!strncmp(range.path, "/SYSV", 5))
		range.id.ipc = w->ipc ? w->ipc : (w->ipc = np_ipc_namespace(w->pid));
	return w->each(&range, w->arg);
}

int np_file_ranges(pid_t pid, int (*each)(const struct np_file_range *range, void *arg), void *arg)
{
	struct walk w = { .pid = pid, .each = each, .arg = arg };

	return np_proc_maps(pid, see_line, &w);
}

const char *np_file_range_path(pid_t pid, const struct np_file_range *range, char *text)
{
	snprintf(text, NP_THROUGH_LEN, "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)range->start, (unsigned long long)range->end);
	return text;
}

dev_t np_file_range_device(pid_t pid, const struct np_file_range *range)
{
	char path[NP_THROUGH_LEN];
	struct stat st;

	return stat(np_file_range_path(pid, range, path), &st) ? 0 : st.st_dev;
}
