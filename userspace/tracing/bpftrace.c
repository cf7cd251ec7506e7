// SPDX-License-Identifier: GPL-2.0-only
#include "bpftrace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/base/clock.h"
#include "../cmd/cmd.h"
#include "kernel_headers.h"

/* What a script says first when its probes are there. */
#define READY "Tracing"

#define TELL_AGAIN_MS 500

/* As env(1) has it. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

struct run {
	const struct np_bpftrace *tracer;
	pid_t bpftrace, program;    /* 0: not started, or ended */
	int status, program_status; /* as shells have it */
	int output, signals;
	bool ready, told; /* bpftrace traces; was told to end */
	size_t match;	  /* how much of READY has been seen */
	uint64_t end;	  /* ns; 0: none */
	sigset_t mask_before;
};

/* Never returns. */
static _Noreturn void become(const struct run *r, const char *file, char *const *argv)
{
	int e;

	sigprocmask(SIG_SETMASK, &r->mask_before, NULL);
	execvp(file, argv);
	e = errno;
	np_error("%s cannot be run: %s", file, strerror(e));
	_exit(e == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static int start_bpftrace(struct run *r)
{
	char *argv[] = { "bpftrace", (char *)r->tracer->script, (char *)r->tracer->pid, NULL };
	pid_t parent = getpid();
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	r->bpftrace = fork();
	if (r->bpftrace == 0) {
		prctl(PR_SET_PDEATHSIG, SIGINT);
		if (getppid() != parent)
			_exit(EXIT_CANNOT_RUN);
		dup2(pipes[1], STDOUT_FILENO);
		np_kernel_headers_export();
		become(r, argv[0], argv);
	}
	close(pipes[1]);
	r->output = pipes[0];
	return r->bpftrace < 0 ? -errno : 0;
}

/* Whether a process catches SIGINT. */
static bool catches_sigint(pid_t pid)
{
	unsigned long long caught = 0;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "SigCgt: %llx", &caught) == 1)
			break;
	fclose(file);
	return caught >> (SIGINT - 1) & 1;
}

/*
 * bpftrace 0.17 forgets a SIGINT that comes while it reads events. It catches SIGINT until it
 * has ended tracing; one that comes later ends it before its maps are shown.
 */
static void tell_again(const struct run *r)
{
	if (r->bpftrace && catches_sigint(r->bpftrace))
		kill(r->bpftrace, SIGINT);
}

static void tell_to_end(struct run *r)
{
	/* A second SIGINT would end it before its maps are shown. */
	if (r->bpftrace && !r->told)
		kill(r->bpftrace, SIGINT);
	r->told = true;
}

/* bpftrace has attached its probes. */
static void begin(struct run *r)
{
	r->ready = true;
	if (r->tracer->us)
		r->end = np_clock_ns(CLOCK_MONOTONIC) + r->tracer->us * 1000ull;
	if (!r->tracer->command)
		return;
	r->program = fork();
	if (r->program == 0)
		become(r, r->tracer->command[0], r->tracer->command);
	if (r->program > 0)
		return;
	np_error("%s cannot be started: %s", r->tracer->command[0], strerror(errno));
	r->program = 0;
	r->program_status = EXIT_CANNOT_RUN;
	tell_to_end(r);
}

static void look_for_ready(struct run *r, const char *text, size_t n)
{
	for (size_t i = 0; i < n && READY[r->match]; i++)
		r->match = text[i] == READY[r->match] ? r->match + 1 : text[i] == READY[0];
	if (!READY[r->match] && !r->ready)
		begin(r);
}

/* False at the end of the output. */
static bool relay(struct run *r)
{
	char text[4096];
	ssize_t n = read(r->output, text, sizeof(text));

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	for (ssize_t done = 0, wrote; done < n; done += wrote) {
		wrote = write(STDOUT_FILENO, text + done, (size_t)(n - done));
		if (wrote < 0) { /* the output is closed */
			tell_to_end(r);
			break;
		}
	}
	look_for_ready(r, text, (size_t)n);
	return true;
}

static void reap(struct run *r)
{
	int s, status;
	pid_t pid;

	while ((pid = waitpid(-1, &s, WNOHANG)) > 0) {
		status = WIFSIGNALED(s) ? EXIT_SIGNAL + WTERMSIG(s) : WEXITSTATUS(s);
		if (pid == r->bpftrace) {
			r->bpftrace = 0;
			r->status = status;
		} else if (pid == r->program) {
			r->program = 0;
			r->program_status = status;
			tell_to_end(r);
		}
	}
}

static void take_signal(struct run *r)
{
	struct signalfd_siginfo info;

	if (read(r->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD) {
		reap(r);
		return;
	}
	/* One from the terminal has reached the others already. */
	if (info.ssi_code > 0)
		r->told = true;
	else if (r->program)
		kill(r->program, (int)info.ssi_signo);
	tell_to_end(r);
}

/* Until the output ends, and the program, and bpftrace. */
static void watch(struct run *r)
{
	struct pollfd fds[] = { { r->output, POLLIN, 0 }, { r->signals, POLLIN, 0 } };
	bool open = true;

	while (open || r->bpftrace || r->program) {
		uint64_t now = np_clock_ns(CLOCK_MONOTONIC);
		int timeout = r->told && r->bpftrace ? TELL_AGAIN_MS : -1;

		if (r->end && !r->told)
			timeout = r->end > now ? (int)((r->end - now) / 1000000 + 1) : 0;
		fds[0].fd = open ? r->output : -1;
		if (!poll(fds, 2, timeout)) {
			if (r->told)
				tell_again(r);
			tell_to_end(r);
		}
		if (fds[1].revents)
			take_signal(r);
		if (open && fds[0].revents)
			open = relay(r);
	}
}

static int prepare(struct run *r)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &mask, &r->mask_before);
	r->signals = signalfd(-1, &mask, SFD_CLOEXEC);
	return r->signals < 0 ? -errno : start_bpftrace(r);
}

int np_bpftrace_run(const struct np_bpftrace *tracer)
{
	struct run r = { .tracer = tracer };
	int e = prepare(&r);

	if (e)
		return np_failed(NP_EXIT_FAIL, "bpftrace cannot be started: %s", strerror(-e));
	watch(&r);
	close(r.output);
	close(r.signals);
	if (r.told && !r.status)
		return r.program_status;
	if (!r.told || r.status != EXIT_SIGNAL + SIGINT)
		np_error("bpftrace ended by itself with status %d; its own message is above",
			 r.status);
	return NP_EXIT_FAIL;
}
