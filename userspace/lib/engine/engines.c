// SPDX-License-Identifier: GPL-2.0-only
#include "engines.h"

#include <errno.h>
#include <string.h>

const struct np_engine_ops *np_engine_get(enum np_engine engine, struct np_err *err)
{
	const struct np_engine_ops *ops = NULL;

	switch (engine) {
	case NP_ENGINE_AUTO:
		ops = np_engine_auto.probe(err) ? &np_engine_syscall : &np_engine_auto;
		break;
	case NP_ENGINE_MODULE:
		ops = &np_engine_module;
		break;
	case NP_ENGINE_SYSCALL:
		ops = &np_engine_syscall;
		break;
	}
	return ops && !ops->probe(err) ? ops : NULL;
}

int np_engine_restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err)
{
	const struct np_engine_ops *ops = np_engine_module.probe(err) ? &np_engine_syscall :
									&np_engine_module;

	return ops->restore(whose, n, kept, err);
}

bool np_engine_hidden(struct np_err *err)
{
	return np_engine_module.probe(err) == -EPERM;
}

int np_engine_exit(int r)
{
	switch (r) {
	case 0:
		return 0;
	case -EOPNOTSUPP:
	case -EPROTO:
	case -ENOSYS:
		return 3;
	default:
		return 1;
	}
}

int np_engine_parse(const char *word, enum np_engine *engine)
{
	static const struct {
		const char *word;
		enum np_engine engine;
	} engines[] = {
		{ "auto", NP_ENGINE_AUTO },
		{ "module", NP_ENGINE_MODULE },
		{ "syscall", NP_ENGINE_SYSCALL },
	};

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		if (!strcmp(word, engines[i].word)) {
			*engine = engines[i].engine;
			return 0;
		}
	}
	return -EINVAL;
}
