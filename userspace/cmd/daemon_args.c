// SPDX-License-Identifier: GPL-2.0-only
#include "daemon_args.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/host/proc.h"
#include "arg_units.h"

#define MIN_INTERVAL_US 10000
#define MAX_INTERVAL_US 3600000000u
#define MAX_INTERVALS	1000000
#define MAX_SIZE_MIB	(1 << 30)

/* A task that is idle stays eligible for so long. */
#define PAUSE_US 5000000

enum {
	KEY_MIN_GAIN = NP_KEY_OWN,
	KEY_HYSTERESIS,
	KEY_WINDOW,
	KEY_BACK_OFF,
	KEY_MIN_BUSY,
	KEY_MIN_SIZE,
	KEY_COUNT,
	KEY_LEAVE,
	KEY_PAGES,
	KEY_METRICS,
	KEY_EVENTS,
	KEY_OPTIONS,
	KEY_READING,
	KEY_TRIAL,
	KEY_NO_TRIAL,
};

static const struct argp_option options[] = {
	NP_POLICY_OPTIONS,
	{ "assume", 'a', "penalty=P,mpki=M", 0, "what is known of every task", 0 },
	NP_ENGINE_OPTION,
	NP_PACE_OPTIONS,
	NP_CGROUP_OPTION,
	NP_EXCLUDE_OPTION,
	{ "interval", 'i', "TIME", 0, "Look and plan again after this time (1s)", 0 },
	{ "min-gain", KEY_MIN_GAIN, "FACTOR", 0,
	  "Leave a task alone whose expected speed-up is "
	  "known and smaller, such as 1.05 (0: do what the policy says)",
	  0 },
	{ "hysteresis", KEY_HYSTERESIS, "N", 0,
	  "Move a task when so many plans in a row say the same of it (2)", 0 },
	{ "window", KEY_WINDOW, "N", 0,
	  "A task that goes from a node and back within N intervals is then left alone (30)", 0 },
	{ "back-off", KEY_BACK_OFF, "N", 0,
	  "For so many intervals, twice as many the next time (60)", 0 },
	{ "trial", KEY_TRIAL, "TIME", 0,
	  "Count the tasks for so long before and after they are moved; where they are slower by "
	  "more than the noise, take it back, and do not repeat it while the tasks are the same "
	  "(5s)",
	  0 },
	{ "no-trial", KEY_NO_TRIAL, NULL, 0, "Move tasks without a trial", 0 },
	{ "min-busy", KEY_MIN_BUSY, "CPUS", 0, "Only tasks that keep so many CPUs busy (0.1)", 0 },
	{ "min-size", KEY_MIN_SIZE, "SIZE", 0,
	  "Only tasks with so much memory, such as 64MiB or 2GiB (1MiB)", 0 },
	{ "count", KEY_COUNT, "N", 0,
	  "Read the counters of N tasks at once, in turn, for at most 0.1 % of a CPU (16; 0: none)",
	  0 },
	{ "reading", KEY_READING, "PERCENT", 0,
	  "Take so much of a CPU at most to read where the pages of new "
	  "tasks are; of others a quarter of that (0.2)",
	  0 },
	{ "leave", KEY_LEAVE, NULL, 0, "At the end leave tasks where they are", 0 },
	{ "pages", KEY_PAGES, NULL, 0, "At the end bring pages back as well", 0 },
	{ "metrics", KEY_METRICS, "FILE", 0,
	  "Counters in Prometheus' text format, in a file replaced every interval", 0 },
	{ "events", KEY_EVENTS, "FILE", 0,
	  "What is decided and done, one JSON object a line, behind what "
	  "the file has; SIGHUP opens it again",
	  0 },
	{ "options", KEY_OPTIONS, "FILE", 0,
	  "More of these, one NAME or NAME=VALUE a line; SIGHUP reads it again", 0 },
	{ 0 },
};

static int intervals(const char *text, const char *what, unsigned int min, unsigned int *value)
{
	unsigned long n;
	int e = np_arg_number(text, what, MAX_INTERVALS, &n);

	if (!e && n < min)
		e = np_failed(ECANCELED, "%s \"%s\" is less than %u", what, text, min);
	*value = (unsigned int)n;
	return e;
}

int np_arg_interval(const char *text, unsigned int *us)
{
	return np_arg_microseconds(text, "--interval", MIN_INTERVAL_US, MAX_INTERVAL_US, us);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct np_daemon_args *a = state->input;

	switch (key) {
	case 'i':
		return np_arg_interval(arg, &a->interval_us);
	case 'j': /* it logs lines; metrics and events are for programs */
		return ARGP_ERR_UNKNOWN;
	case KEY_MIN_GAIN:
		return np_arg_real(arg, "--min-gain", 1000, &a->hysteresis.min_gain);
	case KEY_HYSTERESIS:
		return intervals(arg, "--hysteresis", 1, &a->hysteresis.plans);
	case KEY_WINDOW:
		return intervals(arg, "--window", 0, &a->hysteresis.window);
	case KEY_BACK_OFF:
		return intervals(arg, "--back-off", 1, &a->hysteresis.back_off);
	case KEY_MIN_BUSY:
		return np_arg_real(arg, "--min-busy", 1e6, &a->min_busy);
	case KEY_MIN_SIZE:
		return np_arg_size(arg, "--min-size", MAX_SIZE_MIB, &a->min_size_mib);
	case KEY_COUNT:
		return intervals(arg, "--count", 0, &a->count);
	case KEY_READING:
		return np_arg_real(arg, "--reading", 100, &a->reading);
	case KEY_TRIAL:
		return np_arg_seconds(arg, "--trial", &a->trial_s);
	case KEY_NO_TRIAL:
		a->trial_s = 0;
		return 0;
	case KEY_LEAVE:
		a->leave = true;
		return 0;
	case KEY_PAGES:
		a->pages = true;
		return 0;
	case KEY_METRICS:
		a->metrics = arg;
		return 0;
	case KEY_EVENTS:
		a->events = arg;
		return 0;
	case KEY_OPTIONS:
		a->file = arg;
		return 0;
	}
	return np_policy_args_parse(key, arg, &a->words);
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[PID..]",
	.doc = "Keeps running tasks placed by a policy: every interval it looks which of them are "
	       "busy, plans anew when something has changed, and moves those that the plan wants "
	       "elsewhere. Which tasks: these processes and their descendants, those of a cgroup, "
	       "or else every one that it may.\v"
	       "One line on standard error for each decision that is carried out. SIGTERM and Ctrl-C "
	       "give every task its CPUs and memory policy back (not with --leave); after a crash "
	       "`numaplace restore --all` does that. Documentation/how-to/daemon.md has more.",
};

void np_daemon_args_defaults(struct np_daemon_args *a, const char *command)
{
	*a = (struct np_daemon_args) {
		.command = command,
		.interval_us = 1000000,
		.count = 16,
		.min_busy = 0.1,
		.reading = 0.2,
		.min_size_mib = 1,
		.trial_s = 5,
		.hysteresis = { .min_gain = 0, .plans = 2, .window = 30, .back_off = 60 },
	};
	np_policy_cli_init(&a->words);
}

/* The lines of the file as options of their own: "interval=2s" -> "--interval=2s". */
static int split_lines(struct np_daemon_args *a, int argc, char **argv, int *count)
{
	size_t lines = 2;
	char *save, *out;

	for (const char *c = a->text; *c; c++)
		lines += *c == '\n';
	/* Each line gets two more characters; what stood in text is copied behind it. */
	out = calloc(strlen(a->text) + lines * 3 + 1, 1);
	a->argv = calloc(lines + (size_t)argc + 1, sizeof(*a->argv));
	if (!out || !a->argv) {
		free(out);
		return ENOMEM;
	}
	*count = 0;
	a->argv[(*count)++] = argv[0];
	for (char *line = strtok_r(a->text, "\n", &save), *at = out; line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *end = line + strlen(line);

		while (end > line && isspace((unsigned char)end[-1]))
			*--end = '\0';
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			continue;
		a->argv[(*count)++] = at;
		at += sprintf(at, "--%s", line) + 1;
	}
	for (int i = 1; i < argc; i++)
		a->argv[(*count)++] = argv[i];
	free(a->text);
	a->text = out;
	return 0;
}

static int read_again_with_file(struct np_daemon_args *a, int argc, char **argv)
{
	struct np_daemon_args all;
	int count, status;

	np_daemon_args_defaults(&all, "daemon");
	all.text = np_read_file(a->file);
	if (!all.text)
		return np_usage("options file %s cannot be read: %s", a->file, strerror(errno));
	status = split_lines(&all, argc, argv, &count) ? NP_EXIT_FAIL : NP_EXIT_OK;
	if (status)
		np_error("out of memory");
	else
		/* A line "help" would end a daemon that reads it again, "HANG" stop it. */
		status = np_args(&argp, count, all.argv, ARGP_NO_HELP, &all);
	np_daemon_args_free(a);
	*a = all;
	return status;
}

int np_daemon_args_read(struct np_daemon_args *a, int argc, char **argv)
{
	char *command = argv[0];
	int status;

	np_daemon_args_defaults(a, "daemon");
	status = np_args(&argp, argc, argv, 0, a);
	argv[0] = command; /* np_args() has put its own there */
	if (!status && a->file)
		status = read_again_with_file(a, argc, argv);
	argv[0] = command;
	if (!status && a->words.common.cgroup && a->words.common.pids.n)
		return np_usage("daemon: name either processes or a cgroup");
	if (!status && a->leave && a->pages)
		return np_usage(
			"daemon: --pages brings back what --leave leaves: give one of them");
	return status;
}

void np_daemon_args_free(struct np_daemon_args *a)
{
	np_policy_cli_free(&a->words);
	free(a->text);
	free(a->argv);
}

/* "penalty=P,mpki=M", declared for every task. */
static int assume(const struct np_daemon_args *a, struct np_task *assumed)
{
	struct np_task task = { .pid = 1 };
	struct np_tasks tasks = { .n = 1, .task = &task };
	char text[NP_ERR_LEN];
	struct np_err err;

	*assumed = (struct np_task) { 0 };
	for (size_t i = 0; i < a->words.assume.n; i++) {
		snprintf(text, sizeof(text), "pid=1,%s", a->words.assume.word[i]);
		if (np_tasks_assume(&tasks, text, &err))
			return np_usage("%s: assumption \"%s\" is not penalty=P,mpki=M with P at "
					"least 1 and M at least 0",
					a->command, a->words.assume.word[i]);
	}
	*assumed = task;
	return NP_EXIT_OK;
}

int np_daemon_args_apply(struct np_daemon_args *a, struct np_daemon *d)
{
	const char *cgroup = a->words.common.cgroup;
	const struct np_select select = a->words.select;
	struct np_policy_args args;
	struct np_task assumed;
	int status;

	/* Read again in every interval, not once. */
	a->words.common.cgroup = NULL;
	a->words.select = (struct np_select) { 0 };
	status = np_policy_args_resolve(&a->words, &args);
	a->words.common.cgroup = cgroup;
	a->words.select = select;
	if (!status && np_options_get(args.policy, &args.options, "files") > 0)
		status = np_usage(
			"daemon and run do not move files: files=on is of plan and apply");
	if (!status)
		status = assume(a, &assumed);
	if (status)
		return status;
	args.assume = NULL;
	args.n_assume = 0;
	d->args = args;
	d->assumed = assumed;
	d->hysteresis_rules = a->hysteresis;
	d->how.throttle = a->words.common.throttle;
	d->how.verify.seconds = a->trial_s;
	d->watch_rules.min_busy = a->min_busy;
	d->watch_rules.min_pages = (uint64_t)(a->min_size_mib * (1 << 20) /
					      (double)sysconf(_SC_PAGESIZE));
	d->watch_rules.one_core = !a->words.sample_ms;
	d->watch_rules.override = a->words.override;
	d->watch_rules.exclude = np_select_exclude(&a->words.select);
	d->watch_rules.pause = PAUSE_US / a->interval_us + 1;
	d->watch_rules.read_budget = a->interval_us / 1e6 * a->reading / 100;
	if (!d->sampling.pids) /* how many is known once the first have been counted */
		d->sampling.most = a->count;
	d->sampling.budget = a->interval_us / 1e6 / 1000;
	return NP_EXIT_OK;
}
