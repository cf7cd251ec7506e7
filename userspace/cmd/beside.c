// SPDX-License-Identifier: GPL-2.0-only
#include "beside.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

bool np_beside_find(const char *name, char *path, size_t len)
{
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || strchr(name, '/'))
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	if ((size_t)snprintf(path, len, "%s/numaplace-%s", self, name) >= len)
		return false;
	return access(path, X_OK) == 0;
}

int np_beside_run(const char *name, const char *path, char **argv)
{
	char own[64];

	snprintf(own, sizeof(own), "numaplace-%s", name);
	argv[0] = own;
	execv(path, argv);
	return np_failed(NP_EXIT_FAIL, "%s cannot be run: %s", path, strerror(errno));
}
