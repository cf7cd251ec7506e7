// SPDX-License-Identifier: GPL-2.0-only
#include "select_args.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/host/proc.h"

int np_select_parse(int key, const char *arg, struct np_select *s)
{
	switch (key) {
	case NP_KEY_ALL:
		s->all = true;
		return 0;
	case NP_KEY_USER:
		s->user = arg;
		return 0;
	case 'c':
		s->command = arg;
		return 0;
	case NP_KEY_EXCLUDE:
		return np_words_add(&s->exclude, arg);
	}
	return ARGP_ERR_UNKNOWN;
}

void np_select_free(struct np_select *s)
{
	free(s->exclude.word);
}

bool np_select_given(const struct np_select *s)
{
	return s->all || s->user || s->command;
}

struct np_exclude np_select_exclude(const struct np_select *s)
{
	return (struct np_exclude) { s->exclude.word, s->exclude.n };
}

static int add_pids(struct np_pids *to, const pid_t *pid, size_t n)
{
	int e = 0;

	for (size_t i = 0; !e && i < n; i++)
		e = -np_pids_add(to, pid[i]);
	return e;
}

static int add_all(struct np_pids *pids, struct np_err *err)
{
	pid_t *found;
	size_t n;
	int e = np_proc_all(&found, &n);

	if (e)
		return np_fail(err, e, "/proc cannot be read: %s", strerror(-e));
	e = add_pids(pids, found, n);
	free(found);
	return e ? np_fail(err, e, "out of memory") : 0;
}

/* False when there is no such user. */
static bool find_user(const char *text, uid_t *uid)
{
	const struct passwd *user = getpwnam(text);
	char *end;

	*uid = user ? user->pw_uid : (uid_t)strtoul(text, &end, 10);
	return user || (text[0] >= '0' && text[0] <= '9' && !*end);
}

/* Whether the process is of this user; false when it has just exited. */
static bool owned_by(pid_t pid, uid_t uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !stat(path, &st) && st.st_uid == uid;
}

static bool is_wanted(const struct np_select *s, pid_t pid, uid_t uid)
{
	const struct np_exclude exclude = np_select_exclude(s);
	struct np_proc_stat st;

	if (s->user && !owned_by(pid, uid))
		return false;
	if (!s->command && !exclude.n)
		return true;
	if (np_proc_stat(pid, &st)) /* one that was named is an error later */
		return !s->command;
	return (!s->command || np_name_matches(s->command, st.comm)) &&
	       !np_excluded(&exclude, pid, st.comm);
}

static void keep_wanted(const struct np_select *s, uid_t uid, struct np_pids *pids)
{
	size_t kept = 0;

	for (size_t i = 0; i < pids->n; i++) {
		bool twice = false;

		for (size_t k = 0; k < kept && !s->all; k++)
			twice |= pids->pid[k] == pids->pid[i];
		if (!twice && pids->pid[i] != getpid() && is_wanted(s, pids->pid[i], uid))
			pids->pid[kept++] = pids->pid[i];
	}
	pids->n = kept;
}

int np_select_resolve(const struct np_select *s, bool grouped, struct np_pids *pids)
{
	bool filters = s->user || s->command, from = grouped || pids->n;
	struct np_err err;
	uid_t uid = 0;
	int e = 0;

	if (!np_select_given(s) && !s->exclude.n)
		return NP_EXIT_OK;
	if (s->all && from)
		return np_usage("--all has every task; leave process ids, --cgroup and --unit out");
	if (s->user && !find_user(s->user, &uid))
		return np_usage("no user \"%s\"; `getent passwd` lists them", s->user);
	if (s->all || (filters && !from))
		e = add_all(pids, &err);
	if (e)
		np_error("%s", err.text);
	else
		keep_wanted(s, uid, pids);
	return np_engine_exit(e);
}
