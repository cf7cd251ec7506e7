// SPDX-License-Identifier: GPL-2.0-only
#include "methods.h"

#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../userspace/lib/base/record.h"
#include "../../../userspace/lib/engine/move_pages.h"
#include "../../../userspace/lib/host/module_files.h"

#define PAGE	4096
#define POLL_NS 1000000L /* short beside a move, long beside a look at the job */

static int failed(const char *what, int e)
{
	fprintf(stderr, "np-move: %s: %s\n", what, strerror(-e));
	return e;
}

static int open_job(const struct target *t, int to, const char *options, uint64_t *id)
{
	char line[256], answer[64];
	ssize_t n = 0;
	int fd = np_module_open("migrate");

	if (fd < 0)
		return fd;
	snprintf(line, sizeof(line), "pid=%d from=%d to=%d start=%p end=%p %s\n", t->pid, t->node,
		 to, (void *)t->memory, (void *)(t->memory + t->pages * PAGE), options);
	if (write(fd, line, strlen(line)) < 0 || (n = pread(fd, answer, sizeof(answer) - 1, 0)) < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	answer[n] = '\0';
	return np_record_number(answer, "job", id) ? 0 : -EPROTO;
}

/* Returns 1 when the job is done, 0 while it is not, or -errno. */
static int look_at_job(uint64_t id, struct moved *out)
{
	char *text = np_module_read("jobs"), state[16] = "";
	int ret = -ESRCH;
	uint64_t job;

	for (const char *line = text; line && *line; line = np_record_next(line)) {
		if (!np_record_number(line, "job", &job) || job != id)
			continue;
		np_record_get(line, "state", state, sizeof(state));
		np_record_number(line, "ns", &out->own_ns);
		np_record_number(line, "longest_pause_us", &out->longest_pause_us);
		ret = !strcmp(state, "done") ? 1 : !strcmp(state, "failed") ? -EIO : 0;
	}
	free(text);
	return ret;
}

static int move_by_module(const struct target *t, int to, const char *options, struct moved *out)
{
	const struct timespec nap = { 0, POLL_NS };
	uint64_t began = now_ns(), id = 0;
	int ret = open_job(t, to, options, &id);

	while (!ret) {
		nanosleep(&nap, NULL);
		ret = look_at_job(id, out);
	}
	out->ns = now_ns() - began;
	return ret > 0 ? 0 : failed("the module's job", ret);
}

/* All pages in one call, nothing asked before or after: what move_pages(2) does at its best. */
static int move_in_one_call(const struct target *t, int to, const char *options, struct moved *out)
{
	void **page = calloc(t->pages, sizeof(*page));
	int *node = calloc(t->pages, sizeof(*node)), *status = calloc(t->pages, sizeof(*status));
	uint64_t began;
	long ret;

	if (!page || !node || !status)
		return failed("move_pages", -ENOMEM);
	for (size_t i = 0; i < t->pages; i++) {
		page[i] = t->memory + i * PAGE;
		node[i] = to;
		status[i] = -1;
	}
	began = now_ns();
	ret = move_pages(t->pid, t->pages, page, node, status, MPOL_MF_MOVE);
	out->ns = now_ns() - began;
	free(page);
	free(node);
	free(status);
	return ret < 0 ? failed("move_pages", -errno) : 0;
}

/* The engine of `numaplace migrate --engine syscall`: asks, moves, and asks again. */
static int move_by_engine(const struct target *t, int to, const char *options, struct moved *out)
{
	const struct np_migrate_request request = {
		.pid = t->pid,
		.to = to,
		.start = (uintptr_t)t->memory,
		.end = (uintptr_t)t->memory + t->pages * PAGE,
	};
	struct np_migrate_result result;
	struct np_err err = { "" };
	uint64_t began = now_ns();
	int ret = np_move_pages(&request, &result, &err);

	out->ns = now_ns() - began;
	out->own_ns = result.ns;
	if (ret)
		fprintf(stderr, "np-move: %s\n", err.text);
	return ret;
}

/* The whole process, as it takes no range: code and stack, some hundred pages, come along. */
static int move_process(const struct target *t, int to, const char *options, struct moved *out)
{
	struct bitmask *from = numa_allocate_nodemask(), *into = numa_allocate_nodemask();
	uint64_t began;
	int ret;

	numa_bitmask_setbit(from, (unsigned int)t->node);
	numa_bitmask_setbit(into, (unsigned int)to);
	began = now_ns();
	ret = numa_migrate_pages(t->pid, from, into);
	out->ns = now_ns() - began;
	numa_free_nodemask(from);
	numa_free_nodemask(into);
	return ret < 0 ? failed("migrate_pages", -errno) : 0;
}

const struct method methods[] = {
	{ "module", move_by_module },
	{ "move_pages", move_in_one_call },
	{ "engine", move_by_engine },
	{ "migrate_pages", move_process },
	{ NULL, NULL },
};

long pages_on(const struct target *t, int node)
{
	void **page = calloc(t->pages, sizeof(*page));
	int *status = calloc(t->pages, sizeof(*status));
	long found = -ENOMEM;

	for (size_t i = 0; page && i < t->pages; i++)
		page[i] = t->memory + i * PAGE;
	if (page && status)
		found = move_pages(t->pid, t->pages, page, NULL, status, 0) ? -errno : 0;
	for (size_t i = 0; found >= 0 && i < t->pages; i++)
		found += status[i] == node;
	free(page);
	free(status);
	return found;
}
