// SPDX-License-Identifier: GPL-2.0-only
#include "program_about.h"

#include <errno.h>

#include "../base/error.h"
#include "../base/printable.h"

static const char *const type_name[] = {
	[NP_OPT_DOUBLE] = "number",
	[NP_OPT_INT] = "whole number",
	[NP_OPT_BOOL] = "switch",
	[NP_OPT_ENUM] = "word",
};

const char *np_option_type_name(enum np_option_type type)
{
	return type_name[type];
}

struct reader {
	struct np_program_about *a;
	const char *what;
	size_t at; /* the option that is read */
	const json_t *object;
	struct np_err *err;
};

static int wrong(const struct reader *r, const char *key, const char *should)
{
	return np_fail(r->err, -EINVAL, "%s: about.options[%zu].%s is not %s", r->what, r->at, key,
		       should);
}

/* A text that can be printed, as it is printed; NULL: it is none, or without memory. */
static const char *printable_text(json_t *j)
{
	char *text = json_is_string(j) ? strdup(json_string_value(j)) : NULL;
	int e = -1;

	if (text) {
		np_printable(text);
		e = json_string_set(j, text);
	}
	free(text);
	return e ? NULL : json_string_value(j);
}

/* NULL: it is there and no text. */
static const char *text_of(const json_t *object, const char *key, const char *absent)
{
	json_t *j = json_object_get(object, key);

	return j ? printable_text(j) : absent;
}

static int read_type(const struct reader *r, enum np_option_type *type)
{
	const char *name = text_of(r->object, "type", "number") ?: "";

	for (*type = NP_OPT_DOUBLE; *type <= NP_OPT_ENUM; (*type)++)
		if (!strcmp(name, type_name[*type]))
			return 0;
	return wrong(r, "type", "number, whole number, switch or word");
}

static int read_words(const struct reader *r, struct np_option *o)
{
	const json_t *list = json_object_get(r->object, "words");
	const char *def = text_of(r->object, "default", "") ?: "";
	const char **words = calloc(json_array_size(list) + 1, sizeof(*words));

	o->words = r->a->words[r->at] = words;
	o->def = -1;
	for (size_t i = 0; words && i < json_array_size(list); i++) {
		words[i] = printable_text(json_array_get(list, i));
		if (!words[i])
			return wrong(r, "words", "a list of texts");
		if (!strcmp(words[i], def))
			o->def = (double)i;
	}
	return o->def >= 0 ? 0 : wrong(r, "default", "one of its words");
}

static int read_number(const struct reader *r, const char *key, double absent, double *value)
{
	const json_t *j = json_object_get(r->object, key);

	*value = j ? json_number_value(j) : absent;
	return !j || json_is_number(j) ? 0 : wrong(r, key, "a number");
}

static int read_default(const struct reader *r, struct np_option *o)
{
	const json_t *def = json_object_get(r->object, "default");
	int e;

	if (o->type == NP_OPT_ENUM)
		return read_words(r, o);
	if (o->type == NP_OPT_BOOL) {
		o->def = json_is_true(def);
		return json_is_boolean(def) ? 0 : wrong(r, "default", "true or false");
	}
	e = json_is_number(def) ? read_number(r, "default", 0, &o->def) :
				  wrong(r, "default", "a number");
	if (!e)
		e = read_number(r, "min", -1e18, &o->min);
	return e ? e : read_number(r, "max", 1e18, &o->max);
}

static int read_option(struct reader *r)
{
	struct np_option *o = &r->a->option[r->at];
	int e;

	o->name = text_of(r->object, "name", NULL);
	o->unit = text_of(r->object, "unit", "");
	o->meaning = text_of(r->object, "meaning", "");
	if (!o->name || !*o->name || strpbrk(o->name, "=,:"))
		return wrong(r, "name", "a text without =, comma and colon");
	for (size_t i = 0; i < r->at; i++)
		if (!strcmp(o->name, r->a->option[i].name))
			return wrong(r, "name", "one of its own: an earlier option has it");
	if (!o->unit)
		return wrong(r, "unit", "a text");
	if (!o->meaning)
		return wrong(r, "meaning", "a text");
	e = read_type(r, &o->type);
	return e ? e : read_default(r, o);
}

int np_program_about_read(struct np_program_about *a, json_t *about, struct np_policy *policy,
			  const char *what, struct np_err *err)
{
	struct reader r = { .a = a, .what = what, .err = err };
	const json_t *options = json_object_get(about, "options");
	int e = 0;

	if (!about)
		return 0;
	a->json = json_incref(about);
	policy->summary = text_of(about, "summary", policy->summary);
	policy->origin = text_of(about, "origin", policy->origin);
	policy->needs = text_of(about, "needs", policy->needs);
	if (!json_is_object(about) || !policy->summary || !policy->origin || !policy->needs)
		return np_fail(err, -EINVAL,
			       "%s: about is not an object whose summary, origin and "
			       "needs are texts",
			       what);
	if (options && !json_is_array(options))
		return np_fail(err, -EINVAL, "%s: about.options is not a list of options", what);
	if (json_array_size(options) > NP_OPTIONS_MAX)
		return np_fail(err, -EINVAL, "%s: about.options has %zu options, at most %d may be",
			       what, json_array_size(options), NP_OPTIONS_MAX);
	for (r.at = 0; !e && r.at < json_array_size(options); r.at++) {
		r.object = json_array_get(options, r.at);
		e = read_option(&r);
	}
	policy->option = a->option;
	return e;
}

void np_program_about_free(struct np_program_about *a)
{
	for (size_t i = 0; i < NP_OPTIONS_MAX; i++)
		free(a->words[i]);
	json_decref(a->json);
}
