/* SPDX-License-Identifier: GPL-2.0-only */
/* Selects tasks by other criteria than their process ids. */
#ifndef NUMAPLACE_SELECT_ARGS_H
#define NUMAPLACE_SELECT_ARGS_H

#include "../lib/host/exclude.h"
#include "cmd_args.h"

/* clang-format off */
#define NP_EXCLUDE_OPTION \
	{ "exclude", NP_KEY_EXCLUDE, "PATTERN|PID", 0, "Leave out this process, or those with such a " \
	  "name, as in \"redis*\"; may be repeated", 0 }

#define NP_SELECT_OPTIONS \
	{ "all", NP_KEY_ALL, NULL, 0, "Every task that may be read", 0 }, \
	NP_UNIT_OPTION, \
	{ "user", NP_KEY_USER, "NAME|UID", 0, "Of those, or of every task, only this user's", 0 }, \
	{ "command", 'c', "TEXT", 0, "Of those, or of every task, only those whose name holds TEXT, " \
	  "or is like a pattern with *, ? or [..]", 0 }, \
	NP_EXCLUDE_OPTION
/* clang-format on */

struct np_select {
	bool all;
	const char *user, *command;
	struct np_words exclude;
};

/* For a command's parser: as argp's, ARGP_ERR_UNKNOWN for a key that is not above. */
int np_select_parse(int key, const char *arg, struct np_select *s);
void np_select_free(struct np_select *s);

/* Whether tasks are selected by anything but their process ids. */
bool np_select_given(const struct np_select *s);

struct np_exclude np_select_exclude(const struct np_select *s);

/*
 * Adds the tasks that are selected to the pids and takes out those that are not;
 * those of a cgroup or unit, grouped, are there already. NP_EXIT_OK, or an exit status after printing why.
 */
int np_select_resolve(const struct np_select *s, bool grouped, struct np_pids *pids);

#endif
