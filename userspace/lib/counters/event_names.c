// SPDX-License-Identifier: GPL-2.0-only
/* Encodes the table's names by libpfm4, and finds this processor's row. */
#include "events.h"

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../host/proc.h"

/* Also the tables of other processors than this one's, for tests and documentation. */
static int library(void)
{
	static int result = -1;

	if (result < 0) {
		setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
		result = pfm_initialize();
	}
	return result;
}

int np_event_encode(const char *pmu, const char *name, struct perf_event_attr *attr,
		    struct np_err *err)
{
	char full[256];
	pfm_perf_encode_arg_t arg = { .attr = attr, .size = sizeof(arg) };
	int r = library();

	snprintf(full, sizeof(full), strstr(name, "::") ? "%.0s%s" : "%s::%s", pmu, name);
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	if (r == PFM_SUCCESS)
		r = pfm_get_os_event_encoding(full, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (r == PFM_SUCCESS)
		return 0;
	return np_fail(err, -EINVAL, "libpfm4 cannot encode %s: %s", full, pfm_strerror(r));
}

const struct np_uarch *np_uarch_find(const char *pmu)
{
	for (const struct np_uarch *u = np_uarchs; u->title; u++)
		if (u->pmu && !strcmp(u->pmu, pmu))
			return u;
	return NULL;
}

/* "GenuineIntel family 6 model 207". */
static void processor(char *text, size_t len)
{
	static const char *const key[] = { "vendor_id", "cpu family", "model" };
	char *info = np_read_file("/proc/cpuinfo"), value[3][32] = { "unknown", "?", "?" };

	for (size_t i = 0; info && i < 3; i++) {
		char pattern[32], *line = info;

		snprintf(pattern, sizeof(pattern), "%s\t", key[i]);
		while (line && strncmp(line, pattern, strlen(pattern)))
			line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
		if (line)
			sscanf(line, "%*[^:]: %31[^\n]", value[i]);
	}
	free(info);
	snprintf(text, len, "%s family %s model %s", value[0], value[1], value[2]);
}

const struct np_uarch *np_uarch_here(struct np_err *err)
{
	char name[128];
	int i;

	if (library() == PFM_SUCCESS) {
		pfm_for_all_pmus(i)
		{
			pfm_pmu_info_t pmu = { .size = sizeof(pmu) };
			const struct np_uarch *u;

			if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS || !pmu.is_present)
				continue;
			u = np_uarch_find(pmu.name);
			if (u)
				return u;
		}
	}
	processor(name, sizeof(name));
	np_fail(err, -EOPNOTSUPP,
		"no row of `numaplace counters --table` is for this processor, %s", name);
	return NULL;
}
