// SPDX-License-Identifier: GPL-2.0-only
#include "policy_name.h"

#include "policy_plugin.h"
#include "policy_program.h"

#define PROGRAM "exec:"

static bool is_file(const char *name)
{
	size_t n = strlen(name);

	return strchr(name, '/') || (n > 3 && !strcmp(name + n - 3, ".so"));
}

static const struct np_policy *no_such(const char *name, struct np_err *err)
{
	size_t at;

	np_fail(err, 0, "no policy \"%s\"; use one of ", name);
	at = strlen(err->text);
	for (size_t i = 0; np_policies[i] && at < sizeof(err->text); i++)
		at += (size_t)snprintf(err->text + at, sizeof(err->text) - at, "%s%s",
				       i ? ", " : "", np_policies[i]->name);
	return NULL;
}

const struct np_policy *np_policy_named(const char *name, struct np_err *err)
{
	const struct np_policy *p = np_policy_find(name);

	if (p)
		return p;
	if (!strncmp(name, PROGRAM, strlen(PROGRAM)))
		return np_program_load(name, name + strlen(PROGRAM), err);
	return is_file(name) ? np_plugin_load(name, err) : no_such(name, err);
}

const struct np_policy *np_policy_asked(const char *words, struct np_options *o, struct np_err *err)
{
	char copy[4096], *name, *options, *one, *save = NULL;
	const struct np_policy *p;

	if ((size_t)snprintf(copy, sizeof(copy), "%s", words) >= sizeof(copy)) {
		np_fail(err, 0, "policy %.40s..: longer than %zu bytes", words, sizeof(copy) - 1);
		return NULL;
	}
	/* A path may have a colon, a value has none. */
	name = copy + (strncmp(copy, PROGRAM, strlen(PROGRAM)) ? 0 : strlen(PROGRAM));
	options = strrchr(name, ':');
	if (options && !strchr(options, '/'))
		*options++ = '\0';
	else
		options = NULL;
	p = np_policy_named(copy, err);
	if (!p)
		return NULL;
	np_options_defaults(p, o);
	for (one = options ? strtok_r(options, ",", &save) : NULL; one;
	     one = strtok_r(NULL, ",", &save))
		if (np_options_set(p, o, one, err->text, sizeof(err->text)))
			return NULL;
	return p;
}

const char *np_policy_words(const struct np_policy *p, const struct np_options *o, char *text,
			    size_t text_len)
{
	size_t at = (size_t)snprintf(text, text_len, "%s", p->name);
	char value[64], separator = ':';

	for (size_t i = 0; i < np_options_count(p) && at < text_len; i++) {
		if (o->value[i] == p->option[i].def)
			continue;
		at += (size_t)snprintf(text + at, text_len - at, "%c%s=%s", separator,
				       p->option[i].name,
				       np_option_text(&p->option[i], o->value[i], value,
						      sizeof(value)));
		separator = ',';
	}
	return text;
}
