// SPDX-License-Identifier: GPL-2.0-only
#include "event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

	if (fd < 0) {
		int why = errno;

		return np_fail(err, -why, "events cannot be written to %s: %s", path,
			       why == ELOOP ? "it is a symbolic link" :
			       why == ENXIO ? "it is a FIFO that nobody reads" :
					      strerror(why));
	}
	np_events_close(e);
	*e = (struct np_events) { .path = path, .fd = fd };
	return 0;
}

void np_events_close(struct np_events *e)
{
	if (e->path)
		close(e->fd);
	e->path = NULL;
}

static double time_of_day(void)
{
	return (double)(np_clock_ns(CLOCK_REALTIME) / 1000) / 1e6;
}

/* In one call, so that no reader sees a part of a line, and what did not fit is taken back. */
static int write_line(int fd, json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(16));
	size_t len = text ? strlen(text) : 0;
	ssize_t n;
	int e = 0;

	if (!text)
		return -ENOMEM;
	text[len++] = '\n'; /* for the final 0 */
	n = write(fd, text, len);
	if (n < 0)
		e = -errno;
	else if ((size_t)n < len) {
		off_t start = lseek(fd, 0, SEEK_CUR) - n;

		e = write(fd, text + n, len - (size_t)n) < 0 ? -errno : -EIO; /* says why */
		if (ftruncate(fd, start))
			e = -errno;
	}
	free(text);
	return e;
}

bool np_event(struct np_events *e, unsigned int interval, const char *event, json_t *fields,
	      struct np_err *err)
{
	json_t *line = json_pack("{s:f, s:I, s:s}", "time", time_of_day(), "interval",
				 (json_int_t)interval, "event", event);
	bool failed = e->failed;
	int why = 0;

	if (e->path) {
		json_object_update(line, fields);
		why = write_line(e->fd, line);
	}
	json_decref(fields);
	json_decref(line);
	e->failed = why != 0;
	if (!why || failed)
		return true;
	np_fail(err, why, "events cannot be written to %s: %s", e->path, strerror(-why));
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
