// SPDX-License-Identifier: GPL-2.0-only
/* run: starts a program and keeps it and its children placed by a policy, as the daemon does. */
#include <errno.h>
#include <numaif.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/base/clock.h"
#include "../lib/host/proc.h"
#include "../lib/undo/saved_affinity.h"
#include "daemon_args.h"
#include "spawn.h"

/* While memory grows the program is looked at every --sample, but no sooner than after this. */
#define MIN_OBSERVE_MS 100
/* Memory that grew by more than a tenth since the last reading is still growing. */
#define GROWTH 1.1
/* Tasks whose counters are read at once: as many as `plan` reads. */
#define COUNT 64
/* Percent of a CPU: the pages of all its tasks are known before they are placed. */
#define READING 100

static volatile sig_atomic_t program;
/* Signals are forwarded to the program; they never interrupt a step. */
static const volatile sig_atomic_t never;

struct run {
	struct np_daemon_args args;
	struct np_binding_words binding_words;
	struct np_binding binding; /* that the program starts with */
	char **command;
	struct np_daemon d;
	struct np_child child;
	sigset_t mask; /* as it was before signals were blocked */
};

static const struct argp_option options[] = {
	NP_POLICY_OPTIONS,
	{ "assume", 'a', "penalty=P,mpki=M", 0, "what is known of the program and its children",
	  0 },
	NP_BINDING_OPTIONS,
	NP_ENGINE_OPTION,
	NP_PACE_OPTIONS,
	{ "interval", 'i', "TIME", 0, "plan again after this time (default 1s)", 0 },
	{ "quiet", 'q', 0, 0, "do not say on standard error what is done", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run *r = state->input;
	int e;

	switch (key) {
	case 'i':
		return np_arg_interval(arg, &r->args.interval_us);
	case 'q':
		r->d.quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		r->command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	}
	e = np_binding_parse(key, arg, &r->binding_words);
	return e == ARGP_ERR_UNKNOWN ? np_policy_args_parse(key, arg, &r->args.words) : e;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "-- COMMAND [ARGUMENT..]",
	.doc = "Starts a program and does what a policy says with it and its children: once when "
	       "it has come to its memory, then whenever the plan changes. Tasks that are idle are "
	       "left alone. What numactl can say of CPUs and memory, the program starts with.\v"
	       "Exit status and signals are the program's own. At its end what was placed "
	       "and its descendants get their CPUs and memory policy back; if this program is killed, "
	       "`numaplace restore --all` does that.",
};

/* A signal from the terminal reaches the program directly. */
static void forward(int signal, siginfo_t *info, void *context)
{
	if (program && info->si_code <= 0)
		kill(program, signal);
}

static void wake(int signal)
{
}

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
/* What this program was started with: nohup(1) and a shell's background jobs ignore some. */
static struct sigaction inherited[sizeof(forwarded) / sizeof(*forwarded)], inherited_pipe;

/*
 * SIGCHLD is unblocked only during the wait, so that it cannot be missed; the
 * others until there is a program that they can be forwarded to.
 */
static void catch_signals(sigset_t *before)
{
	struct sigaction on_forward = {
		.sa_sigaction = forward,
		.sa_flags = SA_SIGINFO | SA_RESTART,
	};
	struct sigaction on_child = { .sa_handler = wake };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&blocked, forwarded[i]);
	sigprocmask(SIG_BLOCK, &blocked, before);
	sigaction(SIGCHLD, &on_child, NULL);
	/* Its own lines may have no reader any more; the program is placed all the same. */
	sigaction(SIGPIPE, &(struct sigaction) { .sa_handler = SIG_IGN }, &inherited_pipe);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaction(forwarded[i], &on_forward, &inherited[i]);
}

static void block_only_sigchld(const sigset_t *before)
{
	sigset_t child = *before;

	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
}

/*
 * In the child, as numactl does for the programs that it starts. The handlers would consume a
 * signal that is forwarded before exec.
 */
static int prepare_child(void *arg)
{
	const struct np_binding *b = arg;
	const struct bitmask *nodes = b->mem_nodes;

	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaction(forwarded[i], &inherited[i], NULL);
	sigaction(SIGPIPE, &inherited_pipe, NULL);
	if (b->cpus && numa_sched_setaffinity(0, b->cpus))
		return errno;
	if (b->mem_mode >= 0 &&
	    set_mempolicy(b->mem_mode, nodes ? nodes->maskp : NULL, nodes ? nodes->size + 1 : 0)) {
		int e = errno;
		const char *filtered = e == EPERM ? np_proc_filtered() : NULL;

		np_error("the memory policy cannot be set: %s", filtered ? filtered : strerror(e));
		return ECANCELED;
	}
	return 0;
}

static int start(struct run *r)
{
	const struct np_child_how how = {
		.mask = &r->mask,
		.prepare = prepare_child,
		.arg = &r->binding,
	};
	int status;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	catch_signals(&r->mask);
	status = np_child_start(&r->child, r->command, &how);
	if (!status)
		program = r->child.pid;
	block_only_sigchld(&r->mask);
	return status ? status : np_child_go(&r->child, r->command);
}

/* True when the program has ended; orphans of it are reaped on the way. */
static bool has_ended(struct np_child *c)
{
	siginfo_t info = { 0 };

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid &&
	       info.si_pid != c->pid) {
		waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
	return np_child_has_ended(c);
}

/* True when the program ended before so many seconds had passed. */
static bool wait_for(struct run *r, double length)
{
	double end = np_clock(CLOCK_MONOTONIC) + length, left;

	while (!has_ended(&r->child)) {
		struct timespec t;

		left = end - np_clock(CLOCK_MONOTONIC);
		if (left <= 0)
			return false;
		t = (struct timespec) { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };
		ppoll(NULL, 0, &t, &r->mask);
	}
	return true;
}

static uint64_t eligible_pages(const struct np_daemon *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->watch.n; i++)
		if (np_task_eligible(&d->watch, &d->watch.task[i], d->now))
			sum += d->watch.task[i].rss;
	return sum;
}

/*
 * Observes until memory has stopped to grow quickly, an interval at most; false: the program has
 * ended.
 */
static bool await_steady_memory(struct run *r, double interval)
{
	unsigned long sample = r->args.words.sample_ms;
	double step = (double)(sample > MIN_OBSERVE_MS ? sample : MIN_OBSERVE_MS) / 1e3;
	double latest = np_clock(CLOCK_MONOTONIC) + interval;
	uint64_t before, pages = 0;

	do {
		if (wait_for(r, step))
			return false;
		before = pages;
		r->d.waits |= np_daemon_observe(&r->d);
		pages = eligible_pages(&r->d);
	} while ((!pages || (double)pages > (double)before * GROWTH) &&
		 np_clock(CLOCK_MONOTONIC) < latest);
	return true;
}

/* The program's exit status. */
static int watch(struct run *r)
{
	double interval = r->args.interval_us / 1e6;
	size_t restored;

	if (await_steady_memory(r, interval)) {
		np_daemon_act(&r->d, r->d.waits);
		while (!wait_for(r, interval))
			np_daemon_step(&r->d);
	}
	program = 0;
	np_child_end(&r->child);
	np_daemon_restore(&r->d, &restored);
	return r->child.status;
}

static void log_line(const char *line, void *arg)
{
	fprintf(stderr, "numaplace: run: %s\n", line);
}

static int resolve_binding(struct run *r)
{
	struct np_err err;
	struct np_node_args s;
	int e;

	np_node_args_open(&s, &r->d.machine);
	e = np_binding_resolve(&r->binding_words, &s, &r->binding, &err);
	np_node_args_close(&s);
	return e ? np_usage("%s", err.text) : NP_EXIT_OK;
}

/* Finds errors before anything starts. */
static int prepare(struct run *r)
{
	struct np_err err;
	int e, status;

	if (!r->args.words.sample_ms)
		r->args.count = 0;
	status = np_daemon_args_apply(&r->args, &r->d);
	if (status)
		return status;
	if (!r->command)
		return np_usage("run: no command; say it after --");
	r->d.how.engine = np_cmd_engine(r->args.words.common.engine, &status);
	if (status)
		return status;
	e = np_daemon_open(&r->d, &err);
	if (!e)
		return resolve_binding(r);
	return np_failed(np_engine_exit(e), "%s", err.text);
}

static int run(struct run *r)
{
	const pid_t self = getpid();
	char by[NP_BY_LEN];
	int status;

	/* For tasks that are restored at the end though their parent has exited. */
	snprintf(by, sizeof(by), NP_BY_RUN, self);
	r->d.how.by = by;
	r->d.watch_rules.pids = &self;
	r->d.watch_rules.n_pids = 1;
	status = prepare(r);
	if (!status)
		status = start(r);
	if (!status)
		status = watch(r);
	np_daemon_close(&r->d);
	return status;
}

int cmd_run(int argc, char **argv)
{
	struct run r = {
		.binding.mem_mode = -1,
		.d = { .root = "",
		       .log = log_line,
		       .owns_watched = true,
		       .how = { .stop = &never, .note_pages = true } },
	};
	int status;

	np_daemon_args_defaults(&r.args, "run");
	r.args.trial_s = 0; /* its command has hardly run when it is placed */
	r.args.hysteresis.plans = 1;
	r.args.count = COUNT;
	r.args.reading = READING;
	status = np_args(&argp, argc, argv, ARGP_IN_ORDER, &r);
	if (!status)
		status = run(&r);
	np_daemon_args_free(&r.args);
	np_binding_free(&r.binding);
	return status;
}
