// SPDX-License-Identifier: GPL-2.0-only
#include "event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../files/json.h"

int np_events_open(struct np_events *e, const char *path, struct np_err *err)
{
	/* In a folder of another user a daemon of root's follows no link and waits for no reader. */
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0640);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "a");

	if (!file) {
		int why = errno;

		if (fd >= 0)
			close(fd);
		return np_fail(err, -why, "events cannot be written to %s: %s", path,
			       why == ELOOP ? "it is a symbolic link" :
			       why == ENXIO ? "it is a FIFO that nobody reads" :
					      strerror(why));
	}
	np_events_close(e);
	*e = (struct np_events) { .file = file, .path = path };
	return 0;
}

void np_events_close(struct np_events *e)
{
	if (e->file)
		fclose(e->file);
	e->file = NULL;
}

static double time_of_day(void)
{
	return (double)(np_clock_ns(CLOCK_REALTIME) / 1000) / 1e6;
}

bool np_event(struct np_events *e, unsigned int interval, const char *event, json_t *fields,
	      struct np_err *err)
{
	json_t *line = json_pack("{s:f, s:I, s:s}", "time", time_of_day(), "interval",
				 (json_int_t)interval, "event", event);
	bool bad = false;

	if (e->file) {
		json_object_update(line, fields);
		bad = json_dumpf(line, e->file, JSON_COMPACT | JSON_REAL_PRECISION(16)) |
		      (fputc('\n', e->file) == EOF) | fflush(e->file);
	}
	json_decref(fields);
	json_decref(line);
	if (!bad || e->failed)
		return true;
	e->failed = true;
	np_fail(err, 0, "events cannot be written to %s: %s", e->path, strerror(errno));
	return false;
}

json_t *np_event_decision(const struct np_request *p, size_t i, const struct np_applied *a)
{
	json_t *j = np_decision_json(p, i);

	json_object_set_new(j, "policy", json_string(p->policy->name));
	if (!a)
		return j;
	json_object_set_new(j, "engine", json_string(a->how.engine->name));
	json_object_set_new(j, "pages_moved", json_integer((json_int_t)a->step[i].moved.moved));
	json_object_set_new(j, "seconds", json_real((double)a->step[i].moved.ns / 1e9));
	if (a->step[i].err.text[0])
		json_object_set_new(j, "error", np_json_text(a->step[i].err.text));
	return j;
}
