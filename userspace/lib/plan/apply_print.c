// SPDX-License-Identifier: GPL-2.0-only
/* The results of apply, as a table and as JSON. */
#include <string.h>

#include "../base/cpulist.h"
#include "../files/json.h"
#include "../host/mempolicy.h"
#include "apply.h"
#include "file_moves.h"

/* "preferred:0", or "-" when it was left alone. */
static const char *mem_text(const struct np_step *s, char *text, size_t text_len)
{
	if (s->mem_mode < 0)
		snprintf(text, text_len, "-");
	else
		np_mempolicy_format(s->mem_mode, s->mem_nodes, text, text_len);
	return text;
}

static json_t *result_json(const struct np_applied *a, size_t i)
{
	const struct np_step *s = &a->step[i];
	char cpus[NP_LIST_LEN], mem[NP_LIST_LEN + 32];

	if (s->state != NP_STEP_NOTHING && s->state != NP_STEP_DONE)
		return json_null();
	return json_pack("{s:o, s:o, s:s, s:o}",
			 "cpus", s->cpus ? json_string(np_list_format(s->cpus, cpus, sizeof(cpus)))
					 : json_null(),
			 "mem", s->mem_mode < 0 ? json_null() :
				json_string(mem_text(s, mem, sizeof(mem))),
			 "engine", a->how.engine->name, "migrate", s->migrated ? np_json_migrate(&s->moved) : json_null());
}

static json_t *effect_json(const struct np_effect *effect)
{
	if (!effect->tasks)
		return json_null();
	return json_pack("{s:I, s:f, s:f, s:b}", "tasks", (json_int_t)effect->tasks, "speed",
			 effect->speed, "noise", effect->noise, "taken_back", effect->taken_back);
}

/* Those of the plan, with what became of them. */
static json_t *files_json(const struct np_applied *a)
{
	json_t *files = np_file_moves_json(a->p->files, &a->p->machine), *one;
	size_t i;

	json_array_foreach(files, i, one) {
		json_object_set_new(one, "migrate", np_json_migrate(&a->file_step[i].moved));
		json_object_set_new(one, "undone", json_boolean(a->file_step[i].back));
		if (a->file_step[i].err.text[0])
			json_object_set_new(one, "error", np_json_text(a->file_step[i].err.text));
	}
	return files;
}

json_t *np_applied_json(const struct np_applied *a)
{
	json_t *j, *decisions = json_array(), *notes = json_array();

	for (size_t i = 0; i < a->p->plan.n; i++) {
		json_t *d = np_decision_json(a->p, i);

		json_object_set_new(d, "result", result_json(a, i));
		if (a->step[i].err.text[0])
			json_object_set_new(d, "error", np_json_text(a->step[i].err.text));
		json_array_append_new(decisions, d);
	}
	if (a->note.text[0])
		json_array_append_new(notes, np_json_text(a->note.text));
	if (a->not_undone.text[0])
		json_array_append_new(notes, np_json_text(a->not_undone.text));
	j = np_request_json_with(a->p, decisions);
	if (a->p->files)
		json_object_set_new(j, "files", files_json(a));
	json_object_set_new(j, "engine", json_string(a->how.engine->name));
	json_object_set_new(j, "skipped", json_integer((json_int_t)a->skipped));
	json_object_set_new(j, "undone", json_boolean(a->undone));
	json_object_set_new(j, "verified", effect_json(&a->effect));
	json_object_set_new(j, "notes", notes);
	return j;
}

/* ", 3 busy, 12 shared": why fewer pages moved than were planned. */
static void left_behind_text(const struct np_migrate_result *r, char *text, size_t text_len)
{
	size_t at = 0;

	text[0] = '\0';
#define X(name) \
	if (strcmp(#name, "moved") && strcmp(#name, "already") && r->name && at < text_len) \
		at += (size_t)snprintf(text + at, text_len - at, ", %llu %s", \
				       (unsigned long long)r->name, #name);
	NUMAPLACE_COUNTS(X)
#undef X
}

static void outcome_text(const struct np_applied *a, size_t i, char *text, size_t text_len)
{
	const struct np_step *s = &a->step[i];
	char left[160] = "";

	switch (s->state) {
	case NP_STEP_DONE:
		if (s->moved.moved < a->p->plan.decision[i].pages_to_move)
			left_behind_text(&s->moved, left, sizeof(left));
		snprintf(text, text_len, "done%s", left);
		break;
	case NP_STEP_NOTHING:
		snprintf(text, text_len, "nothing to do");
		break;
	case NP_STEP_SKIPPED:
		snprintf(text, text_len, "skipped: %s", s->err.text);
		break;
	case NP_STEP_FAILED:
		snprintf(text, text_len, "failed: %s", s->err.text);
		break;
	case NP_STEP_UNDONE:
		snprintf(text, text_len, "undone%s%s", s->err.text[0] ? ", but " : "", s->err.text);
		break;
	}
}

static void print_step(FILE *out, const struct np_applied *a, size_t i)
{
	const struct np_task *t = &a->p->tasks.task[i];
	const struct np_decision *d = &a->p->plan.decision[i];
	const struct np_step *s = &a->step[i];
	char from[12], to[NP_NODES_TEXT], way[NP_NODES_TEXT + 16], cpus[NP_LIST_LEN] = "-",
								   mem[NP_LIST_LEN + 32];
	char outcome[512];

	np_node_text(&a->p->machine, d->from, from, sizeof(from));
	np_place_text(a->p, d, to, sizeof(to));
	snprintf(way, sizeof(way), "%s -> %s", from, to);
	if (s->cpus)
		np_list_format(s->cpus, cpus, sizeof(cpus));
	outcome_text(a, i, outcome, sizeof(outcome));
	fprintf(out, "%8d  %-15s  %-8s  %-10s  %-12s  %9llu  %9llu  %8.3f s  %s; %s\n", t->pid,
		t->comm, way, cpus, mem_text(s, mem, sizeof(mem)),
		(unsigned long long)d->pages_to_move, (unsigned long long)s->moved.moved,
		(double)s->moved.ns / 1e9, outcome, d->reason);
}

static void print_files(FILE *out, const struct np_applied *a)
{
	unsigned long long moved = 0, back = 0;

	np_file_moves_print(out, a->p->files, &a->p->machine);
	for (size_t i = 0; i < a->p->files->n; i++) {
		moved += a->file_step[i].moved.moved;
		back += a->file_step[i].back ? a->file_step[i].moved.moved : 0;
	}
	if (a->p->files->n)
		fprintf(out, "of these files %llu pages moved", moved);
	if (back)
		fprintf(out, ", of which %llu have gone back", back);
	if (a->p->files->n)
		fputc('\n', out);
	for (size_t i = 0; i < a->p->files->n; i++)
		if (a->file_step[i].err.text[0])
			fprintf(out, "%s\n", a->file_step[i].err.text);
}

void np_applied_print(FILE *out, const struct np_applied *a)
{
	char policy[256];

	fprintf(out, "%s on %s (%s), engine %s\n",
		np_policy_text(a->p->policy, &a->p->options, policy, sizeof(policy)),
		a->p->machine.name, np_platform_name(a->p->platform), a->how.engine->name);
	fprintf(out, "%8s  %-15s  %-8s  %-10s  %-12s  %9s  %9s  %10s  %s\n", "PID", "TASK", "NODE",
		"CPUS", "MEMORY", "PLANNED", "MOVED", "TIME", "WHAT AND WHY");
	for (size_t i = 0; i < a->p->plan.n; i++)
		print_step(out, a, i);
	if (a->p->files)
		print_files(out, a);
	np_unordered_print(out, &a->p->plan);
	if (a->note.text[0])
		fprintf(out, "%s\n", a->note.text);
	np_request_print_notes(out, a->p);
	if (a->effect.tasks && !a->effect.taken_back)
		fprintf(out, "verified: %zu tasks run at %.3f of their speed before (noise %.3f)\n",
			a->effect.tasks, a->effect.speed, a->effect.noise);
	if (a->skipped)
		fprintf(out, "%zu of %zu tasks skipped\n", a->skipped, a->p->plan.n);
}
