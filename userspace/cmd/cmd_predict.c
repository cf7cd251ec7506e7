// SPDX-License-Identifier: GPL-2.0-only
/* predict: predictions for machines x task sets x policies. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/files/machine_file.h"
#include "../lib/files/snapshot.h"
#include "../lib/files/task_set.h"
#include "../lib/plan/request.h"
#include "../lib/policy/policy_name.h"
#include "../lib/predict/report.h"
#include "arg_units.h"
#include "policy_args.h"

#define MAX_TASKS    4
#define MAX_NODE_MIB (1 << 30)
#define N_SEARCHES   3

/* Free moves, any gain taken, and work for some 10,000 placements of four tasks. */
static const char *const search_options[] = { "search=all", "horizon=0", "hysteresis=0",
					      "effort=1.4" };

enum {
	KEY_MACHINE = NP_KEY_OWN,
	KEY_TASKS,
	KEY_RANDOM,
	KEY_SEED,
	KEY_MAX_TASKS,
	KEY_MEMORY,
	KEY_SNAPSHOT
};

struct args {
	struct np_words machines, tasks, snapshots, policies;
	unsigned long random, seed;
	unsigned long max_tasks; /* of a drawn set; 0: MAX_TASKS, or the CPUs where there are fewer */
	uint64_t memory;	 /* of a node, 0: as its file says */
	struct np_contender *contender;
	size_t n_contenders;
	struct np_prediction result;
};

static const struct argp_option options[] = {
	{ "machine", KEY_MACHINE, "NAME|SHAPE|FILE.toml", 0,
	  "A machine of the lab or any machine file; may be repeated", 0 },
	{ "tasks", KEY_TASKS, "FILE.toml", 0, "Tasks, described in a file; may be repeated", 0 },
	{ "snapshot", KEY_SNAPSHOT, "FILE", 0,
	  "Machine and tasks as `numaplace ps --json` printed them; may be repeated", 0 },
	{ "policy", 'p', "P[:O=V,..]", 0,
	  "A policy with its options, such as n-mass:pages=follow; may be repeated (every policy)",
	  0 },
	NP_POLICY_TIMEOUT_OPTION,
	{ "random", KEY_RANDOM, "N", 0,
	  "N task sets drawn at random for each machine, each policy "
	  "beside the best placement there is",
	  0 },
	{ "seed", KEY_SEED, "N", 0, "The first of the seeds that they are drawn with (1)", 0 },
	{ "max-tasks", KEY_MAX_TASKS, "N", 0, "Tasks in such a set at most (4)", 0 },
	{ "node-memory", KEY_MEMORY, "SIZE", 0,
	  "Take each node with memory as one of SIZE: files of the lab's machines have "
	  "less than the machines, for their boot, and random tasks grow with it",
	  0 },
	{ "json", 'j', NULL, 0, "Print one JSON object", 0 },
	{ 0 },
};

static error_t parse_memory(const char *text, uint64_t *bytes)
{
	double mib = 0;
	error_t e = np_arg_size(text, "--node-memory", MAX_NODE_MIB, &mib);

	*bytes = (uint64_t)(mib * (1 << 20));
	if (e || *bytes)
		return e;
	return np_failed(ECANCELED,
			 "--node-memory \"%s\" is none; leave it out to take each node as its file says",
			 text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	int e;

	switch (key) {
	case KEY_MACHINE:
		return np_words_add(&a->machines, arg);
	case KEY_TASKS:
		return np_words_add(&a->tasks, arg);
	case 'p':
		return np_words_add(&a->policies, arg);
	case NP_KEY_POLICY_TIMEOUT:
		return np_policy_timeout_parse(arg);
	case KEY_SNAPSHOT:
		return np_words_add(&a->snapshots, arg);
	case KEY_RANDOM:
		return np_arg_number(arg, "--random", 1000000, &a->random);
	case KEY_SEED:
		return np_arg_number(arg, "--seed", 4000000000, &a->seed);
	case KEY_MAX_TASKS:
		e = np_arg_number(arg, "--max-tasks", 1000, &a->max_tasks);
		return e || a->max_tasks ? e : np_failed(ECANCELED, "--max-tasks is at least 1");
	case KEY_MEMORY:
		return parse_memory(arg, &a->memory);
	case 'j':
		np_json = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Asks policies about described tasks on described machines and predicts by the "
	       "machine's contention model what each plan would bring. Touches nothing.\v"
	       "THROUGHPUT is the sum of the cores' speeds and SLOWEST the slowest task's, each "
	       "relative to the task alone on an idle machine with all its memory local. LOCALITY is the "
	       "share of the pages that are on the node of their task, PAGES are moved in TIME. These are "
	       "predictions of a model, not measurements. Where each task of a snapshot would go, "
	       "`numaplace plan --snapshot` says.",
};

static int add_contender(struct args *a, const char *words)
{
	struct np_contender *c = &a->contender[a->n_contenders++];
	struct np_err err;

	c->policy = np_policy_asked(words, &c->options, &err);
	if (!c->policy)
		return np_usage("predict: %s", err.text);
	if (np_options_get(c->policy, &c->options, "files") > 0)
		return np_usage(
			"predict: neither a task set nor a snapshot says which files its tasks map: leave out files=on");
	return NP_EXIT_OK;
}

static int resolve_policies(struct args *a)
{
	size_t n = a->policies.n;
	int status = NP_EXIT_OK;

	while (!a->policies.n && np_policies[n])
		n++;
	a->contender = calloc(n, sizeof(*a->contender));
	if (!a->contender)
		return np_failed(NP_EXIT_FAIL, "out of memory");
	for (size_t i = 0; i < n && !status; i++)
		status = add_contender(a,
				       a->policies.n ? a->policies.word[i] : np_policies[i]->name);
	return status;
}

static int failed(int e, const char *err)
{
	if (e == -ENOMEM)
		return np_failed(NP_EXIT_FAIL, "%s", err);
	return np_usage("predict: %s", err);
}

static void set_memory(struct np_machine *m, uint64_t bytes)
{
	for (size_t i = 0; bytes && i < m->n_nodes; i++)
		if (m->node[i].has_memory)
			m->node[i].mem_total = m->node[i].mem_free = bytes;
}

/* A machine whose file or snapshot has no model gets one from its distances. */
static int need_model(struct np_machine *m, struct np_model *room)
{
	char err[NP_ERR_LEN];

	if (m->model)
		return NP_EXIT_OK;
	if (np_request_derive_model(room, m, err, sizeof(err)))
		return np_usage("predict: machine %s: %s", m->name, err);
	m->model = room;
	m->model_origin = NP_MODEL_DERIVED;
	return NP_EXIT_OK;
}

/* An error of a policy program is not a result of the policy. */
static int failed_program(const struct np_outcome *o)
{
	return np_failed(NP_EXIT_FAIL, "%s", o->fault);
}

static int predict_case(struct args *a, const struct np_machine *m, struct np_tasks *t,
			const char *tasks)
{
	double *accesses;

	if (np_predict_counters(m, t, &accesses))
		return failed(-ENOMEM, "out of memory");
	for (size_t i = 0; i < a->n_contenders; i++) {
		struct np_outcome o = np_predict_policy(&a->contender[i], m, t);

		if (o.fault[0]) {
			free(accesses);
			return failed_program(&o);
		}
		if (np_prediction_add(&a->result, m, tasks, &a->contender[i], &o)) {
			free(accesses);
			return np_failed(NP_EXIT_FAIL, "out of memory");
		}
	}
	free(accesses);
	return NP_EXIT_OK;
}

static int predict_files(struct args *a, struct np_machine *m)
{
	struct np_err err;
	int status = NP_EXIT_OK;

	for (size_t i = 0; i < a->tasks.n && !status; i++) {
		struct np_tasks t;
		int e = np_task_set_read(a->tasks.word[i], m, &t, &err);

		if (e)
			return failed(e, err.text);
		np_tasks_take_memory(&t, m);
		status = predict_case(a, m, &t, a->tasks.word[i]);
		np_tasks_free(&t);
	}
	return status;
}

/* `measured`, trying all placements: pages split, else moved whole, else left where they are. */
static void prepare_searches(struct np_contender *search)
{
	static const char *const pages[N_SEARCHES] = { "pages=split", "pages=move", "pages=stay" };
	char err[NP_ERR_LEN];

	for (size_t i = 0; i < N_SEARCHES; i++) {
		search[i].policy = np_policy_find("measured");
		np_options_defaults(search[i].policy, &search[i].options);
		for (size_t k = 0; k < sizeof(search_options) / sizeof(search_options[0]); k++)
			np_options_set(search[i].policy, &search[i].options, search_options[k], err,
				       sizeof(err));
		np_options_set(search[i].policy, &search[i].options, pages[i], err, sizeof(err));
	}
}

/* The highest throughput of the widest search that is not too much; *whole: it was the widest. */
static double search(const struct np_contender *searches, const struct np_machine *m,
		     const struct np_tasks *t, bool *whole)
{
	struct np_outcome o = { .error = -EOPNOTSUPP };

	for (size_t i = 0; i < N_SEARCHES && o.error == -EOPNOTSUPP; i++) {
		o = np_predict_policy(&searches[i], m, t);
		*whole = !i && !o.error;
	}
	return o.throughput[1];
}

static int predict_set(struct args *a, const struct np_machine *m, struct np_tasks *t,
		       const struct np_contender *searches)
{
	struct np_outcome *o = calloc(a->n_contenders, sizeof(*o));
	double *accesses = NULL;
	const struct np_outcome *failed = NULL;
	bool whole, room = o && !np_predict_counters(m, t, &accesses);
	double best = search(searches, m, t, &whole);

	for (size_t i = 0; room && !failed && i < a->n_contenders; i++) {
		o[i] = np_predict_policy(&a->contender[i], m, t);
		failed = o[i].fault[0] ? &o[i] : NULL;
		best = fmax(best, o[i].throughput[1]);
	}
	for (size_t i = 0; room && !failed && i < a->n_contenders; i++) {
		struct np_score *s = np_prediction_score(&a->result, m, &a->contender[i]);

		room = s != NULL;
		if (room)
			np_score_add(s, &o[i], best, whole);
	}
	if (failed)
		failed_program(failed);
	else if (!room)
		np_error("out of memory");
	free(accesses);
	free(o);
	return room && !failed ? NP_EXIT_OK : NP_EXIT_FAIL;
}

static int predict_random(struct args *a, struct np_machine *m)
{
	struct np_contender searches[N_SEARCHES];
	unsigned int most = (unsigned int)a->max_tasks, cpus = 0;
	int status = NP_EXIT_OK;

	for (size_t i = 0; i < m->n_nodes; i++)
		cpus += m->node[i].cpus;
	if (a->random && most > cpus)
		return np_usage("predict: --max-tasks %u is more than the %u CPUs of machine %s",
				most, cpus, m->name);
	prepare_searches(searches);
	for (unsigned long i = 0; i < a->random && !status; i++) {
		struct np_tasks t;
		int e = np_task_set_random(a->seed + i, most ? most : MAX_TASKS, m, &t);

		if (e == -EINVAL)
			return np_usage("predict: machine %s has no CPUs or no memory", m->name);
		if (e)
			return failed(e, "out of memory");
		np_tasks_take_memory(&t, m);
		status = predict_set(a, m, &t, searches);
		np_tasks_free(&t);
	}
	return status;
}

static int predict_machines(struct args *a)
{
	struct np_err err;
	int status = NP_EXIT_OK;

	for (size_t i = 0; i < a->machines.n && !status; i++) {
		struct np_machine m;
		struct np_model model;
		int e = np_machine_file_read(a->machines.word[i], &m, &model, &err);

		if (e)
			return failed(e, err.text);
		set_memory(&m, a->memory);
		status = need_model(&m, &model);
		if (!status)
			status = predict_files(a, &m);
		if (!status)
			status = predict_random(a, &m);
		np_machine_free(&m);
	}
	return status;
}

static int predict_snapshots(struct args *a)
{
	struct np_err err;
	int status = NP_EXIT_OK;

	for (size_t i = 0; i < a->snapshots.n && !status; i++) {
		struct np_snapshot s;
		struct np_model model;
		int e = np_snapshot_read(a->snapshots.word[i], &s, &err);

		if (e)
			return failed(e, err.text);
		status = need_model(&s.machine, &model);
		if (!status)
			status = predict_case(a, &s.machine, &s.tasks, a->snapshots.word[i]);
		np_snapshot_free(&s);
	}
	return status;
}

static int check(const struct args *a)
{
	if (!a->machines.n && !a->snapshots.n)
		return np_usage(
			"predict: no --machine or --snapshot; numaplace lab list prints the machines");
	if (a->machines.n && !a->tasks.n && !a->random)
		return np_usage(
			"predict: no tasks for --machine; say --tasks FILE.toml or --random N; a snapshot has its own machine");
	if (!a->machines.n && (a->tasks.n || a->random))
		return np_usage("predict: --tasks and --random need a --machine");
	return NP_EXIT_OK;
}

static int report(const struct args *a)
{
	if (np_json)
		np_json_print(np_prediction_json(&a->result));
	else
		np_prediction_print(stdout, &a->result);
	return NP_EXIT_OK;
}

int cmd_predict(int argc, char **argv)
{
	struct args a = { .seed = 1 };
	int status = np_args(&argp, argc, argv, 0, &a);

	if (!status)
		status = check(&a);
	if (!status)
		status = resolve_policies(&a);
	if (!status)
		status = predict_machines(&a);
	if (!status)
		status = predict_snapshots(&a);
	if (!status)
		status = report(&a);
	np_prediction_free(&a.result);
	free(a.contender);
	free(a.machines.word);
	free(a.tasks.word);
	free(a.snapshots.word);
	free(a.policies.word);
	return status;
}
