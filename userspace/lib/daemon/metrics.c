// SPDX-License-Identifier: GPL-2.0-only
#include "metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/replace_file.h"

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP numaplace_daemon_%s %s\n# TYPE numaplace_daemon_%s %s\n", name, help,
		name, type);
}

static void counter(FILE *out, const char *name, double value, const char *help)
{
	head(out, name, "counter", help);
	fprintf(out, "numaplace_daemon_%s %.15g\n", name, value);
}

static void gauge(FILE *out, const char *name, double value, const char *help)
{
	head(out, name, "gauge", help);
	fprintf(out, "numaplace_daemon_%s %.15g\n", name, value);
}

/* A label's value: backslash, quote and newline are escaped. */
static void label(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*text == '\\' || *text == '"')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void print_counters(FILE *out, const struct np_daemon_counts *c)
{
	counter(out, "intervals_total", (double)c->intervals, "Intervals since the start.");
	counter(out, "plans_total", (double)c->plans, "Plans made; none while nothing changes.");
	counter(out, "planning_failures_total", (double)c->planning_failed,
		"Intervals without a plan because the machine or the policy failed.");
	head(out, "decisions_total", "counter",
	     "Decisions that ask for something, by what became of them.");
	for (size_t i = 0; i < NP_HYSTERESIS_RESULTS; i++)
		fprintf(out, "numaplace_daemon_decisions_total{verdict=\"%s\"} %llu\n",
			np_hysteresis_name[i], c->decisions[i]);
	counter(out, "moves_total", (double)c->moved_tasks, "Decisions carried out.");
	counter(out, "moved_bytes_total", (double)c->moved_bytes, "Memory moved between nodes.");
	counter(out, "move_seconds_total", c->move_seconds, "Time in which pages were moving.");
	counter(out, "move_failures_total", (double)c->failed,
		"Decisions that could not be carried out.");
	counter(out, "vanished_tasks_total", (double)c->vanished,
		"Tasks that exited between plan and move.");
	counter(out, "ping_pongs_total", (double)c->ping_pongs,
		"Tasks left alone after a ping-pong between nodes.");
	head(out, "trials_total", "counter", "Plans that were verified, by what became of them.");
	fprintf(out, "numaplace_daemon_trials_total{result=\"kept\"} %llu\n", c->trials[0]);
	fprintf(out, "numaplace_daemon_trials_total{result=\"taken_back\"} %llu\n", c->trials[1]);
	counter(out, "cpu_seconds_total", c->cpu_seconds, "CPU time of the daemon itself.");
	gauge(out, "last_interval_cpu_seconds", c->last_interval_cpu_seconds,
	      "CPU time of the daemon itself in the last interval.");
}

static void print_nodes(FILE *out, const struct np_machine *m)
{
	head(out, "node_free_bytes", "gauge", "Memory of the node that a move may fill.");
	for (size_t i = 0; i < m->n_nodes; i++)
		fprintf(out, "numaplace_daemon_node_free_bytes{node=\"%d\"} %llu\n", m->node[i].id,
			(unsigned long long)m->node[i].mem_free);
}

static void print_tasks(FILE *out, const struct np_daemon *d)
{
	gauge(out, "watched_tasks", (double)d->watch.n_watched, "Tasks watched.");
	gauge(out, "eligible_tasks", (double)d->watch.eligible,
	      "Of those, busy and large enough for a plan.");
	gauge(out, "sampled_tasks", (double)np_task_sampling_known(&d->watch),
	      "Tasks with a valid sample of the counters.");
	counter(out, "sampling_rounds_total", (double)d->sampling.ended,
		"Intervals in which tasks were sampled.");
	counter(out, "sampling_cpu_seconds_total", d->sampling.cpu_seconds,
		"CPU time of the daemon itself for those intervals.");
	gauge(out, "placed_tasks", (double)np_daemon_placed(d), "Tasks placed now.");
}

char *np_metrics_text(const struct np_daemon *d)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	head(out, "info", "gauge", "Policy and engine in use.");
	fputs("numaplace_daemon_info{policy=\"", out);
	label(out, d->args.policy->name);
	fputs("\",engine=\"", out);
	label(out, d->how.engine->name);
	fputs("\"} 1\n", out);
	print_counters(out, &d->counts);
	print_tasks(out, d);
	if (d->all_pages)
		gauge(out, "locality_ratio", (double)d->local_pages / (double)d->all_pages,
		      "Share of the pages of eligible tasks on the node that they run on, at "
		      "the last plan.");
	print_nodes(out, &d->machine);
	return fclose(out) ? NULL : text;
}

static int fail_to_write(const char *file, int e, struct np_err *err)
{
	return np_fail(err, e, "metrics: %s cannot be written: %s", file, strerror(-e));
}

int np_metrics_open(struct np_metrics *x, const char *file, struct np_err *err)
{
	struct np_fresh fresh;
	int e;

	*x = (struct np_metrics) { 0 };
	if (!file)
		return 0;
	if (!strncmp(file, "unix:", 5) || !strncmp(file, "http:", 5))
		return np_fail(
			err, -EINVAL,
			"metrics cannot be served at %s: they are written to a file; give its path",
			file);
	e = np_fresh_open(&fresh, file);
	if (e)
		return fail_to_write(file, e, err);
	np_fresh_drop(&fresh);
	x->file = file;
	return 0;
}

void np_metrics_close(struct np_metrics *x)
{
	/* An old figure is worse than none. */
	if (x->file)
		unlink(x->file);
	x->file = NULL;
}

int np_metrics_write(struct np_metrics *x, const struct np_daemon *d, struct np_err *err)
{
	bool failed = x->failed;
	struct np_fresh fresh;
	char *text;
	int e;

	if (!x->file)
		return 0;
	text = np_metrics_text(d);
	/* Not called .prom meanwhile: the collector must not read it half-written. */
	e = text ? np_fresh_open(&fresh, x->file) : -ENOMEM;
	if (!e) {
		fputs(text, fresh.f);
		e = np_fresh_keep(&fresh, x->file, false);
	}
	free(text);
	x->failed = e != 0;
	return e && !failed ? fail_to_write(x->file, e, err) : 0;
}
