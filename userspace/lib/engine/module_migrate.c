// SPDX-License-Identifier: GPL-2.0-only
/* A move of pages as a job of the module: begun, followed, cancelled. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/cpulist.h"
#include "../base/record.h"
#include "../host/module_files.h"
#include "../host/proc.h"
#include "../host/vma_ranges.h"
#include "module.h"

/* Between two looks at a job: twice as long each time, as most jobs take few ms. */
#define FIRST_POLL_NS 1000000L
#define POLL_NS	      32000000L

char *np_module_job(uint64_t id)
{
	char *text = np_module_read("jobs"), *copy = NULL;
	uint64_t job;

	for (const char *line = text; line && *line; line = np_record_next(line)) {
		if (np_record_number(line, "job", &job) && job == id) {
			copy = strndup(line, strcspn(line, "\n"));
			break;
		}
	}
	free(text);
	return copy;
}

static void parse_result(const char *line, struct np_migrate_result *out)
{
	np_record_number(line, "asked", &out->asked);
#define X(name) np_record_number(line, #name, &out->name);
	NUMAPLACE_COUNTS(X)
#undef X
	np_record_number(line, "bytes", &out->bytes);
	np_record_number(line, "ns", &out->ns);
	np_record_number(line, "longest_pause_us", &out->longest_pause_us);
}

static int job_failed(const struct np_migrate_request *r, uint64_t id, int e, struct np_err *err)
{
	const char *why = e == -ESRCH  ? "it has exited or executes another program" :
			  e == -EACCES ? "its cpuset has lost the node" :
					 strerror(-e);

	return np_fail(err, e, "job %llu, which moves the pages of process %d, failed: %s",
		       (unsigned long long)id, r->pid, why);
}

/* Follows the job to its end. A cancelled one still has to come to its end. */
static int follow(const struct np_migrate_request *r, uint64_t id, struct np_migrate_result *out,
		  struct np_err *err)
{
	struct timespec nap = { 0, FIRST_POLL_NS };
	char state[16] = "", cancel[32];
	uint64_t error = EIO;
	bool cancelled = false;
	char *line;

	for (;;) {
		line = np_module_job(id);
		if (!line)
			return np_fail(err, -EIO,
				       "job %llu is no longer listed; was the module unloaded?",
				       (unsigned long long)id);
		np_record_get(line, "state", state, sizeof(state));
		np_record_number(line, "error", &error);
		parse_result(line, out);
		free(line);
		if (strcmp(state, "queued") && strcmp(state, "running"))
			break;
		if (r->progress && !cancelled && !r->progress(out, r->progress_arg)) {
			cancelled = true;
			snprintf(cancel, sizeof(cancel), "job=%llu\n", (unsigned long long)id);
			np_module_write("cancel", cancel);
		}
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < POLL_NS)
			nap.tv_nsec *= 2;
	}
	if (!strcmp(state, "done"))
		return 0;
	if (!strcmp(state, "cancelled"))
		return np_fail(err, -ECANCELED, "job %llu was cancelled", (unsigned long long)id);
	return job_failed(r, id, -(int)error, err);
}

__attribute__((format(printf, 3, 4))) static void add(char *line, size_t len, const char *format,
						      ...)
{
	size_t used = strlen(line);
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, len - used, format, args);
	va_end(args);
}

/* Keys that are not given have the module's defaults. */
static void migrate_line(const struct np_migrate_request *r, char *line, size_t len)
{
	char from[NP_LIST_LEN] = "any";

	if (r->from)
		np_list_format(r->from, from, sizeof(from));
	snprintf(line, len, "pid=%d from=%s to=%d", r->pid, from, r->to);
	if (r->start || r->end)
		add(line, len, " start=0x%llx end=0x%llx", (unsigned long long)r->start,
		    (unsigned long long)r->end);
	if (r->limit)
		add(line, len, " limit=%llu", (unsigned long long)r->limit);
	if (r->pause)
		add(line, len, " pause=%s", r->pause);
	if (r->max_stall_us)
		add(line, len, " max_stall_us=%u", r->max_stall_us);
	if (r->rate_mib)
		add(line, len, " rate_mib=%u", r->rate_mib);
	if (r->duty)
		add(line, len, " duty=%u", r->duty);
	if (r->threads)
		add(line, len, " threads=%u", r->threads);
	if (r->shared)
		add(line, len, " shared=1");
	if (r->split)
		add(line, len, " split=1");
	add(line, len, "\n");
}

/* One job: of one range, or of the whole process. */
static int migrate_range(const struct np_migrate_request *r, struct np_migrate_result *out,
			 struct np_err *err)
{
	char line[NP_LIST_LEN + 256], answer[64];
	int fd, e;
	uint64_t id;
	ssize_t n;

	migrate_line(r, line, sizeof(line));
	fd = np_module_open("migrate");
	if (fd < 0)
		return np_module_refused(r->pid, "move the pages of", fd, err);
	if (write(fd, line, strlen(line)) < 0) {
		e = -errno;
		close(fd);
		return np_module_refused(r->pid, "move the pages of", e, err);
	}
	n = pread(fd, answer, sizeof(answer) - 1, 0);
	close(fd);
	answer[n < 0 ? 0 : n] = '\0';
	if (!np_record_number(answer, "job", &id))
		return np_fail(err, -EPROTO,
			       "the module did not say which job moves the pages of process %d",
			       r->pid);
	return follow(r, id, out, err);
}

/* Moves [start, end) as a part of r, whose limit all parts have together. */
static int migrate_part(const struct np_migrate_request *r, uint64_t start, uint64_t end,
			struct np_migrate_result *out, struct np_err *err)
{
	struct np_migrate_request part = *r;
	struct np_migrate_result done = { .engine = "module" };
	int e;

	if (start >= end || (r->limit && out->moved >= r->limit))
		return 0;
	part.start = start;
	part.end = end;
	part.limit = r->limit ? r->limit - out->moved : 0;
	e = migrate_range(&part, &done, err);
	np_migrate_add(out, &done);
	return e;
}

/* Moves what lies between the mappings with a memory policy of their own, a job each. */
static int migrate_around(const struct np_migrate_request *r, const struct np_vma_range *range,
			  size_t n, struct np_migrate_result *out, struct np_err *err)
{
	uint64_t at = r->start,
		 end = r->end ? r->end : UINT64_MAX & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	int e = 0;

	for (size_t i = 0; !e && i < n; i++) {
		if (!range[i].chosen)
			continue;
		e = migrate_part(r, at, range[i].start, out, err);
		at = range[i].end;
	}
	return e ? e : migrate_part(r, at, end, out, err);
}

static bool any_chosen(const struct np_vma_range *range, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (range[i].chosen)
			return true;
	return false;
}

int np_module_migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
		      struct np_err *err)
{
	struct np_vma_range *range = NULL;
	struct np_proc_stat st;
	size_t n = 0;
	int e = np_proc_check(r->pid, false, &st, err);

	memset(out, 0, sizeof(*out));
	out->engine = "module";
	if (e)
		return e;
	if (r->keep_chosen) {
		e = np_vma_ranges(r->pid, (uint64_t)sysconf(_SC_PAGESIZE), r->start, r->end, &range,
				  &n);
		if (e)
			return np_fail(err, e, "the mappings of process %d cannot be read: %s",
				       r->pid, strerror(-e));
	}
	e = any_chosen(range, n) ? migrate_around(r, range, n, out, err) :
				   migrate_range(r, out, err);
	free(range);
	return e;
}
