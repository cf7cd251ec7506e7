// SPDX-License-Identifier: GPL-2.0-only
#include "plugin.h"

#include <dlfcn.h>
#include <errno.h>

#define SYMBOL "numaplace_plugin"

static bool is_file(const char *name)
{
	size_t n = strlen(name);

	return strchr(name, '/') || (n > 3 && !strcmp(name + n - 3, ".so"));
}

static const struct np_policy *no_such(const char *name, char *err, size_t err_len)
{
	size_t at;

	np_fail(err, err_len, 0, "no policy \"%s\"; use one of ", name);
	at = strlen(err);
	for (size_t i = 0; np_policies[i] && at < err_len; i++)
		at += (size_t)snprintf(err + at, err_len - at, "%s%s", i ? ", " : "",
				       np_policies[i]->name);
	return NULL;
}

/* What is wrong with one option of a plug-in's table, or NULL. */
static const char *option_fault(const struct np_option *o)
{
	size_t words = 0;

	if (!o->unit || !o->meaning)
		return "has no unit or no meaning";
	switch (o->type) {
	case NP_OPT_BOOL:
		return NULL;
	case NP_OPT_ENUM:
		while (o->words && o->words[words])
			words++;
		return o->def >= 0 && o->def < (double)words ? NULL :
		       "has no words, or a default that is none of them";
	case NP_OPT_INT:
	case NP_OPT_DOUBLE:
		return o->def >= o->min && o->def <= o->max ? NULL :
		       "has a default outside its range";
	}
	return "has a type that does not exist";
}

static int check_policy(const char *path, const struct np_policy *p, char *err, size_t err_len)
{
	if (!p || !p->name || !p->summary || !p->origin || !p->needs || !p->plan)
		return np_fail(err, err_len, -EINVAL, "policy %s lacks a name, summary, origin, "
			       "needs or plan()", path);
	for (size_t i = 0; p->option && p->option[i].name; i++) {
		const char *fault = i == NP_OPTIONS_MAX ? "is one too many" :
				    option_fault(&p->option[i]);

		if (fault)
			return np_fail(err, err_len, -EINVAL, "policy %s: its option %s %s", path,
				       p->option[i].name, fault);
	}
	return 0;
}

static const struct np_policy *load(const char *name, char *err, size_t err_len)
{
	const struct np_plugin *plugin;
	char path[4096];
	void *object;

	/* Without a slash dlopen(3) would look among the system's libraries. */
	snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : "./", name);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		np_fail(err, err_len, 0, "policy %s cannot be loaded: %s", name, dlerror());
		return NULL;
	}
	plugin = dlsym(object, SYMBOL);
	if (!plugin)
		np_fail(err, err_len, 0, "policy %s has no symbol " SYMBOL "; end its source with "
			"NP_POLICY_PLUGIN(the_policy)", name);
	else if (plugin->abi != NP_POLICY_ABI)
		np_fail(err, err_len, 0, "policy %s was built with policy.h of ABI %u, this is "
			"ABI %u; build it again", name, plugin->abi, NP_POLICY_ABI);
	else if (plugin->size != NP_POLICY_SIZE)
		np_fail(err, err_len, 0, "policy %s was built with another policy.h of the same "
			"ABI (%u bytes of structures, here %zu); build it again", name,
			plugin->size, NP_POLICY_SIZE);
	else if (!check_policy(name, plugin->policy, err, err_len))
		return plugin->policy;
	dlclose(object);
	return NULL;
}

const struct np_policy *np_policy_named(const char *name, char *err, size_t err_len)
{
	const struct np_policy *p = np_policy_find(name);

	if (p)
		return p;
	return is_file(name) ? load(name, err, err_len) : no_such(name, err, err_len);
}
