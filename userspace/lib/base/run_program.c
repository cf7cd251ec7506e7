// SPDX-License-Identifier: GPL-2.0-only
#include "run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"
#include "printable.h"

#define CHUNK	 65536
#define CHUNKS	 32   /* at a time: what a pipe can hold, and no more from one that never ends */
#define SLICE_MS 100  /* how soon a stop, or an end that its pipes do not tell, is seen */
#define TAIL	 1024 /* bytes kept of its standard error */

enum { OUTPUT, ERRORS, REPORT, PIPES };

struct run {
	const struct np_run_limits *limits;
	pid_t pid;
	int input, end[PIPES][2]; /* read here, written there; -1: closed */
	char *text;
	size_t len;
	char tail[TAIL + 1];
	size_t tail_len;
	struct np_err *err;
};

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the child: never returns. Only what is safe between fork and exec of a program with threads.
 */
static _Noreturn void become(const char *path, const struct run *r, pid_t caller)
{
	int from[3] = { r->input, r->end[OUTPUT][1], r->end[ERRORS][1] }, e;
	int report = fcntl(r->end[REPORT][1], F_DUPFD_CLOEXEC, 3);
	char *const argv[] = { (char *)path, NULL };
	/* The kernel's struct: signal() refuses those that the C library keeps to itself, 32 and 33. */
	const struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} by_default = { 0 };
	sigset_t none;

	setpgid(0, 0);
	/* Ctrl-C kills a caller that does not catch it, and reaches no other group. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != caller)
		_exit(126);
	for (int number = 1; number < NSIG; number++)
		syscall(SYS_rt_sigaction, number, &by_default, NULL, sizeof(by_default.mask));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Any of them may be 0, 1 or 2 where the caller has closed its own. */
	for (int fd = 0; fd < 3; fd++)
		from[fd] = fcntl(from[fd], F_DUPFD_CLOEXEC, 3);
	for (int fd = 0; fd < 3; fd++)
		dup2(from[fd], fd);
	close_range(3, UINT32_MAX, CLOSE_RANGE_CLOEXEC);
	execv(path, argv);
	e = errno;
	if (write(report, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

/* The text as a file without a name. */
static int open_input(const char *text, size_t len)
{
	int fd = memfd_create("question", MFD_CLOEXEC);

	while (fd >= 0 && len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			close(fd);
			return -1;
		}
		text += n;
		len -= (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static int not_started(const struct run *r, const char *path, int e)
{
	const char *hint = e == EACCES ?
				   "; `chmod +x` makes a file executable" :
			   e == ENOEXEC ?
				   "; its first line must name its interpreter, such as "
				   "#!/usr/bin/env python3" :
			   e == ENOENT && !access(path, F_OK) ?
				   "; the interpreter that its first line names is not there" :
				   "";

	return np_fail(r->err, -e, "cannot be started: %s%s", strerror(e), hint);
}

static int start(struct run *r, const char *path)
{
	pid_t caller = getpid();
	int e = 0;
	ssize_t n;

	for (int i = 0; i < PIPES; i++)
		if (pipe2(r->end[i], O_CLOEXEC))
			return not_started(r, path, errno);
	r->pid = fork();
	if (r->pid < 0)
		return not_started(r, path, errno);
	if (!r->pid)
		become(path, r, caller);
	setpgid(r->pid, r->pid); /* here and in the child: killed as a group */
	for (int i = 0; i < PIPES; i++)
		close_end(&r->end[i][1]);
	do
		n = read(r->end[REPORT][0], &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close_end(&r->end[REPORT][0]);
	if (n > 0)
		return not_started(r, path, e);
	fcntl(r->end[OUTPUT][0], F_SETFL, O_NONBLOCK);
	fcntl(r->end[ERRORS][0], F_SETFL, O_NONBLOCK);
	return 0;
}

/* Keeps the end of its standard error. */
static void keep_tail(struct run *r, const char *text, size_t len)
{
	size_t kept, drop;

	if (len > TAIL) {
		text += len - TAIL;
		len = TAIL;
	}
	drop = r->tail_len + len > TAIL ? r->tail_len + len - TAIL : 0;
	kept = r->tail_len - drop;
	memmove(r->tail, r->tail + drop, kept);
	memcpy(r->tail + kept, text, len);
	r->tail_len = kept + len;
	r->tail[r->tail_len] = '\0';
}

static int keep_text(struct run *r, const char *text, size_t len)
{
	char *bigger;

	if (r->len + len > r->limits->bytes)
		return np_fail(r->err, -E2BIG, "answered more than %zu KiB",
			       r->limits->bytes >> 10);
	bigger = realloc(r->text, r->len + len + 1);
	if (!bigger)
		return np_fail(r->err, -ENOMEM, "out of memory");
	r->text = bigger;
	memcpy(r->text + r->len, text, len);
	r->len += len;
	r->text[r->len] = '\0';
	return 0;
}

/* Reads the data that one of its pipes has now. */
static int take(struct run *r, int which)
{
	int *fd = &r->end[which][0], e = 0;
	char chunk[CHUNK];

	for (int i = 0; i < CHUNKS && !e && *fd >= 0; i++) {
		ssize_t n = read(*fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0)
			close_end(fd);
		else if (which == ERRORS)
			keep_tail(r, chunk, (size_t)n);
		else
			e = keep_text(r, chunk, (size_t)n);
	}
	return e;
}

/* The last line of its standard error, to follow ": "; "" when there is none. */
static const char *last_line(struct run *r)
{
	char *line;

	while (r->tail_len && strchr("\n\r \t", r->tail[r->tail_len - 1]))
		r->tail[--r->tail_len] = '\0';
	line = strrchr(r->tail, '\n');
	line = line ? line + 1 : r->tail;
	np_printable(line);
	return line;
}

static bool has_exited(const struct run *r)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/* Waits until it has ended, the time is up or stop is set. */
static int attend(struct run *r)
{
	double end = np_clock(CLOCK_MONOTONIC) + r->limits->seconds;
	int e = 0;

	while (!e && !has_exited(r)) {
		struct pollfd fd[2] = { { r->end[OUTPUT][0], POLLIN, 0 },
					{ r->end[ERRORS][0], POLLIN, 0 } };
		double left = (end - np_clock(CLOCK_MONOTONIC)) * 1000;
		int slice = fd[0].fd < 0 && fd[1].fd < 0 ? 1 : SLICE_MS;

		if (r->limits->stop && *r->limits->stop)
			return np_fail(r->err, -EINTR, "was ended by a signal to numaplace");
		if (left <= 0)
			return np_fail(r->err, -ETIMEDOUT,
				       "gave no answer within %g s and was "
				       "killed; --policy-timeout gives it more time",
				       r->limits->seconds);
		poll(fd, 2, left < slice ? (int)left + 1 : slice);
		e = take(r, OUTPUT);
		if (!e)
			e = take(r, ERRORS);
	}
	if (!e)
		e = take(r, OUTPUT);
	return e ? e : take(r, ERRORS);
}

/* Kills its group, and itself where it has left that, before its pid can be reused. Returns how it
 * ended. */
static int reap(struct run *r)
{
	int status = 0;

	kill(-r->pid, SIGKILL);
	kill(r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int judge(struct run *r, int status)
{
	const char *line = last_line(r), *colon = *line ? ": " : "";

	if (WIFSIGNALED(status))
		return np_fail(r->err, -EREMOTEIO, "was killed by signal %d (%s)%s%s",
			       WTERMSIG(status), strsignal(WTERMSIG(status)), colon, line);
	if (WEXITSTATUS(status))
		return np_fail(r->err, -EREMOTEIO, "ended with status %d%s%s", WEXITSTATUS(status),
			       *line ? colon : " and nothing on standard error", line);
	if (!r->len)
		return np_fail(r->err, -EREMOTEIO, "answered nothing on standard output");
	return 0;
}

int np_run_program(const char *path, const char *text, size_t len,
		   const struct np_run_limits *limits, char **out, size_t *out_len,
		   struct np_err *err)
{
	struct run r = { .limits = limits, .pid = -1, .err = err };
	int e, status;

	for (int i = 0; i < PIPES; i++)
		r.end[i][0] = r.end[i][1] = -1;
	r.input = open_input(text, len);
	e = r.input < 0 ? not_started(&r, path, errno) : start(&r, path);
	if (!e)
		e = attend(&r);
	status = r.pid > 0 ? reap(&r) : 0;
	if (!e)
		e = judge(&r, status);
	close_end(&r.input);
	for (int i = 0; i < PIPES; i++) {
		close_end(&r.end[i][0]);
		close_end(&r.end[i][1]);
	}
	if (e)
		free(r.text);
	*out = e ? NULL : r.text;
	*out_len = e ? 0 : r.len;
	return e;
}
