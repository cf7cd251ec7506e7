// SPDX-License-Identifier: GPL-2.0-only
/* Finds machine files: those that come with numaplace, and the one of this machine. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/error.h"
#include "../host/topology.h"
#include "machine_find.h"

#define FILE_HERE "/etc/numaplace/machine.toml"

/* Folder of the machine files: beside the sources, or below the prefix of `make install`. */
static const char *machines_folder(char *path, size_t len)
{
	static const char *const places[] = { "../experiments/lab/machines",
					      "../../experiments/lab/machines",
					      "../share/numaplace/machines" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; n > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		char *slash = strrchr(self, '/');

		snprintf(path, len, "%.*s/%s", (int)(slash - self), self, places[i]);
		if (!access(path, R_OK))
			return path;
	}
	return NULL;
}

int np_machine_file_find(const char *name, char *path, size_t len, struct np_err *err)
{
	char folder[PATH_MAX - 256];
	size_t n = strlen(name);

	if (strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".toml"))) {
		snprintf(path, len, "%s", name);
		return 0;
	}
	if (machines_folder(folder, sizeof(folder))) {
		snprintf(path, len, "%s/%s.toml", folder, name);
		if (!access(path, R_OK))
			return 0;
	}
	return np_fail(
		err, -ENOENT,
		"there is no machine '%s': numaplace lab list prints the names; or give a shape such as 2x2, or a .toml file",
		name);
}

const char *np_machine_file_named(void)
{
	const char *path = getenv("NUMAPLACE_MACHINE_FILE");

	return path && *path ? path : NULL;
}

int np_machine_file_here(const char *root, char *path, size_t len, struct np_err *err)
{
	const char *named = np_machine_file_named();

	/* The lab's machine has the /etc of the host, whose calibration is of another machine. */
	if (!named && np_machine_platform(root) != NP_PLATFORM_REAL)
		return 0;
	if (named)
		snprintf(path, len, "%s", named);
	else
		snprintf(path, len, "%s" FILE_HERE, root);
	if (!access(path, F_OK))
		return 1;
	if (!named && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	return np_fail(err, -errno, "the machine file %s%s cannot be read: %s", path,
		       named ? ", which NUMAPLACE_MACHINE_FILE names," : "", strerror(errno));
}
