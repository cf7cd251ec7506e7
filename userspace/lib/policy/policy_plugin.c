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

/* The loaded plug-ins, which stay loaded. */
static struct loaded {
	const void *symbol;
	struct np_plugin plugin; /* what an older header does not know of it is 0 */
	struct np_policy policy;
	struct loaded *next;
} *all_loaded;

static int check_sizes(const char *path, const struct np_sizes *its, struct np_err *err)
{
	static const char *const names[] = {
		"machine", "node", "task", "decision", "plan", "option", "policy",
	};
	static const struct np_sizes ours = NP_SIZES;
	const uint32_t *a = (const void *)its, *b = (const void *)&ours;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (a[i] > b[i])
			return np_fail(err, -EINVAL,
				       "policy %s was built with a newer policy.h: "
				       "struct np_%s has %u bytes, here %u; build it with this "
				       "numaplace's, or use a newer numaplace",
				       path, names[i], a[i], b[i]);
	return 0;
}

static int check_plugin(const char *path, const struct np_plugin *plugin, struct np_err *err)
{
	if (plugin->abi != NP_POLICY_ABI)
		return np_fail(err, -EINVAL,
			       "policy %s was built with policy.h of ABI %u, "
			       "this is ABI %u; build it again",
			       path, plugin->abi, NP_POLICY_ABI);
	if (plugin->size > sizeof(*plugin))
		return np_fail(err, -EINVAL,
			       "policy %s was built with a newer policy.h: struct "
			       "np_plugin has %u bytes, here %zu; build it with this numaplace's, or "
			       "use a newer numaplace",
			       path, plugin->size, sizeof(*plugin));
	return 0;
}

/* Its table with options of this header's size. */
static const struct np_option *copy_options(const struct np_policy *p, size_t size)
{
	const char *from = (const char *)p->option;
	struct np_option *to;
	size_t n = 0;

	while (((const struct np_option *)(const void *)(from + n * size))->name)
		n++;
	to = calloc(n + 1, sizeof(*to));
	for (size_t i = 0; to && i < n; i++)
		memcpy(&to[i], from + i * size, size);
	return to;
}

/* The policy as this header has it. 0 or -errno. */
static int take_over(struct loaded *l, const char *path, struct np_err *err)
{
	const struct np_sizes *sizes = &l->plugin.sizes;
	int e = check_sizes(path, sizes, err);

	if (e)
		return e;
	if (l->plugin.policy)
		memcpy(&l->policy, l->plugin.policy, sizes->policy);
	l->policy.built_with = sizes;
	if (l->policy.option) {
		l->policy.option = copy_options(&l->policy, sizes->option);
		if (!l->policy.option)
			return np_fail(err, -ENOMEM, "out of memory");
	}
	return np_policy_check(path, &l->policy, err);
}

static struct loaded *find_loaded(const void *symbol)
{
	struct loaded *l = all_loaded;

	while (l && l->symbol != symbol)
		l = l->next;
	return l;
}

static const struct np_policy *take(const char *path, const struct np_plugin *symbol,
				    struct np_err *err)
{
	struct loaded *l = find_loaded(symbol);

	if (l)
		return &l->policy;
	if (check_plugin(path, symbol, err))
		return NULL;
	l = calloc(1, sizeof(*l));
	if (!l) {
		np_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	l->symbol = symbol;
	memcpy(&l->plugin, symbol, symbol->size);
	if (take_over(l, path, err)) {
		free((void *)l->policy.option);
		free(l);
		return NULL;
	}
	l->next = all_loaded;
	all_loaded = l;
	return &l->policy;
}

const struct np_policy *np_plugin_load(const char *name, struct np_err *err)
{
	const struct np_policy *p = NULL;
	const struct np_plugin *symbol;
	char path[4096];
	void *object;

	/* Without a slash dlopen(3) would look among the system's libraries. */
	snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : "./", name);
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		np_fail(err, 0, "policy %s cannot be loaded: %s", name, dlerror());
		return NULL;
	}
	symbol = dlsym(object, SYMBOL);
	if (symbol)
		p = take(name, symbol, err);
	else
		np_fail(err, 0,
			"policy %s has no symbol " SYMBOL "; end its source with "
			"NP_POLICY_PLUGIN(the_policy)",
			name);
	if (!p)
		dlclose(object);
	return p;
}
