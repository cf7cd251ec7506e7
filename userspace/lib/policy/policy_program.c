// SPDX-License-Identifier: GPL-2.0-only
#include "policy_program.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>

#include "../base/run_program.h"
#include "../files/policy_input.h"
#include "decisions.h"
#include "policy_plugin.h"
#include "program_about.h"

/* Of its answer. As JSON values a text takes some twenty times its bytes, of a daemon's memory too. */
#define BYTES	       (256 << 10)
#define BYTES_PER_TASK 4096
#define WHAT_LEN       100

/* The loaded programs, which stay loaded. */
static struct program {
	struct np_policy policy;
	struct np_program_about about;
	char *name, *path;
	struct program *next;
} *all_loaded;

static struct np_run_limits limits = { .seconds = NP_POLICY_TIMEOUT };

void np_policy_timeout(double seconds)
{
	limits.seconds = seconds;
}

void np_policy_stop(const volatile sig_atomic_t *stop)
{
	limits.stop = stop;
}

/* "policy exec:./p.py"; of a long path the end. */
static const char *what_of(const struct program *g, char *what)
{
	size_t n = strlen(g->name);

	snprintf(what, WHAT_LEN, "policy %s%s", n > WHAT_LEN - 12 ? ".." : "",
		 g->name + (n > WHAT_LEN - 12 ? n - (WHAT_LEN - 12) : 0));
	return what;
}

static json_t *question_of(const struct program *g, const struct np_machine *m,
			   const struct np_task *tasks, const struct np_options *o,
			   const struct np_plan *plan)
{
	json_t *machine = np_json_machine(m), *list = json_array();

	json_object_set_new(machine, "model", np_json_model(m));
	for (size_t i = 0; i < plan->n; i++) {
		json_t *task = np_json_task(m, &tasks[i]);

		np_json_add_limits(task, m, &tasks[i]);
		json_array_append_new(list, task);
	}
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", NP_QUESTION_VERSION, "machine",
			 machine, "tasks", list, "options", np_json_options(&g->policy, o),
			 "decisions", np_decisions_undecided(m, tasks, plan));
}

/* About n tasks. *answer is an object, the caller's to release. */
static int converse(const struct program *g, const char *question, size_t n, json_t **answer,
		    struct np_err *err)
{
	struct np_run_limits bounded = limits;
	char what[WHAT_LEN], *text;
	struct np_err why;
	json_error_t at;
	size_t len;
	int e;

	bounded.bytes = BYTES + n * BYTES_PER_TASK;
	e = np_run_program(g->path, question, strlen(question), &bounded, &text, &len, &why);
	*answer = NULL;
	what_of(g, what);
	if (e)
		return np_fail(err, -EREMOTEIO, "%s %.150s", what, why.text);
	*answer = json_loadb(text, len, JSON_REJECT_DUPLICATES, &at);
	free(text);
	if (!*answer)
		return np_fail(err, -EREMOTEIO,
			       "%s answered what is not JSON: line %d, column %d: %.90s", what,
			       at.line, at.column, at.text);
	if (json_is_object(*answer))
		return 0;
	json_decref(*answer);
	*answer = NULL;
	return np_fail(err, -EREMOTEIO, "%s answered JSON that is not an object with decisions",
		       what);
}

static int read_least_gain(const struct program *g, const json_t *answer, struct np_plan *out,
			   struct np_err *err)
{
	const json_t *j = json_object_get(answer, "least_gain");
	char what[WHAT_LEN];

	out->least_gain = json_number_value(j);
	if (!j || (json_is_number(j) && out->least_gain >= 0 && isfinite(out->least_gain)))
		return 0;
	return np_fail(err, -EREMOTEIO, "%s: least_gain is not a number from 0 up, such as 1.05",
		       what_of(g, what));
}

static int ask(const struct np_policy *self, const struct np_machine *m,
	       const struct np_task *tasks, size_t n, const struct np_options *o,
	       struct np_plan *out)
{
	const struct program *g = (const void *)((const char *)self -
						 offsetof(struct program, policy));
	json_t *question = question_of(g, m, tasks, o, out), *answer = NULL;
	char *text = question ? json_dumps(question, JSON_COMPACT) : NULL, what[WHAT_LEN];
	struct np_decisions_from from = { .what = what_of(g, what), .limited = true };
	struct np_err err = { "" };
	int e = text && out->n == n ? converse(g, text, n, &answer, &err) : -ENOMEM;

	if (!e && np_decisions_read(&from, answer, m, tasks, out, &err))
		e = -EREMOTEIO;
	if (!e)
		e = read_least_gain(g, answer, out, &err);
	snprintf(out->fault, sizeof(out->fault), "%s", err.text);
	json_decref(answer);
	json_decref(question);
	free(text);
	return e;
}

/* A machine for the question without a task. */
static json_t *ask_about(const struct program *g, struct np_err *err)
{
	static struct np_node node[2] = {
		{ .id = 0,
		  .cpus = 1,
		  .has_memory = true,
		  .mem_total = 1 << 30,
		  .mem_free = 1 << 30 },
		{ .id = 1,
		  .cpus = 1,
		  .has_memory = true,
		  .mem_total = 1 << 30,
		  .mem_free = 1 << 30 },
	};
	static int distance[4] = { 10, 20, 20, 10 }, cpu_node[2] = { 0, 1 };
	static const struct np_machine m = {
		.name = "none",
		.n_nodes = 2,
		.node = node,
		.distance = distance,
		.n_cpus = 2,
		.cpu_node = cpu_node,
		.page_size = 4096,
	};
	const struct np_options none = { { 0 } };
	const struct np_plan plan = { .n = 0 };
	json_t *question = question_of(g, &m, NULL, &none, &plan), *answer = NULL;
	char *text = question ? json_dumps(question, JSON_COMPACT) : NULL;

	if (!text)
		np_fail(err, 0, "out of memory");
	else
		converse(g, text, 0, &answer, err);
	json_decref(question);
	free(text);
	return answer;
}

static void release(struct program *g)
{
	np_program_about_free(&g->about);
	free(g->name);
	free(g->path);
	free(g);
}

static struct program *open_program(const char *name, const char *path, struct np_err *err)
{
	struct program *g = calloc(1, sizeof(*g));
	char whole[PATH_MAX];

	if (g)
		g->name = strdup(name);
	if (!g || !g->name) {
		free(g);
		np_fail(err, 0, "out of memory");
		return NULL;
	}
	/* The folder that it is named from may change until it is asked. */
	if (realpath(path, whole))
		g->path = strdup(whole);
	else
		np_fail(err, 0, "policy %.140s cannot be started: %s", name, strerror(errno));
	g->policy = (struct np_policy) {
		.name = g->name,
		.summary = "a program",
		.origin = "program",
		.needs = "it does not say",
		.plan_as = ask,
	};
	if (g->path)
		return g;
	release(g);
	return NULL;
}

static int learn(struct program *g, struct np_err *err)
{
	char what[WHAT_LEN];
	json_t *answer = ask_about(g, err);
	int e;

	if (!answer)
		return -EREMOTEIO;
	e = np_program_about_read(&g->about, json_object_get(answer, "about"), &g->policy,
				  what_of(g, what), err);
	json_decref(answer);
	return e ? e : np_policy_check(g->name, &g->policy, err);
}

const struct np_policy *np_program_load(const char *name, const char *path, struct np_err *err)
{
	struct program *g = all_loaded;

	while (g && strcmp(g->name, name))
		g = g->next;
	if (g)
		return &g->policy;
	g = open_program(name, path, err);
	if (!g)
		return NULL;
	if (learn(g, err)) {
		release(g);
		return NULL;
	}
	g->next = all_loaded;
	all_loaded = g;
	return &g->policy;
}
