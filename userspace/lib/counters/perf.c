// SPDX-License-Identifier: GPL-2.0-only
#include "perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/grow.h"
#include "../host/proc.h"

/*
 * Threads that live for less than a turn may never be counted: those that were stand
 * for them, unless so large a share of the time is theirs.
 */
#define MOST_LOST 0.5

struct file {
	int fd;
	size_t subject;
	enum np_event event;
};

struct perf {
	struct file *file; /* in the order of subject and event */
	size_t n;
	const char *why[NP_EVENTS];
	const char **left_out; /* [subjects] why there was no room for its files, or NULL */
	size_t n_left_out;
};

struct np_count np_perf_scale(const struct np_perf_value *v, size_t n)
{
	struct np_count c = { .source = np_counters_perf.name, .share = 1 };
	double enabled = 0, running = 0, lost = 0;

	for (size_t i = 0; i < n; i++) {
		c.value += (double)v[i].value;
		enabled += (double)v[i].enabled;
		running += (double)v[i].running;
		lost += v[i].running ? 0 : (double)v[i].enabled;
	}
	if (enabled > 0 && lost >= MOST_LOST * enabled)
		return np_count_missing(
			"its turn on the processor's counters never came in half of the "
			"time or more; count for longer, or fewer tasks");
	if (enabled > 0) {
		c.value *= enabled / running;
		c.share = running / enabled;
	}
	return c;
}

static int paranoid(void)
{
	char *text = np_read_file("/proc/sys/kernel/perf_event_paranoid");
	int level = text ? atoi(text) : 0;

	free(text);
	return level;
}

static int open_file(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd;

	do
		fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd;
}

static int explain(int e, const struct np_subject *s, struct np_err *err)
{
	if (e == EACCES || e == EPERM)
		return np_fail(err, -EACCES,
			       "sysctl kernel.perf_event_paranoid is %d; set it to %d or run as root "
			       "(capability CAP_PERFMON)",
			       paranoid(), s->cpu >= 0 ? 0 : 1);
	if (e == EMFILE || e == ENFILE)
		return np_fail(err, -EMFILE,
			       "too many files are open for one file a thread and event; raise "
			       "`ulimit -n` or name fewer tasks");
	return np_fail(err, -e, "perf_event_open: %s", strerror(e));
}

static int add_file(struct perf *p, int fd, size_t subject, enum np_event event)
{
	if (np_grow(&p->file, p->n, sizeof(*p->file))) {
		close(fd);
		return -ENOMEM;
	}
	p->file[p->n++] = (struct file) { fd, subject, event };
	return 0;
}

/* One part for one thread or CPU; the kernel's work is left out where that is not allowed. */
static int open_part(struct np_counters *c, const struct perf_event_attr *wanted, pid_t tid,
		     int cpu)
{
	struct perf_event_attr attr = *wanted;
	int fd;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.inherit = cpu < 0;
	attr.exclude_kernel = c->user_only;
	attr.exclude_hv = 1;
	fd = open_file(&attr, tid, cpu);
	if (fd < 0 && (errno == EACCES || errno == EPERM) && !c->user_only && cpu < 0) {
		attr.exclude_kernel = 1;
		fd = open_file(&attr, tid, cpu);
		if (fd >= 0)
			c->user_only = true;
	}
	return fd < 0 ? -errno : fd;
}

static int open_event(struct np_counters *c, struct perf *p, struct perf_event_attr *const *part,
		      size_t subject, enum np_event event, pid_t tid, struct np_err *err)
{
	const struct np_subject *s = &c->subject[subject];

	for (size_t i = 0; i < NP_EVENT_PARTS && part[i]; i++) {
		int fd = open_part(c, part[i], s->cpu < 0 ? tid : -1, s->cpu);

		if (fd == -ESRCH)
			return 0;
		if (fd == -ENOENT || fd == -EOPNOTSUPP || fd == -EINVAL || fd == -ENODEV) {
			p->why[event] = np_why("the kernel does not offer %s (perf_event_open: %s)",
					       np_event_name(event), strerror(-fd));
			return 0;
		}
		if (fd < 0)
			return explain(-fd, s, err);
		if (add_file(p, fd, subject, event))
			return np_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int open_thread(struct np_counters *c, struct perf *p, const struct np_perf_events *events,
		       size_t subject, pid_t tid, struct np_err *err)
{
	int e = 0;

	for (int event = 0; !e && event < NP_EVENTS; event++)
		if (!p->why[event])
			e = open_event(c, p, events->attr[event], subject, (enum np_event)event,
				       tid, err);
	return e;
}

static int open_subject(struct np_counters *c, struct perf *p, const struct np_perf_events *events,
			size_t subject, struct np_err *err)
{
	const struct np_subject *s = &c->subject[subject];
	pid_t *tids;
	size_t n;
	int e = 0;

	if (s->cpu >= 0)
		return open_thread(c, p, events, subject, -1, err);
	if (np_proc_threads(s->pid, &tids, &n))
		return 0; /* it has ended */
	for (size_t i = 0; !e && i < n; i++)
		e = open_thread(c, p, events, subject, tids[i], err);
	free(tids);
	return e;
}

/* Closes all but the first n files. */
static void keep(struct perf *p, size_t n)
{
	while (p->n > n)
		close(p->file[--p->n].fd);
}

/* A subject with more threads than files may be opened is left out; the others may fit. */
static int try_subject(struct np_counters *c, struct perf *p, const struct np_perf_events *events,
		       size_t subject, struct np_err *err)
{
	size_t before = p->n;
	int e = open_subject(c, p, events, subject, err);

	if (e != -EMFILE && e != -ENOMEM)
		return e;
	keep(p, before);
	p->left_out[subject] = np_why("%s", err->text);
	return ++p->n_left_out < c->n ? 0 : e;
}

static void perf_close(void *state)
{
	struct perf *p = state;

	keep(p, 0);
	free(p->file);
	free(p->left_out);
	free(p);
}

int np_perf_open(struct np_counters *c, const struct np_perf_events *events, void **state,
		 struct np_err *err)
{
	struct perf *p = calloc(1, sizeof(*p));
	bool any = false;
	int e = 0;

	if (p)
		p->left_out = calloc(c->n + 1, sizeof(*p->left_out));
	if (!p || !p->left_out) {
		free(p);
		return np_fail(err, -ENOMEM, "out of memory");
	}
	np_proc_allow_many_files();
	memcpy(p->why, events->why, sizeof(p->why));
	for (size_t i = 0; !e && i < c->n; i++)
		e = try_subject(c, p, events, i, err);
	for (int event = 0; event < NP_EVENTS; event++)
		any |= !p->why[event];
	if (!e && !any)
		e = np_fail(err, -ENODEV, "%s", p->why[NP_CYCLES]);
	if (e) {
		perf_close(p);
		return e;
	}
	*state = p;
	return 0;
}

static void encode_event(const struct np_uarch *u, enum np_event event, struct np_perf_events *out)
{
	struct np_err err;

	out->why[event] = u->event[event].why;
	for (size_t i = 0; i < NP_EVENT_PARTS && u->event[event].part[i]; i++) {
		struct perf_event_attr *attr = malloc(sizeof(*attr));

		if (attr && !np_event_encode(u->pmu, u->event[event].part[i], attr, &err)) {
			out->attr[event][i] = attr;
			continue;
		}
		free(attr);
		out->why[event] = np_why("%s", err.text);
	}
}

static bool has_counters(void)
{
	return !access("/sys/bus/event_source/devices/cpu", F_OK) ||
	       !access("/sys/bus/event_source/devices/cpu_core", F_OK);
}

static int perf_open(struct np_counters *c, void **state, struct np_err *err)
{
	/* Cycles and instructions have the same names on every processor. */
	struct np_uarch any = { .title = "any",
				.event = {
					[NP_CYCLES] = { { "perf::PERF_COUNT_HW_CPU_CYCLES" },
							NULL },
					[NP_INSTRUCTIONS] = { { "perf::PERF_COUNT_HW_INSTRUCTIONS" },
							      NULL },
				} };
	struct np_perf_events events = { 0 };
	const struct np_uarch *u;
	struct np_err why;
	int e;

	if (!has_counters())
		return np_fail(err, -ENODEV,
			       "the kernel sees no counters in the processor "
			       "(no /sys/bus/event_source/devices/cpu), as in most virtual machines");
	u = np_uarch_here(&why);
	for (int event = NP_LLC_REFERENCES; !u && event < NP_EVENTS; event++)
		any.event[event].why = np_why("%s", why.text);
	for (int event = 0; event < NP_EVENTS; event++)
		encode_event(u ? u : &any, (enum np_event)event, &events);
	e = np_perf_open(c, &events, state, err);
	for (int event = 0; event < NP_EVENTS; event++)
		for (size_t i = 0; i < NP_EVENT_PARTS; i++)
			free(events.attr[event][i]);
	return e;
}

/* The files of one subject and event may not follow each other: threads come in between. */
static struct np_count read_event(const struct perf *p, enum np_event event, size_t first,
				  size_t end)
{
	struct np_perf_value *v = calloc(end - first + 1, sizeof(*v));
	struct np_count count;
	size_t n = 0;

	for (size_t i = first; v && i < end; i++)
		if (p->file[i].event == event &&
		    read(p->file[i].fd, &v[n], sizeof(*v)) == sizeof(*v))
			n++;
	count = n ? np_perf_scale(v, n) : np_count_missing("the task has ended");
	free(v);
	return count;
}

static void perf_read(struct np_counters *c, void *state, struct np_reading *readings)
{
	const struct perf *p = state;
	size_t first = 0, end = 0;

	for (size_t i = 0; i < c->n; i++, first = end) {
		while (end < p->n && p->file[end].subject == i)
			end++;
		for (int e = 0; e < NP_EVENTS; e++)
			readings[i].event[e] = p->why[e] || p->left_out[i] ?
						       np_count_missing(p->why[e] ?
										p->why[e] :
										p->left_out[i]) :
						       read_event(p, (enum np_event)e, first, end);
	}
}

const struct np_counter_source np_counters_perf = {
	.name = "perf",
	.open = perf_open,
	.read = perf_read,
	.close = perf_close,
};
