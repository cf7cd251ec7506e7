// SPDX-License-Identifier: GPL-2.0-only
#include "task_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../base/error.h"
#include "../host/cgroup.h"
#include "../host/proc.h"

/* A task that slept at its last readings is read every second, fourth, eighth interval. */
#define MAX_SKIP 8

int np_task_watch_open(struct np_task_watch *w, const struct np_task_watch_rules *rules,
		       struct np_err *err)
{
	struct np_proc_stat st;

	*w = (struct np_task_watch) {
		.rules = rules,
		.cpusets = np_cpusets_open(),
		.reserved = np_reserved_open(""),
		.named = calloc(rules->n_pids + 1, sizeof(*w->named)),
	};
	np_proc_allow_many_files(); /* one for each task */
	if (!w->cpusets || !w->reserved || !w->named)
		return np_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < rules->n_pids; i++)
		w->named[i] = np_proc_stat(rules->pids[i], &st) ? 0 : st.start;
	return 0;
}

void np_task_watch_close(struct np_task_watch *w)
{
	for (size_t i = 0; i < w->n; i++)
		np_task_watch_forget(&w->task[i]);
	free(w->task);
	free(w->named);
	if (w->cpusets)
		np_cpusets_close(w->cpusets);
	np_reserved_close(w->reserved);
	*w = (struct np_task_watch) { 0 };
}

/* Field n of /proc/PID/stat as proc(5) counts them; line begins after the name, at field 3. */
static const char *field(const char *line, unsigned int from, unsigned int n)
{
	for (; line && from < n; from++) {
		line = strchr(line, ' ');
		line = line ? line + 1 : NULL;
	}
	return line;
}

/* Only the fields that change. False when the task is gone or a zombie. */
static bool parse_look(char *text, struct np_watched_task *t, unsigned long long *ticks)
{
	char *name_end = strrchr(text, ')');
	const char *state = name_end && name_end[1] ? name_end + 2 : NULL;
	const char *used = field(state, 3, 14), *threads = field(used, 14, 20);
	const char *size = field(threads, 20, 24), *last = field(size, 24, 39);

	if (!last || *state == 'X' || (*state == 'Z' && strtoul(threads, NULL, 10) < 2))
		return false;
	*ticks = strtoull(used, NULL, 10) + strtoull(field(used, 14, 15), NULL, 10);
	t->threads = (unsigned int)strtoul(threads, NULL, 10);
	t->rss = strtoull(size, NULL, 10);
	t->cpu = atoi(last);
	return true;
}

static bool is_busy(const struct np_task_watch *w, const struct np_watched_task *t)
{
	return t->busy >= w->rules->min_busy;
}

static void schedule(const struct np_task_watch *w, struct np_watched_task *t, unsigned int now)
{
	if (is_busy(w, t)) {
		t->last_busy = now;
		t->ever_busy = true;
		t->idle_looks = 0;
	} else if (t->idle_looks < MAX_SKIP) {
		t->idle_looks++;
	}
	t->next_look = now + (t->idle_looks < 2	       ? 1 :
			      t->idle_looks < 4	       ? 2 :
			      t->idle_looks < MAX_SKIP ? 4 :
							 MAX_SKIP);
}

/* False when it is gone. */
static bool look_at(const struct np_task_watch *w, struct np_watched_task *t, unsigned int now)
{
	unsigned long long ticks;
	double at, passed;
	char text[1024];

	if (!np_task_watch_read_stat(t, text, sizeof(text)) || !parse_look(text, t, &ticks))
		return false;
	at = np_clock(CLOCK_MONOTONIC);
	passed = at - t->looked_at;
	t->busy = t->looked_at > 0 && passed > 0 ?
			  (double)(ticks - t->ticks) / (double)sysconf(_SC_CLK_TCK) / passed :
			  0;
	if (t->busy > t->threads) /* a tick more than there was time */
		t->busy = t->threads;
	t->ticks = ticks;
	t->looked_at = at;
	schedule(w, t, now);
	return true;
}

int np_task_watch_look(struct np_task_watch *w, const struct np_machine *m, unsigned int now,
		       bool *changed, struct np_err *err)
{
	size_t counted = w->eligible;
	int e = np_task_watch_list(w, err);

	if (e)
		return e;
	w->eligible = 0;
	np_cpusets_refresh(w->cpusets);
	np_reserved_refresh(w->reserved);
	for (size_t i = 0; i < w->n; i++) {
		struct np_watched_task *t = &w->task[i];
		unsigned int cores = np_watched_task_cores(w, t);

		if (!t->watched || now < t->next_look)
			continue;
		if (!look_at(w, t, now)) {
			t->watched = false;
			t->gone = true;
		} else if (t->have && np_watched_task_cores(w, t) != cores) {
			*changed = true;
		}
		*changed |= t->watched && np_task_watch_follow(m, t);
		if (t->have)
			t->task.task[0].cores = np_watched_task_cores(w, t);
	}
	*changed |= np_task_watch_read_stale(w, m, now);
	for (size_t i = 0; i < w->n; i++)
		w->eligible += np_task_eligible(w, &w->task[i], now);
	*changed |= w->eligible != counted;
	return 0;
}
