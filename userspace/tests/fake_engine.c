// SPDX-License-Identifier: GPL-2.0-only
/* Succeeds and touches nothing, for tests of what uses an engine. */
#include "fixture.h"

static int place(const struct np_place_request *r, struct np_err *err)
{
	return 0;
}

static int undo(const struct np_undo *u, size_t n, struct np_err *err)
{
	return 0;
}

static int migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
		   struct np_err *err)
{
	*out = (struct np_migrate_result) { .engine = "fake" };
	return 0;
}

static int restore(const struct np_whose *whose, size_t *n, size_t *kept, struct np_err *err)
{
	*n = *kept = 0;
	return 0;
}

const struct np_engine_ops fake_engine = {
	.name = "fake",
	.place = place,
	.undo = undo,
	.migrate = migrate,
	.restore = restore,
};
