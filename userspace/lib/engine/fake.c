// SPDX-License-Identifier: GPL-2.0-only
/* Touches nothing and remembers what it was asked, for tests of what uses an engine. */
#include <errno.h>

#include "engines.h"

struct np_fake np_fake;

static int answer(pid_t pid, unsigned int *count, char *err, size_t err_len)
{
	np_fake.pid = pid;
	if (np_fake.fail_at && --np_fake.fail_at == 0)
		return np_fail(err, err_len, np_fake.error, "the fake engine was told to fail");
	(*count)++;
	return 0;
}

static int fake_probe(char *err, size_t err_len)
{
	return np_fail(err, err_len, 0, "%s", "");
}

static int fake_place(const struct np_place_request *r, char *err, size_t err_len)
{
	return answer(r->pid, &np_fake.placed, err, err_len);
}

static int fake_migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
			char *err, size_t err_len)
{
	*out = np_fake.result;
	out->engine = "fake";
	if (r->progress && !r->progress(out, r->progress_arg))
		return np_fail(err, err_len, -ECANCELED, "cancelled");
	return answer(r->pid, &np_fake.migrated, err, err_len);
}

static int fake_spread(const struct np_spread_request *r, struct np_migrate_result *out,
		       char *err, size_t err_len)
{
	*out = np_fake.result;
	out->engine = "fake";
	return answer(r->pid, &np_fake.migrated, err, err_len);
}

static int fake_restore(const struct np_whose *whose, size_t *n, size_t *kept, char *err,
			size_t err_len)
{
	*kept = 0;
	*n = np_fake.placed;
	return answer(whose->n ? whose->pids[0] : 0, &np_fake.restored, err, err_len);
}

static int fake_undo(const struct np_undo *u, size_t n, char *err, size_t err_len)
{
	return answer(n ? u[0].pid : 0, &np_fake.restored, err, err_len);
}

const struct np_control np_control_fake = {
	.name = "fake",
	.probe = fake_probe,
	.place = fake_place,
	.undo = fake_undo,
	.migrate = fake_migrate,
	.spread = fake_spread,
	.restore = fake_restore,
};
