// SPDX-License-Identifier: GPL-2.0-only
#include "policy_plugin.h"

#include <dlfcn.h>
#include <errno.h>

#define SYMBOL "numaplace_plugin"

/* The fault of one option of a plug-in's table, or NULL. */
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
		return o->def >= 0 && o->def < (double)words ?
			       NULL :
			       "has no words, or a default that is none of them";
	case NP_OPT_INT:
	case NP_OPT_DOUBLE:
		return o->def >= o->min && o->def <= o->max ? NULL :
							      "has a default outside its range";
	}
	return "has a type that does not exist";
}

int np_policy_check(const char *path, const struct np_policy *p, struct np_err *err)
{
	if (!p || !p->name || !p->summary || !p->origin || !p->needs || (!p->plan && !p->plan_as))
		return np_fail(err, -EINVAL,
			       "policy %s lacks a name, summary, origin, needs or plan()", path);
	for (size_t i = 0; p->option && p->option[i].name; i++) {
		const char *fault = i == NP_OPTIONS_MAX ? "is one too many" :
							  option_fault(&p->option[i]);

		if (fault)
			return np_fail(err, -EINVAL, "policy %s: its option %s %s", path,
				       p->option[i].name, fault);
	}
	return 0;
}

static int check_plugin(const char *path, const struct np_plugin *plugin, struct np_err *err)
{
	static const uint32_t sizes[] = NP_SIZES;

	if (plugin->abi != NP_POLICY_ABI || memcmp(plugin->sizes, sizes, sizeof(sizes)))
		return np_fail(err, -EINVAL,
			       "policy %s was built with the policy.h of another version: build it "
			       "again with that of this numaplace",
			       path);
	return np_policy_check(path, plugin->policy, err);
}

const struct np_policy *np_plugin_load(const char *name, struct np_err *err)
{
	const struct np_plugin *plugin;
	char path[4096];
	void *object;

	/* Without a slash dlopen(3) would look among the system's libraries. */
	snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : "./", name);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		np_fail(err, 0, "policy %s cannot be loaded: %s", name, dlerror());
		return NULL;
	}
	plugin = dlsym(object, SYMBOL);
	if (plugin && !check_plugin(name, plugin, err))
		return plugin->policy;
	if (!plugin)
		np_fail(err, 0,
			"policy %s has no symbol " SYMBOL "; end its source with "
			"NP_POLICY_PLUGIN(the_policy)",
			name);
	dlclose(object);
	return NULL;
}
