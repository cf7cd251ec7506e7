// SPDX-License-Identifier: GPL-2.0-only
/* run: starts a program, places it and its children by a policy while it runs. */
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arg_units.h"
#include "policy_args.h"
#include "run.h"

/* Until the program has come to its memory, look this often. */
#define FIRST_LOOK_MS 100

#define MIN_INTERVAL_US 10000
#define MAX_INTERVAL_US 3600000000u

/* As env(1) has it. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

static volatile sig_atomic_t program;

struct run_args {
	struct np_policy_words words;
	struct np_binding_words binding_words;
	struct np_binding binding;	/* that the program starts with */
	unsigned int interval_us;
	bool quiet;
	char **command;
};

static const struct argp_option options[] = {
	NP_POLICY_OPTIONS,
	{ "assume", 'a', "penalty=P,mpki=M", 0, "what is known of the program and its children", 0 },
	NP_BINDING_OPTIONS,
	NP_ENGINE_OPTION,
	NP_PACE_OPTIONS,
	NP_WEIGHTS_OPTION,
	{ "interval", 'i', "TIME", 0, "plan again after this time (default 1s)", 0 },
	{ "quiet", 'q', 0, 0, "do not say on standard error what is done", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *a = state->input;
	int e;

	switch (key) {
	case 'i':
		return np_arg_microseconds(arg, "--interval", MIN_INTERVAL_US, MAX_INTERVAL_US,
					   &a->interval_us);
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		a->command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	}
	e = np_binding_parse(key, arg, &a->binding_words);
	return e == ARGP_ERR_UNKNOWN ? np_policy_args_parse(key, arg, &a->words) : e;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "-- COMMAND [ARGUMENT..]",
	.doc = "Starts a program and does what a policy says with it and its children: once when "
	       "it has come to its memory, then whenever the plan changes. Tasks that are idle are "
	       "left alone. What numactl can say of CPUs and memory, the program starts with.\v"
	       "Exit status and signals are the program's own. At its end everything that still "
	       "runs gets its CPUs and memory policy back; if this program is killed, "
	       "`numaplace restore --all` does that.",
};

/* One from the terminal has reached the program already. */
static void forward(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (program && info->si_code <= 0)
		kill(program, signal);
}

static void wake(int signal)
{
	(void)signal;
}

static sigset_t mask_before;

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

/*
 * SIGCHLD stays blocked but where we wait, so that it cannot be missed; the
 * others until there is a program that they can be forwarded to.
 */
static void catch_signals(void)
{
	struct sigaction on_forward = {
		.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART,
	};
	struct sigaction on_child = { .sa_handler = wake };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaddset(&blocked, forwarded[i]);
	sigprocmask(SIG_BLOCK, &blocked, &mask_before);
	sigaction(SIGCHLD, &on_child, NULL);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		sigaction(forwarded[i], &on_forward, NULL);
}

static void block_only_sigchld(void)
{
	sigset_t child = mask_before;

	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_SETMASK, &child, NULL);
}

/* As numactl does for the programs that it starts. 0 or an errno. */
static int bind_self(const struct np_binding *b)
{
	const struct bitmask *nodes = b->mem_nodes;

	if (b->cpus && numa_sched_setaffinity(0, b->cpus))
		return errno;
	if (b->mem_mode >= 0 && set_mempolicy(b->mem_mode, nodes ? nodes->maskp : NULL,
					      nodes ? nodes->size + 1 : 0))
		return errno;
	return 0;
}

/* In the child: never returns. The handlers would take what was forwarded before exec, and forget it. */
static _Noreturn void become(const struct run_args *a, int report)
{
	char **command = a->command;
	int e = bind_self(&a->binding);

	for (size_t i = 0; i < sizeof(forwarded) / sizeof(*forwarded); i++)
		signal(forwarded[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
	if (!e) {
		execvp(command[0], command);
		e = errno;
	}
	if (write(report, &e, sizeof(e)) < 0)
		_exit(EXIT_CANNOT_RUN);
	_exit(e == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* 0, or an exit status after printing why the program cannot be started. */
static int start(const struct run_args *a)
{
	int pipes[2], e = 0;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return np_error("no pipe: %s", strerror(errno)), NP_EXIT_FAIL;
	pid = fork();
	if (pid == 0)
		become(a, pipes[1]);
	if (pid > 0)
		program = pid;
	else
		e = errno;
	block_only_sigchld();
	close(pipes[1]);
	if (pid > 0 && read(pipes[0], &e, sizeof(e)) <= 0)
		e = 0;
	close(pipes[0]);
	if (!e)
		return 0;
	if (pid > 0)
		waitpid(pid, NULL, 0);
	np_error("%s cannot be started: %s", a->command[0], strerror(e));
	return e == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

/* True when the program has ended; orphans of it are reaped on the way. */
static bool has_ended(int *status)
{
	bool ended = false;
	int s;
	pid_t pid;

	while ((pid = waitpid(-1, &s, WNOHANG)) > 0) {
		if (pid != program)
			continue;
		ended = true;
		*status = WIFSIGNALED(s) ? EXIT_SIGNAL + WTERMSIG(s) : WEXITSTATUS(s);
	}
	return ended;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* True when the program ended before the time had passed. */
static bool wait_for(double length, int *status)
{
	double end = seconds() + length, left;

	while (!has_ended(status)) {
		struct timespec t;

		left = end - seconds();
		if (left <= 0)
			return false;
		t = (struct timespec) { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };
		ppoll(NULL, 0, &t, &mask_before);
	}
	return true;
}

/* The program's exit status. */
static int watch(struct np_run *r, double interval)
{
	double latest = seconds() + interval;
	int status = 0;

	while (!wait_for(FIRST_LOOK_MS / 1e3, &status)) {
		if (!np_run_has_settled(r) && seconds() < latest)
			continue;
		np_run_step(r);
		while (!wait_for(interval, &status))
			np_run_step(r);
		break;
	}
	program = 0;
	np_run_restore(r);
	return status;
}

static int resolve_binding(struct run_args *a, const struct np_machine *m, char *err, size_t err_len)
{
	struct np_spaces s;
	int e;

	np_spaces_open(&s, m);
	e = np_binding_resolve(&a->binding_words, &s, &a->binding, err, err_len);
	np_spaces_close(&s);
	return e;
}

/* What can be wrong is found before anything starts. */
static int prepare(struct run_args *a, struct np_run *r)
{
	struct np_tasks nobody = { 0 };
	struct np_machine m;
	char err[NP_ERR_LEN];
	int e, status = np_policy_args_resolve(&a->words, &r->args);

	if (status)
		return status;
	if (a->words.assume.n > 1)
		return np_usage("run: --assume once is enough: it is about the program and all its "
				"children");
	if (a->words.assume.n && np_tasks_assume(&nobody, a->words.assume.word[0], err, sizeof(err)))
		return np_usage("run: assumption \"%s\" is not penalty=P,mpki=M with P at least 1 and "
				"M at least 0", a->words.assume.word[0]);
	if (!a->command)
		return np_usage("run: no command; say it after --");
	r->pace = a->words.common.pace;
	r->write_weights = a->words.write_weights;
	r->control = np_policy_engine(&a->words, &status);
	if (status)
		return status;
	status = np_cmd_machine(&m);
	if (status)
		return status;
	e = np_planning_check_nodes(&m, err, sizeof(err));
	if (!e && resolve_binding(a, &m, err, sizeof(err))) {
		np_machine_free(&m);
		return np_usage("%s", err);
	}
	np_machine_free(&m);
	if (e)
		np_error("%s", err);
	return np_control_exit(e);
}

static int run(struct run_args *a)
{
	struct np_run r = { .quiet = a->quiet, .family.ancestor = getpid() };
	int status = prepare(a, &r);

	if (status)
		return status;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	catch_signals();
	status = start(a);
	if (!status)
		status = watch(&r, a->interval_us / 1e6);
	np_family_free(&r.family);
	return status;
}

int cmd_run(int argc, char **argv)
{
	struct run_args a = { .interval_us = 1000000 };
	int status;

	np_json = false;	/* a --json here is the program's own */
	np_policy_words_init(&a.words);
	a.binding.mem_mode = -1;
	status = np_args(&argp, argc, argv, ARGP_IN_ORDER, &a);
	if (!status)
		status = run(&a);
	np_policy_words_free(&a.words);
	np_binding_free(&a.binding);
	return status;
}
