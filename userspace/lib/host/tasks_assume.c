// SPDX-License-Identifier: GPL-2.0-only
/* Inputs of a task that the user declares. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/error.h"
#include "tasks.h"

/* A number from low up that ends at the end of the text. */
static bool parse_number(const char *text, double low, double *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*value = strtod(text, &end);
	return end != text && *end == '\0' && *value >= low && *value < 1e9;
}

struct assumption {
	double pid, penalty, mpki; /* negative: not said; no pid: of every task */
};

static bool parse_assumption(char *words, struct assumption *a)
{
	char *save, *word;

	for (word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		bool ok = false;

		if (!strncmp(word, "pid=", 4))
			ok = parse_number(word + 4, 1, &a->pid) && a->pid == (double)(pid_t)a->pid;
		else if (!strncmp(word, "penalty=", 8))
			ok = parse_number(word + 8, 1, &a->penalty);
		else if (!strncmp(word, "mpki=", 5))
			ok = parse_number(word + 5, 0, &a->mpki);
		if (!ok)
			return false;
	}
	return a->penalty >= 0 || a->mpki >= 0;
}

static void declare(struct np_task *task, const struct assumption *a)
{
	if (a->penalty >= 0) {
		task->penalty = a->penalty;
		task->penalty_source = NP_PROVENANCE_DECLARED;
		task->penalty_distance = 0; /* not that of what was measured */
	}
	if (a->mpki >= 0) {
		task->mpki = a->mpki;
		task->mpki_source = NP_PROVENANCE_DECLARED;
	}
}

int np_tasks_assume(struct np_tasks *t, const char *text, struct np_err *err)
{
	struct assumption a = { -1, -1, -1 };
	char *words = strdup(text);
	bool ok = words && parse_assumption(words, &a), found = a.pid < 0;

	free(words);
	if (!ok)
		return np_fail(err, -EINVAL,
			       "assumption \"%s\" is not [pid=N,]penalty=P,mpki=M "
			       "with P at least 1 and M at least 0",
			       text);
	for (size_t i = 0; i < t->n; i++) {
		if (a.pid >= 0 && t->task[i].pid != (pid_t)a.pid)
			continue;
		declare(&t->task[i], &a);
		found = true;
	}
	if (found)
		return 0;
	return np_fail(err, -ESRCH, "assumption \"%s\": process %d is not among the tasks given",
		       text, (pid_t)a.pid);
}
