// SPDX-License-Identifier: GPL-2.0-only
/* The key of a task among penalties: its program, and the service that it belongs to. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../host/cgroup.h"
#include "penalty.h"

/* As a machine file can hold it: TOML is UTF-8, and names may be any bytes. */
static void plain(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '_';
}

static void set(char *field, size_t len, const char *text)
{
	size_t n = strnlen(text, len - 1);

	memcpy(field, text, n);
	field[n] = '\0';
	plain(field);
}

static bool ends(const char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	return n >= len && !strcmp(text + n - len, end);
}

void np_penalty_key_unit(const char *cgroup, char *unit, size_t len)
{
	const char *slash = strrchr(cgroup, '/'), *last = slash ? slash + 1 : cgroup;

	/* A scope has another name each time. */
	if (!*last || ends(last, ".scope"))
		cgroup = "";
	else if (ends(last, ".service"))
		cgroup = last;
	set(unit, len, cgroup);
}

void np_penalty_key_program(const char *exe, struct np_penalty_key *key)
{
	set(key->exe, sizeof(key->exe), exe);
}

void np_penalty_key_of(pid_t pid, const char *comm, struct np_penalty_key *key)
{
	char path[64], exe[PATH_MAX], cgroup[PATH_MAX];
	ssize_t n;

	*key = (struct np_penalty_key) { 0 };
	set(key->name, sizeof(key->name), comm);
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	if (ends(exe, " (deleted)")) /* replaced since, by an update */
		exe[n - (ssize_t)strlen(" (deleted)")] = '\0';
	np_penalty_key_program(exe, key);
	if (np_cgroup_of_pid(pid, "", cgroup, sizeof(cgroup)))
		np_penalty_key_unit(cgroup, key->unit, sizeof(key->unit));
}

bool np_penalty_key_same(const struct np_penalty_key *a, const struct np_penalty_key *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->exe, b->exe) && !strcmp(a->unit, b->unit);
}

enum np_penalty_match np_penalty_key_match(const struct np_penalty_key *known,
					   const struct np_penalty_key *task)
{
	if (!known->exe[0] || !task->exe[0])
		return strcmp(known->name, task->name) ? NP_MATCH_NONE : NP_MATCH_NAME;
	if (strcmp(known->exe, task->exe))
		return NP_MATCH_NONE;
	if (!known->unit[0])
		return NP_MATCH_PROGRAM;
	return strcmp(known->unit, task->unit) ? NP_MATCH_NONE : NP_MATCH_UNIT;
}
