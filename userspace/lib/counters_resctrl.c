// SPDX-License-Identifier: GPL-2.0-only
/*
 * A monitoring group for each subject. Counts bytes that L3 caches moved from
 * and to memory; lines are bytes / 64. Knows only local and total.
 */
#include "counters_resctrl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc.h"

#define RESCTRL "/sys/fs/resctrl"
#define LINE_BYTES 64.0

struct resctrl {
	char (*group)[128];	/* [n] folders that were made */
	size_t n;
};

static int read_bytes(const char *group, const char *cache, const char *file, uint64_t *sum,
		      char *err, size_t err_len)
{
	char path[PATH_MAX], *text, *end;
	unsigned long long bytes;
	int e = 0;

	snprintf(path, sizeof(path), "%s/mon_data/%s/%s", group, cache, file);
	text = np_read_file(path);
	if (!text)
		return np_fail(err, err_len, -errno, "%s cannot be read: %s", path, strerror(errno));
	errno = 0;
	bytes = strtoull(text, &end, 10);
	if (end == text || *text == '-' || errno || (*end && *end != '\n'))
		e = np_fail(err, err_len, -EINVAL, "%s says \"%.*s\"", path,
			    (int)strcspn(text, "\n"), text);
	*sum += bytes;
	free(text);
	return e;
}

int np_resctrl_read(const char *group, uint64_t *local, uint64_t *total, char *err, size_t err_len)
{
	char path[PATH_MAX];
	size_t caches = 0;
	struct dirent *d;
	DIR *dir;
	int e = 0;

	*local = *total = 0;
	snprintf(path, sizeof(path), "%s/mon_data", group);
	dir = opendir(path);
	if (!dir)
		return np_fail(err, err_len, -errno, "%s cannot be read: %s", path, strerror(errno));
	while (!e && (d = readdir(dir))) {
		if (strncmp(d->d_name, "mon_L3_", 7))
			continue;
		caches++;
		e = read_bytes(group, d->d_name, "mbm_local_bytes", local, err, err_len);
		if (!e)
			e = read_bytes(group, d->d_name, "mbm_total_bytes", total, err, err_len);
	}
	closedir(dir);
	if (!e && !caches)
		e = np_fail(err, err_len, -ENOENT, "%s names no L3 cache", path);
	return e;
}

static int put(const char *group, const char *file, long value)
{
	char path[PATH_MAX], text[32];
	int fd, n = snprintf(text, sizeof(text), "%ld\n", value), e = 0;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)n) != n)
		e = -errno;
	close(fd);
	return e;
}

static int fill_group(const char *group, const struct np_subject *s)
{
	pid_t *tids;
	size_t n;
	int e = 0;

	if (s->cpu >= 0)
		return put(group, "cpus_list", s->cpu);
	if (np_proc_threads(s->pid, &tids, &n))
		return 0;
	for (size_t i = 0; !e && i < n; i++) {
		e = put(group, "tasks", tids[i]);
		if (e == -ESRCH)
			e = 0;
	}
	free(tids);
	return e;
}

static void resctrl_close(void *state)
{
	struct resctrl *r = state;

	for (size_t i = 0; i < r->n; i++)
		rmdir(r->group[i]);
	free(r->group);
	free(r);
}

static int make_groups(const struct np_counters *c, struct resctrl *r, char *err, size_t err_len)
{
	for (r->n = 0; r->n < c->n;) {
		char *group = r->group[r->n];
		int e;

		snprintf(group, sizeof(*r->group), RESCTRL "/mon_groups/numaplace-%d-%zu", getpid(),
			 r->n);
		if (mkdir(group, 0700))
			return np_fail(err, err_len, -errno, "no monitoring group of resctrl can be "
				       "made: %s", strerror(errno));
		r->n++;
		e = fill_group(group, &c->subject[r->n - 1]);
		if (e)
			return np_fail(err, err_len, e, "%s cannot be filled: %s", group, strerror(-e));
	}
	return 0;
}

static int resctrl_open(struct np_counters *c, void **state, char *err, size_t err_len)
{
	struct resctrl *r;
	int e;

	if (access(RESCTRL "/mon_groups", F_OK))
		return np_fail(err, err_len, -ENODEV, "resctrl is not mounted with monitoring "
			       "(mount -t resctrl resctrl " RESCTRL ")");
	r = calloc(1, sizeof(*r));
	if (r)
		r->group = calloc(c->n + 1, sizeof(*r->group));
	e = r && r->group ? make_groups(c, r, err, err_len) :
			    np_fail(err, err_len, -ENOMEM, "out of memory");
	if (e && r)
		resctrl_close(r);
	else
		*state = r;
	return e == -EACCES || e == -EPERM ? -ENODEV : e;
}

static void fill(struct np_count *count, double bytes)
{
	if (!count->source)
		*count = (struct np_count) {
			.value = bytes / LINE_BYTES, .share = 1, .source = np_counters_resctrl.name,
		};
}

static void resctrl_read(struct np_counters *c, void *state, struct np_reading *readings)
{
	const struct resctrl *r = state;
	char err[NP_ERR_LEN];

	for (size_t i = 0; i < c->n; i++) {
		uint64_t local, total;

		if (np_resctrl_read(r->group[i], &local, &total, err, sizeof(err)))
			continue;
		fill(&readings[i].event[NP_LOCAL_DRAM], (double)local);
		fill(&readings[i].event[NP_REMOTE_DRAM], total > local ? (double)(total - local) : 0);
	}
}

const struct np_counter_source np_counters_resctrl = {
	.name = "resctrl", .open = resctrl_open, .read = resctrl_read, .close = resctrl_close,
};
