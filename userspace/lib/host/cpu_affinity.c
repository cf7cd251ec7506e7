// SPDX-License-Identifier: GPL-2.0-only
#include "cpu_affinity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"
#include "proc.h"

int np_affinity_get(pid_t tid, struct bitmask *mask)
{
	static const char key[] = "\nCpus_allowed_list:";
	char path[64], *text, *line;
	int e = -EINVAL;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	text = np_read_file(path);
	if (!text)
		return errno == ENOENT ? -ESRCH : -errno;
	line = strstr(text, key);
	if (line) {
		line += strlen(key);
		line[strcspn(line, "\n")] = '\0';
		e = np_list_parse_kernel(line, mask);
	}
	free(text);
	return e;
}

int np_affinity_set(pid_t tid, const struct bitmask *mask)
{
	return numa_sched_setaffinity(tid, (struct bitmask *)mask) < 0 ? -errno : 0;
}
