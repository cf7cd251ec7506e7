// SPDX-License-Identifier: GPL-2.0-only
#include "kernel_headers.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static bool has_headers(const char *folder)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/include/linux/kconfig.h", folder);
	return !access(path, R_OK);
}

/* linux-headers-6.12.9-amd64 to linux-headers-6.12.9-common, which has to be there. */
static bool common_folder(const char *build, char *common, size_t size)
{
	const char *flavour = strrchr(build, '-');

	if (!flavour || strchr(flavour, '/'))
		return false;
	snprintf(common, size, "%.*s-common", (int)(flavour - build), build);
	return has_headers(common);
}

void np_kernel_headers_export(void)
{
	char link[PATH_MAX], build[PATH_MAX], common[PATH_MAX + 16];
	struct utsname kernel;

	uname(&kernel);
	snprintf(link, sizeof(link), "/lib/modules/%s/source", kernel.release);
	if (has_headers(link))
		return;
	snprintf(link, sizeof(link), "/lib/modules/%s/build", kernel.release);
	if (!realpath(link, build) || has_headers(build))
		return;
	if (!common_folder(build, common, sizeof(common)))
		return;
	setenv("BPFTRACE_KERNEL_BUILD", build, 0);
	setenv("BPFTRACE_KERNEL_SOURCE", common, 0);
}
