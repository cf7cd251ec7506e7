// SPDX-License-Identifier: GPL-2.0-only
#include "lock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "../undo/state_file.h"

int np_daemon_lock(struct np_err *err)
{
	char folder[PATH_MAX - 64], path[PATH_MAX];
	int e = np_state_folder(folder, sizeof(folder), err);
	struct np_proc_stat holder;

	if (e)
		return e;
	snprintf(path, sizeof(path), "%s/daemon.lock", folder);
	e = np_lock_file(path, 0, &holder, err);
	if (e != -EBUSY)
		return e;
	return np_fail(err, e,
		       "process %d (%s) is the daemon already and holds %s: one a "
		       "machine; stop it (`kill %d`) or give it other options",
		       holder.pid, holder.comm, path, holder.pid);
}
