// SPDX-License-Identifier: GPL-2.0-only
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/grow.h"
#include "../files/json.h"
#include "../policy/policy_name.h"

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int np_prediction_add(struct np_prediction *s, const struct np_machine *m, const char *tasks,
		      const struct np_contender *c, const struct np_outcome *o)
{
	struct np_predicted_case *one;

	if (np_grow(&s->found, s->n, sizeof(*one)))
		return -ENOMEM;
	one = &s->found[s->n++];
	*one = (struct np_predicted_case) { .model = m->model_origin, .outcome = *o };
	snprintf(one->machine, sizeof(one->machine), "%s", m->name);
	snprintf(one->tasks, sizeof(one->tasks), "%s", file_name(tasks));
	np_policy_words(c->policy, &c->options, one->policy, sizeof(one->policy));
	return 0;
}

struct np_score *np_prediction_score(struct np_prediction *s, const struct np_machine *m,
				     const struct np_contender *c)
{
	struct np_predicted_score *one;
	char policy[NP_SIM_NAME];

	np_policy_words(c->policy, &c->options, policy, sizeof(policy));
	for (size_t i = 0; i < s->n_scored; i++)
		if (!strcmp(s->scored[i].machine, m->name) && !strcmp(s->scored[i].policy, policy))
			return &s->scored[i].score;
	if (np_grow(&s->scored, s->n_scored, sizeof(*one)))
		return NULL;
	one = &s->scored[s->n_scored++];
	memset(one, 0, sizeof(*one));
	snprintf(one->machine, sizeof(one->machine), "%s", m->name);
	memcpy(one->policy, policy, sizeof(policy));
	return &one->score;
}

void np_prediction_free(struct np_prediction *s)
{
	free(s->found);
	free(s->scored);
	*s = (struct np_prediction) { 0 };
}

/* Why a policy gave no plan. */
static const char *error_text(int e)
{
	return e == -EOPNOTSUPP ? "cannot plan this: too much to search, or something that it must "
				  "know is not known" :
				  strerror(-e);
}

static const char *model_name(enum np_model_origin origin)
{
	return origin == NP_MODEL_FILE ? "machine file" : "derived from distances";
}

static json_t *pair(const double value[2])
{
	return json_pack("{s:f, s:f}", "before", round(value[0] * 1e4) / 1e4,
			 "after", round(value[1] * 1e4) / 1e4);
}

static json_t *case_json(const struct np_predicted_case *c)
{
	const struct np_outcome *o = &c->outcome;
	json_t *j = json_pack("{s:o, s:s, s:o, s:o}", "machine", np_json_text(c->machine),
			      "model", model_name(c->model), "tasks", np_json_text(c->tasks),
			      "policy", np_json_text(c->policy));

	if (o->error) {
		json_object_set_new(j, "error", json_string(error_text(o->error)));
		return j;
	}
	json_object_update_missing_new(j,
				       json_pack(
		"{s:o, s:o, s:o, s:s, s:I, s:f}", "throughput", pair(o->throughput),
		"slowest", pair(o->fairness), "locality", pair(o->locality),
		"predicted_by", np_provenance_name(o->source),
		"pages_moved", (json_int_t)o->pages_moved,
		"seconds", round(o->seconds * 1e4) / 1e4));
	return j;
}

static json_t *score_json(const struct np_predicted_score *s)
{
	const struct np_score *c = &s->score;

	return json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:I}", "machine",
			 np_json_text(s->machine),
			 "policy", np_json_text(s->policy), "cases", (int)c->cases, "acted", (int)c->acted,
			 "every_placement_tried", (int)c->whole,
			 "mean_of_best", c->cases ? json_real(c->sum / c->cases) : json_null(),
			 "worst_of_best", c->cases ? json_real(c->worst) : json_null(),
			 "within_1_percent", c->cases ? json_real((double)c->within_1_percent /
								   c->cases) : json_null(),
			 "pages_moved", (json_int_t)c->pages_moved);
}

json_t *np_prediction_json(const struct np_prediction *s)
{
	json_t *cases = json_array(), *scores = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(cases, case_json(&s->found[i]));
	for (size_t i = 0; i < s->n_scored; i++)
		json_array_append_new(scores, score_json(&s->scored[i]));
	return json_pack("{s:s, s:o, s:o}", "platform", "predicted", "cases", cases, "random",
			 scores);
}

static void print_case(FILE *out, const struct np_predicted_case *c,
		       const struct np_predicted_case *last)
{
	const struct np_outcome *o = &c->outcome;

	if (!last || strcmp(last->machine, c->machine) || strcmp(last->tasks, c->tasks))
		fprintf(out, "%s%s on %s (predicted, model: %s)\n%-28s %15s %15s %15s %10s %9s\n",
			last ? "\n" : "", c->tasks, c->machine, model_name(c->model), "POLICY",
			"THROUGHPUT", "SLOWEST", "LOCALITY", "PAGES", "TIME");
	if (o->error)
		fprintf(out, "%-28s %s\n", c->policy, error_text(o->error));
	else
		fprintf(out, "%-28s %6.2f -> %5.2f %6.2f -> %5.2f %6.2f -> %5.2f %10llu %7.3f s\n",
			c->policy, o->throughput[0], o->throughput[1], o->fairness[0],
			o->fairness[1], o->locality[0], o->locality[1],
			(unsigned long long)o->pages_moved, o->seconds);
}

static void print_score(FILE *out, const struct np_predicted_score *s,
			const struct np_predicted_score *last)
{
	const struct np_score *c = &s->score;

	if (!last || strcmp(last->machine, s->machine))
		fprintf(out,
			"%stask sets at random on %s (predicted), throughput relative to the "
			"best placement known; of %u every placement was tried\n"
			"%-28s %7s %7s %8s %8s %12s %12s\n",
			last ? "\n" : "", s->machine, c->whole, "POLICY", "CASES", "ACTED", "MEAN",
			"WORST", "WITHIN 1 %", "PAGES/CASE");
	if (!c->cases)
		fprintf(out, "%-28s %7u\n", s->policy, 0);
	else
		fprintf(out, "%-28s %7u %7u %8.3f %8.3f %10.1f %% %12.0f\n", s->policy, c->cases,
			c->acted, c->sum / c->cases, c->worst,
			100.0 * c->within_1_percent / c->cases, (double)c->pages_moved / c->cases);
}

void np_prediction_print(FILE *out, const struct np_prediction *s)
{
	for (size_t i = 0; i < s->n; i++)
		print_case(out, &s->found[i], i ? &s->found[i - 1] : NULL);
	if (s->n && s->n_scored)
		fputc('\n', out);
	for (size_t i = 0; i < s->n_scored; i++)
		print_score(out, &s->scored[i], i ? &s->scored[i - 1] : NULL);
}
