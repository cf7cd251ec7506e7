// SPDX-License-Identifier: GPL-2.0-only
/* The daemon's output: log lines, and events for programs. */
#include "daemon.h"

#include <stdarg.h>
#include <string.h>

void np_daemon_say(const struct np_daemon *d, const char *format, ...)
{
	char line[NP_DAEMON_LINE];
	va_list ap;

	if (d->quiet || !d->log)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	d->log(line, d->log_arg);
}

void np_daemon_complain(struct np_daemon *d, const char *format, ...)
{
	char line[NP_DAEMON_LINE];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (!strcmp(d->complaint, line))
		return;
	strcpy(d->complaint, line);
	if (d->log)
		d->log(line, d->log_arg);
}

void np_daemon_tell(struct np_daemon *d, const char *event, json_t *fields)
{
	struct np_err err;

	if (!np_event(&d->events, d->now, event, fields, &err))
		np_daemon_complain(d, "%s", err.text);
}
