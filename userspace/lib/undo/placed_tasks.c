// SPDX-License-Identifier: GPL-2.0-only
#include "placed_tasks.h"

#include <errno.h>
#include <stdlib.h>

#include "../base/error.h"
#include "../base/grow.h"
#include "../host/proc.h"
#include "records.h"

static const struct np_records_kind placed = {
	.file = "daemon.json",
	.array = "tasks",
	.what = "which tasks the last daemon had placed is",
};

int np_daemon_placed_add(struct np_daemon_placed *p, pid_t pid, unsigned long long start)
{
	if (np_grow(&p->task, p->n, sizeof(*p->task)))
		return -ENOMEM;
	p->task[p->n++] = (struct np_placed_task) { pid, start };
	return 0;
}

void np_daemon_placed_free(struct np_daemon_placed *p)
{
	free(p->task);
	*p = (struct np_daemon_placed) { 0 };
}

bool np_daemon_placed_runs(const struct np_placed_task *t)
{
	struct np_proc_stat st;

	return !np_proc_stat(t->pid, &st) && st.start == t->start;
}

static int add_record(struct np_daemon_placed *p, json_t *record)
{
	struct np_placed_task t;
	json_int_t start;

	if (json_unpack(record, "{s:i,s:I}", "pid", &t.pid, "start", &start))
		return -EINVAL;
	t.start = (unsigned long long)start;
	return np_daemon_placed_runs(&t) ? np_daemon_placed_add(p, t.pid, t.start) : 0;
}

int np_daemon_placed_read(struct np_daemon_placed *p, struct np_err *err)
{
	struct np_records r;
	json_t *record;
	size_t i;
	int e = np_records_open(&r, &placed, err);

	if (e)
		return e;
	json_array_foreach(r.array, i, record)
		if (!e && add_record(p, record))
			e = np_state_file_damaged(&r.file, placed.what, err);
	np_records_close(&r);
	return e;
}

int np_daemon_placed_write(const struct np_daemon_placed *p, struct np_err *err)
{
	struct np_records r;
	int e = np_records_open(&r, &placed, err);

	if (e)
		return e;
	/* Those of other pid namespaces, which stay, are none of them. */
	json_array_clear(r.array);
	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(r.array, json_pack("{s:i,s:I}", "pid", p->task[i].pid,
							 "start", (json_int_t)p->task[i].start));
	if (json_array_size(r.array) == p->n)
		e = np_records_save(&r, err);
	else
		e = np_fail(err, -ENOMEM, "out of memory");
	np_records_close(&r);
	return e;
}
