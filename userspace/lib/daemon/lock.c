// SPDX-License-Identifier: GPL-2.0-only
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../base/error.h"
#include "../host/proc.h"
#include "../undo/state_file.h"

static int say_holder(const char *path, struct np_err *err)
{
	char *text = np_read_file(path);
	pid_t pid = text ? (pid_t)atoi(text) : 0;
	struct np_proc_stat st = { .comm = "unknown" };

	free(text);
	if (pid > 0)
		np_proc_stat(pid, &st);
	return np_fail(err, -EBUSY,
		       "process %d (%s) is the daemon already and holds %s: one a "
		       "machine; stop it (`kill %d`) or give it other options",
		       pid, st.comm, path, pid);
}

int np_daemon_lock(struct np_err *err)
{
	char folder[PATH_MAX - 64], path[PATH_MAX], pid[16];
	int e = np_state_folder(folder, sizeof(folder), err), fd;

	if (e)
		return e;
	snprintf(path, sizeof(path), "%s/daemon.lock", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return np_fail(err, -errno, "%s cannot be opened: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		e = errno == EWOULDBLOCK ?
			    say_holder(path, err) :
			    np_fail(err, -errno, "%s cannot be locked: %s", path, strerror(errno));
		close(fd);
		return e;
	}
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(fd, 0) || pwrite(fd, pid, strlen(pid), 0) < 0) {
		close(fd);
		return np_fail(err, -errno, "%s cannot be written: %s", path, strerror(errno));
	}
	return fd;
}
