// SPDX-License-Identifier: GPL-2.0-only
/* A plan as a table and as JSON. Nodes are named by the kernel's numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file_moves.h"
#include "../files/json.h"
#include "../files/policy_input.h"
#include "../host/numa_balancing.h"
#include "request.h"

#define GB 1e9

/* What the estimate is worth, so that it prints short. */
static double rounded(double value)
{
	return round(value * 1e4) / 1e4;
}

static json_t *rounded_json(double value)
{
	return json_real(rounded(value));
}

static json_t *known_json(double value, enum np_provenance source)
{
	return np_json_known(rounded(value), source);
}

/* {"0": 1, "1": 3}: weights by the kernel's node numbers; null when pages are not spread. */
static json_t *spread_json(const struct np_request *p, int spread)
{
	const struct np_machine *m = &p->machine;
	json_t *j = spread == NP_NODE_NONE ? json_null() : json_object();

	for (size_t node = 0; spread != NP_NODE_NONE && node < m->n_nodes; node++) {
		uint8_t weight = p->plan.spread[(size_t)spread * m->n_nodes + node];

		if (weight)
			np_json_set_node(j, m, node, json_integer(weight));
	}
	return j;
}

/* Task i's part of the plan's moves; "step" is the place among those of all tasks. */
static json_t *moves_json(const struct np_request *p, size_t i)
{
	json_t *moves = json_array();

	for (size_t at = 0; at < p->plan.n_moves; at++) {
		const struct np_page_move *move = &p->plan.move[at];

		if (move->task == i)
			json_array_append_new(moves,
					      json_pack("{s:I, s:o, s:o, s:I}",
				"step", (json_int_t)at,
				"from", np_json_node(&p->machine, move->from),
				"to", np_json_node(&p->machine, move->to),
				"pages", (json_int_t)move->pages));
	}
	return moves;
}

/* The nodes that it runs on, where these are several. */
static json_t *nodes_json(const struct np_request *p, int nodes)
{
	json_t *list;

	if (nodes == NP_NODE_NONE)
		return json_null();
	list = json_array();
	for (size_t node = 0; node < p->machine.n_nodes; node++)
		if (p->plan.spread[(size_t)nodes * p->machine.n_nodes + node])
			json_array_append_new(list, np_json_node(&p->machine, (int)node));
	return list;
}

/* Traffic of the task now, by counters and by the model. */
static json_t *traffic_json(const struct np_task *t, const struct np_decision *d)
{
	return json_pack("{s:o, s:o}", "measured", known_json(t->bandwidth.value, t->bandwidth.source),
			 "predicted", known_json(d->traffic.value, d->traffic.source));
}

json_t *np_decision_json(const struct np_request *p, size_t i)
{
	const struct np_machine *m = &p->machine;
	const struct np_task *t = &p->tasks.task[i];
	const struct np_decision *d = &p->plan.decision[i];

	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:I, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o}",
			 "pid", (int)t->pid, "comm", np_json_text(t->comm),
			 "from", np_json_node(m, d->from), "to", np_json_node(m, d->to),
			 "to_nodes", nodes_json(p, d->nodes),
			 "home", np_json_node(m, d->home), "pages_to", np_json_node(m, d->pages_to),
			 "if_nearer", d->if_nearer, "spread", spread_json(p, d->spread),
			 "pages_to_move", (json_int_t)d->pages_to_move,
			 "moves", moves_json(p, i),
			 "cost_s", rounded_json(d->cost), "gain", rounded_json(d->gain),
			 "gain_source", np_provenance_name(d->gain_source),
			 "reason", np_json_text(d->reason),
			 "penalty", known_json(d->penalty, d->penalty_source),
			 "mpki", known_json(t->mpki, t->mpki_source),
			 "traffic", traffic_json(t, d));
}

/* Of all tasks together; null without a model. */
static json_t *predicted_json(const struct np_plan *plan)
{
	if (plan->throughput[1].source == NP_PROVENANCE_NONE)
		return json_null();
	return json_pack("{s:[o, o], s:[o, o], s:s}",
			 "throughput", rounded_json(plan->throughput[0].value),
			 rounded_json(plan->throughput[1].value),
			 "fairness", rounded_json(plan->fairness[0].value),
			 rounded_json(plan->fairness[1].value),
			 "source", np_provenance_name(plan->throughput[1].source));
}

json_t *np_request_json_with(const struct np_request *p, json_t *decisions)
{
	json_t *j = json_pack("{s:s, s:o, s:o, s:b, s:o, s:o}",
			 "platform", np_platform_name(p->platform),
			 "policy", np_json_text(p->policy->name),
			 "options", np_json_options(p->policy, &p->options),
			 "override", (int)p->override,
			 "isolated", p->isolated[0] ? json_string(p->isolated) : json_null(),
			 "numa_balancing", p->balancing < 0 ? json_null() : json_integer(p->balancing));

	json_object_set_new(j, "model", json_string(np_model_origin_name(p->machine.model_origin)));
	json_object_set_new(j, "predicted", predicted_json(&p->plan));
	json_object_set_new(j, "unordered", json_integer((json_int_t)p->plan.unordered));
	json_object_set_new(j, "decisions", decisions);
	if (p->files)
		json_object_set_new(j, "files", np_file_moves_json(p->files, &p->machine));
	if (p->files && p->files->note.text[0])
		json_object_set_new(j, "files_note", np_json_text(p->files->note.text));
	return j;
}

json_t *np_request_json(const struct np_request *p)
{
	json_t *decisions = json_array();

	for (size_t i = 0; i < p->plan.n; i++)
		json_array_append_new(decisions, np_decision_json(p, i));
	return np_request_json_with(p, decisions);
}

const char *np_node_text(const struct np_machine *m, int node, char *text, size_t text_len)
{
	if (node == NP_NODE_NONE)
		snprintf(text, text_len, "-");
	else
		snprintf(text, text_len, "%d", m->node[node].id);
	return text;
}

const char *np_place_text(const struct np_request *p, const struct np_decision *d, char *text,
			  size_t text_len)
{
	size_t at = 0, k = p->machine.n_nodes;

	if (d->nodes == NP_NODE_NONE)
		return np_node_text(&p->machine, d->to, text, text_len);
	text[0] = '\0';
	for (size_t node = 0; node < k && at < text_len; node++)
		if (p->plan.spread[(size_t)d->nodes * k + node])
			at += (size_t)snprintf(text + at, text_len - at, "%s%d", at ? "," : "",
					       p->machine.node[node].id);
	return text;
}

const char *np_policy_text(const struct np_policy *policy, const struct np_options *o, char *text,
			   size_t text_len)
{
	char value[64];
	size_t at = (size_t)snprintf(text, text_len, "%s", policy->name);

	for (size_t i = 0; i < np_options_count(policy) && at < text_len; i++)
		at += (size_t)snprintf(text + at, text_len - at, "%s%s=%s", i ? ", " : " (",
				       policy->option[i].name,
				       np_option_text(&policy->option[i], o->value[i], value,
						      sizeof(value)));
	if (np_options_count(policy) && at < text_len)
		snprintf(text + at, text_len - at, ")");
	return text;
}

static void known_text(double value, enum np_provenance source, char *text, size_t text_len)
{
	if (source == NP_PROVENANCE_NONE)
		snprintf(text, text_len, "unknown");
	else
		snprintf(text, text_len, "%.3g %s", value, np_provenance_name(source));
}

/* "4", "0:1 1:3", or "-" when the pages stay. */
static const char *memory_text(const struct np_request *p, const struct np_decision *d, char *text,
			       size_t text_len)
{
	size_t k = p->machine.n_nodes, at = 0;

	if (d->spread == NP_NODE_NONE)
		return np_node_text(&p->machine, d->pages_to, text, text_len);
	text[0] = '\0';
	for (size_t node = 0; node < k && at < text_len; node++) {
		uint8_t weight = p->plan.spread[(size_t)d->spread * k + node];

		if (weight)
			at += (size_t)snprintf(text + at, text_len - at, "%s%d:%u", at ? " " : "",
					       p->machine.node[node].id, weight);
	}
	return text;
}

static void print_decision(FILE *out, const struct np_request *p, size_t i)
{
	const struct np_task *t = &p->tasks.task[i];
	const struct np_decision *d = &p->plan.decision[i];
	char from[12], to[NP_NODES_TEXT], way[NP_NODES_TEXT + 16], memory[64], gain[64],
		penalty[32], mpki[32];

	np_node_text(&p->machine, d->from, from, sizeof(from));
	np_place_text(p, d, to, sizeof(to));
	snprintf(way, sizeof(way), "%s -> %s", from, to);
	known_text(d->gain, d->gain_source, gain, sizeof(gain));
	known_text(d->penalty, d->penalty_source, penalty, sizeof(penalty));
	known_text(t->mpki, t->mpki_source, mpki, sizeof(mpki));
	fprintf(out, "%8d  %-15s  %-8s  %-8s %9llu %8.3f s  %-12s  %-13s  %-13s  %s\n", t->pid,
		t->comm, way, memory_text(p, d, memory, sizeof(memory)),
		(unsigned long long)d->pages_to_move, d->cost, gain, penalty, mpki, d->reason);
}

static void print_prediction(FILE *out, const struct np_request *p)
{
	const struct np_plan *plan = &p->plan;

	if (plan->throughput[1].source == NP_PROVENANCE_NONE)
		return;
	fprintf(out,
		"predicted by the contention model (%s): throughput %.2f -> %.2f cores' worth, "
		"slowest task %.2f -> %.2f of its speed alone\n",
		np_model_origin_name(p->machine.model_origin), plan->throughput[0].value,
		plan->throughput[1].value, plan->fairness[0].value, plan->fairness[1].value);
}

/* Error of the model for the present placement. */
static void print_present(FILE *out, const struct np_request *p)
{
	double predicted = 0, measured = 0, worst = 0;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < p->plan.n; i++) {
		const struct np_known *now = &p->plan.decision[i].traffic;
		const struct np_known *is = &p->tasks.task[i].bandwidth;

		if (now->source == NP_PROVENANCE_NONE || is->source == NP_PROVENANCE_NONE)
			continue;
		n++;
		predicted += now->value;
		measured += is->value;
		if (fabs(now->value - is->value) >= worst) {
			worst = fabs(now->value - is->value);
			at = i;
		}
	}
	if (n)
		fprintf(out,
			"DRAM traffic now, tasks counted: %zu: predicted %.3g GB/s, measured %.3g "
			"GB/s; farthest off is task %d, predicted %.3g, measured %.3g\n",
			n, predicted / GB, measured / GB, p->tasks.task[at].pid,
			p->plan.decision[at].traffic.value / GB,
			p->tasks.task[at].bandwidth.value / GB);
}

void np_unordered_print(FILE *out, const struct np_plan *plan)
{
	if (plan->unordered)
		fprintf(out, "%llu pages stay: nodes are so full that nothing can move first\n",
			(unsigned long long)plan->unordered);
}

void np_request_print_notes(FILE *out, const struct np_request *p)
{
	const char *balancing = np_balancing_text(p->balancing);

	if (p->isolated[0])
		fprintf(out,
			"CPUs %s are isolated (isolcpus, nohz_full, partition) and are given to nobody\n",
			p->isolated);
	if (balancing)
		fprintf(out, "%s\n", balancing);
}

void np_request_print(FILE *out, const struct np_request *p)
{
	char policy[256];

	fprintf(out, "%s on %s (%s)\n",
		np_policy_text(p->policy, &p->options, policy, sizeof(policy)), p->machine.name,
		np_platform_name(p->platform));
	fprintf(out, "%8s  %-15s  %-8s  %-8s %9s %10s  %-12s  %-13s  %-13s  %s\n", "PID", "TASK",
		"NODE", "MEMORY", "PAGES", "COST", "GAIN", "PENALTY", "MPKI", "WHY");
	for (size_t i = 0; i < p->plan.n; i++)
		print_decision(out, p, i);
	if (p->files)
		np_file_moves_print(out, p->files, &p->machine);
	np_unordered_print(out, &p->plan);
	print_prediction(out, p);
	print_present(out, p);
	np_request_print_notes(out, p);
}
