// SPDX-License-Identifier: GPL-2.0-only
#include "unit_cpuset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/run_program.h"

/* What a unit's name may consist of, which is also safe between a shell's quotes. */
#define NAME_CHARACTERS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789:-_.\\@"

bool np_unit_managed(void)
{
	return !access("/run/systemd/system", F_OK);
}

/* Runs one command line of systemctl, whose answer the caller frees. */
static int systemctl(const char *unit, const char *command, char **answer, struct np_err *err)
{
	const struct np_run_limits limits = { .seconds = 60, .bytes = 65536 };
	struct np_err why;
	size_t len;
	int e;

	if (!unit[0] || unit[strspn(unit, NAME_CHARACTERS)])
		return np_fail(err, -EINVAL, "\"%.100s\" is no name of a unit", unit);
	e = np_run_program("/bin/sh", command, strlen(command), &limits, answer, &len, &why);
	return e ? np_fail(err, e, "unit %.80s: systemctl %.150s", unit, why.text) : 0;
}

/* The value of "NAME=value\n" in text, or ""; the caller frees it. Ranges get commas. */
static char *value_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	char *value;

	at = at ? at + strlen(name) : "";
	value = strndup(at, strcspn(at, "\n"));
	for (char *c = value; c && *c; c++)
		if (*c == ' ')
			*c = ',';
	return value;
}

int np_unit_read(const char *unit, json_t **lists, char **cgroup, struct np_err *err)
{
	char command[512], *text, *cpus, *mems;
	int e;

	snprintf(command, sizeof(command),
		 "exec systemctl show -p ControlGroup,AllowedCPUs,AllowedMemoryNodes -- '%.255s'\n",
		 unit);
	e = systemctl(unit, command, &text, err);
	if (e)
		return e;
	cpus = value_of(text, "AllowedCPUs=");
	mems = value_of(text, "AllowedMemoryNodes=");
	*lists = json_pack("{s:s, s:s}", "cpus", cpus ? cpus : "", "mems", mems ? mems : "");
	if (cgroup)
		*cgroup = value_of(text, "ControlGroup=");
	free(cpus);
	free(mems);
	free(text);
	return 0;
}

/* " NAME=list", or "" where the key is missing; the caller frees it. */
static char *setting(const json_t *lists, const char *key, const char *name)
{
	const char *list = json_string_value(json_object_get(lists, key));
	char *text = NULL;

	if (!list)
		return strdup("");
	return asprintf(&text, " %s=%s", name, list) < 0 ? NULL : text;
}

int np_unit_write(const char *unit, const json_t *lists, struct np_err *err)
{
	char *cpus = setting(lists, "cpus", "AllowedCPUs"), *command = NULL, *answer;
	char *mems = setting(lists, "mems", "AllowedMemoryNodes");
	int e;

	/* What is run has to answer something. */
	if (!cpus || !mems ||
	    asprintf(&command, "systemctl set-property --runtime -- '%s'%s%s && echo set\n", unit,
		     cpus, mems) < 0)
		e = np_fail(err, -ENOMEM, "out of memory");
	else
		e = systemctl(unit, command, &answer, err);
	if (!e)
		free(answer);
	free(command);
	free(cpus);
	free(mems);
	return e;
}
