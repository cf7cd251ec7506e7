// SPDX-License-Identifier: GPL-2.0-only
#include "cmd_args.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/base/grow.h"
#include "../lib/host/cgroup.h"
#include "../lib/host/mempolicy.h"
#include "arg_units.h"

int np_words_add(struct np_words *words, const char *word)
{
	if (np_grow(&words->word, words->n, sizeof(*words->word)))
		return ENOMEM;
	words->word[words->n++] = word;
	return 0;
}

int np_arg_node(const struct np_machine *m, const char *command, const char *text, int fallback,
		int *node)
{
	struct np_node_args nodes;
	struct np_err err;
	int id;

	*node = fallback;
	if (!text)
		return NP_EXIT_OK;
	np_node_args_open(&nodes, m);
	id = np_node_args_one(&nodes.node, text, &err);
	np_node_args_close(&nodes);
	if (id < 0)
		return np_usage("%s: %s", command, err.text);
	*node = np_machine_node_index(m, id);
	return NP_EXIT_OK;
}

#define NP_MAX_RATE_MIB 1048576

int np_common_parse(int key, const char *arg, struct np_common *c)
{
	double rate = 0;
	int e;

	switch (key) {
	case 'j':
		np_json = true;
		return 0;
	case 'e':
		return np_arg_engine(arg, &c->engine);
	case NP_KEY_MAX_STALL:
		return np_arg_microseconds(arg, "--max-stall", NUMAPLACE_MIN_STALL_US,
					   NUMAPLACE_MAX_STALL_US, &c->throttle.max_stall_us);
	case NP_KEY_RATE:
		e = np_arg_rate(arg, "--rate", NP_MAX_RATE_MIB, &rate);
		/* Less than one is not "no limit". */
		if (!e)
			c->throttle.rate_mib = (unsigned int)rate + (rate > 0 && rate < 1);
		return e;
	case NP_KEY_CGROUP:
		c->cgroup = arg;
		return 0;
	case NP_KEY_UNIT:
		c->unit = arg;
		return 0;
	case ARGP_KEY_ARG:
		return np_arg_add_pid(arg, &c->pids);
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp_option np_json_only[] = { NP_JSON_OPTION, { 0 } };

error_t np_json_only_parse(int key, char *arg, struct argp_state *state)
{
	if (key != 'j')
		return ARGP_ERR_UNKNOWN;
	np_json = true;
	return 0;
}

void np_common_free(struct np_common *c)
{
	free(c->pids.pid);
}

static bool is_among(pid_t pid, const pid_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static int add_tasks(struct np_pids *to, const char *cgroup, struct np_err *err)
{
	struct np_pids more = { 0 };
	size_t named = to->n;
	int e = np_cgroup_tasks(cgroup, &more.pid, &more.n, err);

	for (size_t i = 0; !e && i < more.n; i++)
		if (!is_among(more.pid[i], to->pid, named) && np_pids_add(to, more.pid[i]))
			e = np_fail(err, -ENOMEM, "out of memory");
	free(more.pid);
	return e;
}

int np_common_find(struct np_common *c, struct np_err *err)
{
	char unit[PATH_MAX];
	int e = c->cgroup ? add_tasks(&c->pids, c->cgroup, err) : 0;

	if (!e && c->unit)
		e = np_cgroup_of_unit(c->unit, unit, sizeof(unit), err);
	return !e && c->unit ? add_tasks(&c->pids, unit, err) : e;
}

int np_common_resolve(struct np_common *c)
{
	struct np_err err;
	int e = np_common_find(c, &err);

	return e ? np_failed(np_engine_exit(e), "%s", err.text) : NP_EXIT_OK;
}

static int say_memory(struct np_binding_words *w, const char *mode, const char *nodes)
{
	if (w->mem[0])
		return np_failed(ECANCELED,
				 "the memory policy is given twice, as %s and as %s%s%s: give one",
				 w->mem, mode, nodes ? ":" : "", nodes ? nodes : "");
	snprintf(w->mem, sizeof(w->mem), "%s%s%s", mode, nodes ? ":" : "", nodes ? nodes : "");
	return 0;
}

static int say_cpus(const struct np_binding_words *w)
{
	if (!w->cpus || !w->nodes)
		return 0;
	return np_failed(ECANCELED, "--cpus and --cpunodebind exclude each other");
}

int np_binding_parse(int key, const char *arg, struct np_binding_words *w)
{
	switch (key) {
	case 'C':
		w->cpus = arg;
		return say_cpus(w);
	case 'N':
		w->nodes = arg;
		return say_cpus(w);
	case NP_KEY_MEM:
		return say_memory(w, arg, NULL);
	case 'm':
		return say_memory(w, "bind", arg);
	case NP_KEY_PREFERRED:
		return say_memory(w, "preferred", arg);
	case NP_KEY_PREFERRED_MANY:
		return say_memory(w, "preferred-many", arg);
	case NP_KEY_INTERLEAVE:
		return say_memory(w, "interleave", arg);
	case NP_KEY_WEIGHTED:
		return say_memory(w, "weighted-interleave", arg);
	case NP_KEY_LOCAL:
		return say_memory(w, "local", NULL);
	}
	return ARGP_ERR_UNKNOWN;
}

bool np_binding_given(const struct np_binding_words *w)
{
	return w->cpus || w->nodes || w->mem[0];
}

int np_binding_resolve(const struct np_binding_words *w, const struct np_node_args *s,
		       struct np_binding *b, struct np_err *err)
{
	*b = (struct np_binding) { .mem_mode = -1 };
	if (w->cpus)
		b->cpus = np_list_parse(w->cpus, &s->cpu, err);
	else if (w->nodes)
		b->cpus = np_node_args_cpus(s, w->nodes, err);
	if ((w->cpus || w->nodes) && !b->cpus)
		return -EINVAL;
	if (w->mem[0] && np_mempolicy_parse(w->mem, &s->memory, &b->mem_mode, &b->mem_nodes, err)) {
		np_binding_free(b);
		return -EINVAL;
	}
	return 0;
}

void np_binding_free(struct np_binding *b)
{
	if (b->cpus)
		numa_bitmask_free(b->cpus);
	if (b->mem_nodes)
		numa_bitmask_free(b->mem_nodes);
	b->cpus = b->mem_nodes = NULL;
}
