// SPDX-License-Identifier: GPL-2.0-only
/* The picture of predictions is drawn by matplotlib. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/error.h"
#include "report.h"

/* numaplace-draw, which `make` puts beside the program. */
static const char *drawing_program(char *path, size_t len)
{
	ssize_t n = readlink("/proc/self/exe", path, len - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash || slash + sizeof("/numaplace-draw") > path + len)
		return NULL;
	strcpy(slash, "/numaplace-draw");
	return access(path, X_OK) ? NULL : path;
}

int np_prediction_draw(json_t *json, const char *file, struct np_err *err)
{
	char program[PATH_MAX];
	int status, fd[2];
	void (*before)(int);
	FILE *to;
	pid_t child;

	if (!drawing_program(program, sizeof(program)))
		return np_fail(err, -ENOENT,
			       "%s cannot be drawn: numaplace-draw is not "
			       "beside this program; `make` builds it",
			       file);
	if (pipe(fd))
		return np_fail(err, -errno, "%s cannot be drawn: %s", file, strerror(errno));
	child = fork();
	if (!child) {
		dup2(fd[0], STDIN_FILENO);
		close(fd[0]);
		close(fd[1]);
		execl(program, program, file, NULL);
		_exit(127);
	}
	close(fd[0]);
	/* A program that ended before it read everything has a status that tells it. */
	before = signal(SIGPIPE, SIG_IGN);
	to = fdopen(fd[1], "w");
	if (to) {
		json_dumpf(json, to, 0);
		fclose(to);
	}
	signal(SIGPIPE, before);
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return np_fail(err, -EIO, "%s was not drawn", file);
	return 0;
}
