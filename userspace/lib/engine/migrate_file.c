// SPDX-License-Identifier: GPL-2.0-only
#include "migrate_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The request's range is set window by window. */
struct file_move {
	const struct np_engine_ops *engine;
	struct np_migrate_request *r;
	struct np_migrate_result *out;
	struct np_err *err;
};

/* The engines speak of a process, which is this one: it is the file that the user has named. */
static int explain(const struct np_mapped_file *file, int e, struct np_err *err)
{
	return np_fail(
		err, e, "the pages of %s cannot be moved: %s", file->name,
		e == -EPERM || e == -EACCES ?
			"not permitted, or not on that node by this process's cpuset; run as root" :
			strerror(-e));
}

/* 0, also where nothing of it is in memory; or -errno. */
static int move_window(const struct file_move *f, const struct np_mapped_file *file, size_t at,
		       size_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct np_migrate_result done = { .engine = f->engine->name };
	ssize_t n = np_mapped_file_take(file, at, length);
	int e = n < 0 ? (int)n : 0;

	if (n > 0) {
		f->r->start = (uintptr_t)file->memory + at;
		f->r->end = f->r->start + (length + page - 1) / page * page;
		e = f->engine->migrate(f->r, &done, f->err);
		np_migrate_add(f->out, &done);
	}
	np_mapped_file_let_go(file, at, length);
	return e;
}

/* Asked between two windows. */
static bool is_stopped(const struct file_move *f)
{
	const struct np_migrate_result none = { .engine = f->engine->name };

	return f->r->progress && !f->r->progress(&none, f->r->progress_arg);
}

static int move_file(const struct file_move *f, const struct np_mapped_file *file, uint64_t limit)
{
	int e = 0;

	memset(f->out, 0, sizeof(*f->out));
	for (size_t at = 0; !e && file->memory && at < file->length; at += NP_MAPPED_WINDOW) {
		size_t left = file->length - at;

		if (limit && f->out->moved >= limit)
			break;
		f->r->limit = limit ? limit - f->out->moved : 0;
		e = is_stopped(f) ? np_fail(f->err, -ECANCELED, "cancelled") :
				    move_window(f, file, at,
						left < NP_MAPPED_WINDOW ? left : NP_MAPPED_WINDOW);
	}
	if (!f->out->engine)
		f->out->engine = f->engine->name;
	if (e == -EFAULT)
		return 0; /* it has been cut meanwhile */
	return e && e != -ECANCELED ? explain(file, e, f->err) : e;
}

int np_migrate_file(const struct np_mapped_file *file, const struct np_engine_ops *engine,
		    const struct np_migrate_request *r, struct np_migrate_result *out,
		    struct np_err *err)
{
	struct np_migrate_request own = *r;
	const struct file_move f = { engine, &own, out, err };

	own.pid = getpid();
	own.shared = own.files = true;
	own.keep_chosen = false;
	return move_file(&f, file, r->limit);
}
