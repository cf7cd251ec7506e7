// SPDX-License-Identifier: GPL-2.0-only
/* daemon: keeps running tasks placed by a policy. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/base/clock.h"
#include "../lib/base/sd_notify.h"
#include "../lib/daemon/lock.h"
#include "../lib/daemon/metrics.h"
#include "../lib/host/cgroup.h"
#include "../lib/policy/policy_name.h"
#include "daemon_args.h"

static volatile sig_atomic_t stop, reload;
static const volatile sig_atomic_t never;

struct service {
	struct np_daemon d;
	struct np_daemon_args args;
	struct np_metrics metrics;
	int argc;
	char **argv;
};

static void log_line(const char *line, void *arg)
{
	fprintf(stderr, "numaplace: daemon: %s\n", line);
}

static void on_signal(int signal)
{
	if (signal == SIGHUP)
		reload = 1;
	else
		stop = 1;
}

/* Waits for the time or a signal. */
static void wait_until(double then)
{
	sigset_t blocked, before;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	/* Blocked outside of ppoll(), so that none is missed between the check and the wait. */
	sigprocmask(SIG_BLOCK, &blocked, &before);
	while (!stop && !reload) {
		double left = then - np_clock(CLOCK_MONOTONIC);
		struct timespec t = { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };

		if (left <= 0)
			break;
		ppoll(NULL, 0, &t, &before);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Wrong new options are reported; the old ones stay. */
static void read_options_again(struct service *s)
{
	struct np_daemon_args args;
	struct np_err err;

	reload = 0;
	if (s->d.events.path && np_events_open(&s->d.events, s->d.events.path, &err))
		log_line(err.text, NULL);
	np_notify("RELOADING=1\nMONOTONIC_USEC=%.0f", np_clock(CLOCK_MONOTONIC) * 1e6);
	if (np_daemon_args_read(&args, s->argc, s->argv) || np_daemon_args_apply(&args, &s->d)) {
		np_daemon_args_free(&args);
		np_policy_timeout(s->args.words.timeout_s);
		log_line("the options stay as they were", NULL);
	} else {
		/* Selection of tasks, engine and metrics do not change after the start. */
		s->d.args.pids = NULL;
		np_daemon_args_free(&s->args);
		s->args = args;
		s->d.waits = true;
		log_line("options read again", NULL);
	}
	np_notify("READY=1");
}

static void tell_status(const struct service *s)
{
	np_notify("STATUS=%zu tasks watched, %zu count, %zu placed", s->d.watch.n_watched,
		  s->d.watch.eligible, np_daemon_placed(&s->d));
}

static void serve(struct service *s)
{
	double next = np_clock(CLOCK_MONOTONIC);
	struct np_err err;

	while (!stop) {
		size_t placed = np_daemon_placed(&s->d);

		if (reload)
			read_options_again(s);
		np_daemon_step(&s->d);
		if (np_metrics_write(&s->metrics, &s->d, &err))
			log_line(err.text, NULL);
		if (s->d.now == 1)
			np_notify("READY=1");
		if (s->d.now == 1 || placed != np_daemon_placed(&s->d))
			tell_status(s);
		next += s->args.interval_us / 1e6;
		if (next < np_clock(CLOCK_MONOTONIC))
			next = np_clock(CLOCK_MONOTONIC);
		wait_until(next);
	}
}

static bool go_on(const struct np_migrate_result *so_far, void *arg)
{
	return !stop;
}

/* May take long: another signal ends it, and `restore --pages` moves the rest. */
static void bring_pages_back(struct service *s)
{
	const struct np_mover mover = {
		.engine = s->d.how.engine,
		.throttle = s->d.how.throttle,
		.go_on = go_on,
	};
	struct np_pages_back back = { 0 };
	struct np_err err;

	stop = 0;
	if (np_daemon_pages_back(&s->d, &mover, &stop, &back, &err))
		log_line(err.text, NULL);
	fprintf(stderr, "numaplace: daemon: brought %llu pages of %zu tasks back\n",
		(unsigned long long)back.moved, back.tasks);
}

static void tell_end(struct service *s, size_t restored)
{
	struct np_err ignored;

	np_event(&s->d.events, s->d.now, "ended",
		 json_pack("{s:I}", "restored", (json_int_t)restored), &ignored);
}

static void tell_start(struct service *s)
{
	struct np_err err;

	if (!np_event(&s->d.events, 0, "started",
		      json_pack("{s:i, s:o, s:s, s:b}", "daemon", (int)getpid(), "policy",
				np_json_text(s->d.args.policy->name), "engine", s->d.how.engine->name, "override",
				(int)s->d.args.override), &err))
		log_line(err.text, NULL);
}

static int finish(struct service *s)
{
	size_t placed = np_daemon_placed(&s->d), restored;
	int e;

	np_notify("STOPPING=1");
	s->d.how.stop = &never;
	if (s->args.leave) {
		np_daemon_leave(&s->d);
		fprintf(stderr,
			"numaplace: daemon: %zu tasks left where they are; `numaplace restore "
			"--all` gives them back what they had\n",
			placed);
		tell_end(s, 0);
		return NP_EXIT_OK;
	}
	e = np_daemon_end(&s->d, &restored);
	fprintf(stderr, "numaplace: daemon: %zu placements restored\n", restored);
	tell_end(s, restored);
	if (s->args.pages)
		bring_pages_back(s);
	return e ? NP_EXIT_FAIL : NP_EXIT_OK;
}

/* Named processes must exist and be readable before anything starts. */
static int check_named(const struct np_pids *pids, const struct np_machine *m)
{
	struct np_err err;
	struct np_tasks t;
	int e = pids->n ? np_tasks_read(&t, m, pids->pid, pids->n, &err) : 0;

	if (e)
		np_error("%s", err.text);
	else if (pids->n)
		np_tasks_free(&t);
	return np_engine_exit(e);
}

static int check_cgroup(const char *cgroup)
{
	struct np_err err;
	pid_t *pids;
	size_t n;
	int e = cgroup ? np_cgroup_tasks(cgroup, &pids, &n, &err) : 0;

	if (e)
		np_error("%s", err.text);
	else if (cgroup)
		free(pids);
	return np_engine_exit(e);
}

/* Takes over the tasks that a crashed daemon had placed, to restore them. */
static int adopt(struct np_daemon *d)
{
	struct np_err err;
	int e = np_daemon_placed_read(&d->adopted, &err);

	d->remembers = true;
	if (e)
		np_error("%s", err.text);
	else if (d->adopted.n)
		fprintf(stderr,
			"numaplace: daemon: %zu tasks adopted that a daemon which did not "
			"come to its end had placed\n",
			d->adopted.n);
	return np_engine_exit(e);
}

static int open_daemon(struct service *s, const struct np_pids *pids, const char *cgroup,
		       const char *metrics, const char *events)
{
	struct np_err err;
	int status, e = np_daemon_open(&s->d, &err);

	if (e)
		return np_failed(np_engine_exit(e), "%s", err.text);
	status = check_named(pids, &s->d.machine);
	if (!status)
		status = check_cgroup(cgroup);
	if (!status && (np_daemon_lock(&err) < 0 || np_metrics_open(&s->metrics, metrics, &err) ||
			(events && np_events_open(&s->d.events, events, &err))))
		status = np_failed(NP_EXIT_FAIL, "%s", err.text);
	if (!status)
		status = adopt(&s->d);
	return status;
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static int run_daemon(struct service *s)
{
	struct np_pids pids = s->args.words.common.pids;
	char *cgroup = copy(s->args.words.common.cgroup), *metrics = copy(s->args.metrics);
	char *events = copy(s->args.events);
	int status;

	s->d.how.engine = np_cmd_engine(s->args.words.common.engine, &status);
	if (status)
		return status;
	/* These outlive the words that they came from: SIGHUP reads the words again. */
	s->args.words.common.pids = (struct np_pids) { 0 };
	s->d.watch_rules.pids = pids.pid;
	s->d.watch_rules.n_pids = pids.n;
	s->d.watch_rules.cgroup = cgroup;
	/* The engines check stop between calls; a signal must not make a call fail. */
	np_catch_ends(on_signal, SA_RESTART);
	signal(SIGPIPE, SIG_IGN);
	np_policy_stop(&stop);
	status = open_daemon(s, &pids, cgroup, metrics, events);
	if (!status) {
		tell_start(s);
		serve(s);
		status = finish(s);
	}
	np_events_close(&s->d.events);
	np_metrics_close(&s->metrics);
	np_daemon_close(&s->d);
	free(pids.pid);
	free(cgroup);
	free(metrics);
	free(events);
	return status;
}

int cmd_daemon(int argc, char **argv)
{
	struct service s = {
		.d = { .root = "", .log = log_line, .how = { .stop = &stop, .note_pages = true } },
		.argc = argc,
		.argv = argv,
	};
	int status;

	status = np_daemon_args_read(&s.args, argc, argv);
	if (!status)
		status = np_daemon_args_apply(&s.args, &s.d);
	if (!status)
		status = run_daemon(&s);
	np_daemon_args_free(&s.args);
	return status;
}
