// SPDX-License-Identifier: GPL-2.0-only
#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../policies/predict/derive_model.h"
#include "../engine/node_args.h"
#include "../files/machine_file.h"
#include "../files/penalty.h"
#include "../files/snapshot.h"
#include "../host/numa_balancing.h"
#include "../host/proc.h"
#include "../host/reclaimable.h"
#include "cpuset_limits.h"
#include "file_moves.h"

/* The busiest tasks, whose counts a plan rests on. */
#define COUNT_TASKS 64

int np_request_check_nodes(const struct np_machine *m, struct np_err *err)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		if (m->node[i].same_cpus)
			return np_fail(
				err, -EOPNOTSUPP,
				"machine %s: nodes %d and %d have the same CPUs, as with numa=fake: "
				"no task is on one of the two; place and migrate work, a plan needs "
				"nodes with CPUs of their own",
				m->name, m->node[m->node[i].same_cpus - 1].id, m->node[i].id);
	if (m->n_nodes > 1)
		return 0;
	return np_fail(err, -EOPNOTSUPP,
		       "machine %s has one node, so there is nowhere to move a task or a page; "
		       "`numaplace lab run --machine demo-2s -- COMMAND` boots one with two",
		       m->name);
}

static int read_tasks(struct np_request *p, const struct np_policy_args *args, struct np_err *err)
{
	int e = (args->skip_gone ? np_tasks_read_some : np_tasks_read)(&p->tasks, &p->machine,
								       args->pids, args->n_pids,
								       err);

	/* Without counters the policy takes unknown inputs from the machine description. */
	if (!e && args->sample_ms)
		np_tasks_watch(&p->tasks, &p->machine, COUNT_TASKS, args->sample_ms, err);
	if (!e)
		np_tasks_find_shared(&p->tasks, &p->machine);
	for (size_t i = 0; !e && i < args->n_assume; i++)
		e = np_tasks_assume(&p->tasks, args->assume[i], err);
	if (!e && np_penalties_apply(&p->tasks, err))
		e = -EBADMSG;
	if (!e && np_request_count_files(p))
		e = np_fail(err, -ENOMEM, "out of memory");
	if (!e)
		e = np_request_limit(p, args->override, err);
	return e;
}

static bool counts_files(const struct np_request *p)
{
	return np_options_get(p->policy, &p->options, "files") > 0;
}

int np_request_count_files(struct np_request *p)
{
	size_t nodes = p->machine.n_nodes, all = p->tasks.n * nodes;
	uint64_t *pages, *shm;

	if (!counts_files(p))
		return 0;
	free(p->with_files);
	p->with_files = pages = calloc(2 * all + 1, sizeof(*pages));
	if (!pages)
		return -ENOMEM;
	shm = pages + all;
	for (size_t i = 0; i < all; i++) {
		pages[i] = p->tasks.pages[i] + p->tasks.file_pages[i];
		shm[i] = p->tasks.shm_pages[i] + p->tasks.file_pages[i];
	}
	for (size_t i = 0; i < p->tasks.n; i++) {
		p->tasks.task[i].pages = pages + i * nodes;
		p->tasks.task[i].shm_pages = shm + i * nodes;
	}
	return 0;
}

int np_request_plan_files(struct np_request *p, struct np_err *err)
{
	const struct np_file_plan from = { &p->machine, &p->tasks, &p->plan, p->override };

	if (!counts_files(p))
		return 0;
	p->files = calloc(1, sizeof(*p->files));
	if (!p->files)
		return np_fail(err, -ENOMEM, "out of memory");
	return np_file_moves_plan(p->files, &from, err);
}

/* Places on p->nodes only. One of them has CPUs and memory. */
static int limit_to_nodes(struct np_request *p, struct np_err *err)
{
	struct np_node_args s;
	struct bitmask *nodes;
	bool any = false;
	int e;

	if (!p->nodes[0])
		return 0;
	np_node_args_open(&s, &p->machine);
	nodes = np_list_parse(p->nodes, &s.node, err);
	np_node_args_close(&s);
	if (!nodes)
		return -EINVAL;
	for (size_t cpu = 0; cpu < p->machine.n_cpus; cpu++) {
		int node = p->machine.cpu_node[cpu];

		any |= node != NP_NODE_NONE && p->machine.node[node].mem_total &&
		       numa_bitmask_isbitset(nodes, (unsigned int)p->machine.node[node].id);
	}
	e = any ? np_task_limits_keep_nodes(&p->limits, &p->machine, &p->tasks, nodes) : -EINVAL;
	numa_bitmask_free(nodes);
	return !any ? np_fail(err, e,
			      "--nodes %s: none of them has CPUs and memory; add one that has",
			      p->nodes) :
	       e    ? np_fail(err, e, "out of memory") :
		      0;
}

int np_request_limit(struct np_request *p, bool override, struct np_err *err)
{
	struct np_reserved *reserved = override ? NULL : np_reserved_open("");
	int e = override || reserved ? 0 : -ENOMEM;

	p->override = override;
	if (!e)
		e = np_task_limits_read(&p->limits, &p->machine, &p->tasks, NULL, reserved);
	if (reserved) {
		np_reserved_subtract(reserved, &p->machine);
		if (numa_bitmask_weight(np_reserved_isolated(reserved)))
			np_list_format(np_reserved_isolated(reserved), p->isolated,
				       sizeof(p->isolated));
	}
	np_reserved_close(reserved);
	return e ? np_fail(err, e, "out of memory") : limit_to_nodes(p, err);
}

int np_request_ask(struct np_request *p, struct np_err *err)
{
	int e;

	if (np_plan_init(&p->plan, &p->machine, p->tasks.n))
		return np_fail(err, -ENOMEM, "out of memory");
	p->plan.asked_gain = p->least_gain;
	e = np_policy_plan(p->policy, &p->machine, p->tasks.task, p->tasks.n, &p->options,
			   &p->plan);
	if (e && p->plan.fault[0])
		return np_fail(err, -EREMOTEIO, "%s", p->plan.fault);
	if (e == -EINVAL)
		return np_fail(err, -EOPNOTSUPP,
			       "policy %s cannot plan on machine %s: "
			       "no node has CPUs that are not isolated, or a distance is missing",
			       p->policy->name, p->machine.name);
	if (e == -EOPNOTSUPP && p->machine.n_nodes > NP_MODEL_NODES)
		return np_fail(err, e,
			       "policy %s needs the contention model, which has room "
			       "for %d nodes; machine %s has %zu: choose a policy that needs none",
			       p->policy->name, NP_MODEL_NODES, p->machine.name,
			       p->machine.n_nodes);
	if (e == -EOPNOTSUPP)
		return np_fail(err, e,
			       "policy %s needs to know: %s; that is not known of machine %s",
			       p->policy->name, p->policy->needs, p->machine.name);
	if (e == -EPROTO)
		return np_fail(err, e,
			       "policy %s gave an answer that breaks the rules of "
			       "policy.h: a node without CPUs or memory, or one that is not there",
			       p->policy->name);
	if (e)
		return np_fail(err, e, "policy %s cannot plan: %s", p->policy->name, strerror(-e));
	for (size_t i = 0; i < p->plan.n; i++)
		np_task_limits_explain(&p->limits, i, &p->tasks.task[i],
				       p->tasks.chosen ? p->tasks.chosen[i] * p->machine.page_size :
							 0,
				       p->override, &p->plan.decision[i]);
	e = np_plan_order(&p->plan, &p->machine, p->tasks.task);
	return e ? np_fail(err, e, "out of memory") : 0;
}

/* The simulated lab answers by a machine file; asked for the same file, a policy cannot be wrong. */
static enum np_model_origin origin_of(bool same_name)
{
	return np_machine_platform("") == NP_PLATFORM_LAB_TIMED && same_name ? NP_MODEL_SIMULATOR :
									       NP_MODEL_FILE;
}

static int read_model(struct np_machine *here, struct np_model *model, const char *file,
		      struct np_err *err)
{
	struct np_machine m;
	int e = np_machine_file_read(file, &m, model, err);
	bool same;

	if (e)
		return e;
	same = m.model && m.n_nodes == here->n_nodes;
	here->model_origin = origin_of(!strcmp(here->name, m.name));
	np_machine_free(&m);
	return same ? 0 :
		      np_fail(err, -EINVAL,
			      "machine file %s has no [model] or another "
			      "number of nodes than machine %s",
			      file, here->name);
}

int np_request_derive_model(struct np_model *out, const struct np_machine *m, char *err, size_t len)
{
	struct np_node node[NP_MAX_NODES];
	struct np_machine whole = *m;

	memcpy(node, m->node, m->n_nodes * sizeof(*node));
	whole.node = node;
	for (size_t i = 0; i < m->n_nodes; i++)
		node[i].cpus = 0;
	for (size_t cpu = 0; cpu < m->n_cpus; cpu++)
		if (m->cpu_node[cpu] != NP_NODE_NONE)
			node[m->cpu_node[cpu]].cpus++;
	return np_model_derive(out, &whole, err, len);
}

/* From the distances; none where these are not enough. */
static int derive_model(struct np_machine *m, struct np_model *model, struct np_err *err)
{
	if (!np_request_derive_model(model, m, err->text, sizeof(err->text)))
		m->model_origin = NP_MODEL_DERIVED;
	return 0;
}

/* The calibrated model of this machine, else one derived from the distances. */
static int find_model(struct np_machine *here, struct np_model *model, struct np_err *err)
{
	bool same_name;
	int e = np_machine_file_here_model(here, model, &same_name, err);

	if (e <= 0)
		return e < 0 ? e : derive_model(here, model, err);
	here->model_origin = origin_of(same_name);
	return 0;
}

/* The model of the file that is named, else what otherwise finds. */
static int take_model(struct np_machine *m, struct np_model **model, const char *named,
		      int (*otherwise)(struct np_machine *, struct np_model *, struct np_err *),
		      struct np_err *err)
{
	int e;

	*model = calloc(1, sizeof(**model));
	if (!*model)
		return np_fail(err, -ENOMEM, "out of memory");
	e = named ? read_model(m, *model, named, err) : otherwise(m, *model, err);
	m->model = e || m->model_origin == NP_MODEL_NONE ? NULL : *model;
	return e;
}

int np_request_model(struct np_machine *here, struct np_model **model, const char *named,
		     struct np_err *err)
{
	return take_model(here, model, named, find_model, err);
}

int np_request_machine(struct np_machine *m, struct np_err *err)
{
	int e = np_machine_read(m, "", err);

	if (e)
		return e == -ENOMEM ? e : -EOPNOTSUPP;
	np_reclaimable_add(m);
	e = np_request_check_nodes(m, err);
	if (e)
		np_machine_free(m);
	return e;
}

int np_request_from(struct np_request *p, const struct np_policy_args *args, struct np_snapshot *s,
		    struct np_err *err)
{
	int e;

	memset(p, 0, sizeof(*p));
	p->balancing = -1;
	p->platform = s->platform;
	p->machine = s->machine;
	p->tasks = s->tasks;
	memset(s, 0, sizeof(*s));
	p->policy = args->policy;
	p->options = args->options;
	p->least_gain = args->least_gain;
	snprintf(p->nodes, sizeof(p->nodes), "%s", args->nodes ? args->nodes : "");
	/* Files of this host describe another machine than the snapshot's. */
	e = take_model(&p->machine, &p->model, args->model, derive_model, err);
	for (size_t i = 0; !e && i < args->n_assume; i++)
		e = np_tasks_assume(&p->tasks, args->assume[i], err);
	if (!e && counts_files(p))
		e = np_fail(err, -EOPNOTSUPP,
			    "a snapshot does not say which files its tasks map: leave out files=on");
	if (!e)
		e = np_request_check_nodes(&p->machine, err);
	p->override = args->override;
	if (!e && !p->override && np_task_limits_keep_memory(&p->limits, &p->machine, &p->tasks))
		e = np_fail(err, -ENOMEM, "out of memory");
	if (!e)
		e = limit_to_nodes(p, err);
	if (!e)
		e = np_request_ask(p, err);
	if (e)
		np_request_free(p);
	return e;
}

int np_request_make(struct np_request *p, const struct np_policy_args *args, struct np_err *err)
{
	int e;

	memset(p, 0, sizeof(*p));
	p->balancing = np_balancing_read();
	np_boot_id(p->boot, sizeof(p->boot));
	p->platform = np_machine_platform("");
	p->policy = args->policy;
	p->options = args->options;
	p->least_gain = args->least_gain;
	snprintf(p->nodes, sizeof(p->nodes), "%s", args->nodes ? args->nodes : "");
	e = np_request_machine(&p->machine, err);
	if (!e)
		e = np_request_model(&p->machine, &p->model, args->model, err);
	if (!e)
		e = read_tasks(p, args, err);
	if (!e)
		e = np_request_ask(p, err);
	if (!e)
		e = np_request_plan_files(p, err);
	if (e)
		np_request_free(p);
	return e;
}

void np_request_free(struct np_request *p)
{
	if (p->files)
		np_file_moves_free(p->files);
	free(p->files);
	p->files = NULL;
	free(p->with_files);
	p->with_files = NULL;
	np_plan_free(&p->plan);
	np_task_limits_free(&p->limits);
	np_tasks_free(&p->tasks);
	np_machine_free(&p->machine);
	free(p->plugin);
	p->plugin = NULL;
	free(p->model);
	p->model = NULL;
}
