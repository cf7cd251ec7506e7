// SPDX-License-Identifier: GPL-2.0-only
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"

/* As env(1) has it. */
enum { EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

static void be_quiet(void)
{
	int nowhere = open("/dev/null", O_WRONLY);

	if (nowhere >= 0)
		dup2(nowhere, STDOUT_FILENO);
}

/* In the child: never returns. Exits when the parent closes the socket without a word. */
static _Noreturn void become(char **command, const struct np_child_how *how, int go, int report)
{
	int e = how->prepare ? how->prepare(how->arg) : 0;
	char word;

	if (!e) {
		if (read(go, &word, 1) != 1)
			_exit(EXIT_CANNOT_RUN);
		if (how->mask)
			sigprocmask(SIG_SETMASK, how->mask, NULL);
		execvp(command[0], command);
		e = errno;
	}
	if (write(report, &e, sizeof(e)) < 0)
		_exit(EXIT_CANNOT_RUN);
	_exit(e == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

int np_child_start(struct np_child *c, char **command, const struct np_child_how *how)
{
	int go[2], report[2];

	*c = (struct np_child) { .pid = -1, .go = -1, .report = -1 };
	/* A socket: writing to a child that has exited must not raise SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go))
		return np_failed(NP_EXIT_FAIL, "no socket: %s", strerror(errno));
	if (pipe2(report, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return np_failed(NP_EXIT_FAIL, "no pipe: %s", strerror(errno));
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		if (how->quiet)
			be_quiet();
		become(command, how, go[0], report[1]);
	}
	close(go[0]);
	close(report[1]);
	c->go = go[1];
	c->report = report[0];
	if (c->pid > 0)
		return NP_EXIT_OK;
	np_error("%s cannot be started: %s", command[0], strerror(errno));
	np_child_end(c);
	return NP_EXIT_FAIL;
}

int np_child_go(struct np_child *c, char **command)
{
	int e = 0;
	bool refused;

	if (send(c->go, "", 1, MSG_NOSIGNAL) != 1)
		e = errno;
	refused = read(c->report, &e, sizeof(e)) > 0 || e;
	close(c->go);
	close(c->report);
	c->go = c->report = -1;
	if (!refused)
		return NP_EXIT_OK;
	if (e != ECANCELED)
		np_error("%s cannot be started: %s", command[0], strerror(e));
	np_child_end(c);
	return e == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

bool np_child_has_ended(struct np_child *c)
{
	siginfo_t info = { 0 };

	if (!c->ended && !waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	    info.si_pid == c->pid) {
		c->ended = true;
		c->status = info.si_code == CLD_EXITED ? info.si_status :
							 EXIT_SIGNAL + info.si_status;
	}
	return c->ended;
}

void np_child_end(struct np_child *c)
{
	if (c->go >= 0)
		close(c->go);
	if (c->report >= 0)
		close(c->report);
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	*c = (struct np_child) {
		.pid = -1, .go = -1, .report = -1, .ended = true, .status = c->status
	};
}
