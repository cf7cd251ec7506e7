// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module, and plain system calls for what it leaves behind: before Linux
 * 6.19 or so a module cannot move a transparent huge page whole, move_pages(2) can.
 */
#include <string.h>
#include <unistd.h>

#include "control_engines.h"
#include "move.h"

/* Huge pages first, since they are why the second engine was asked. */
void np_migrate_merge(struct np_migrate_result *out, const struct np_migrate_result *rest)
{
	uint64_t huge = rest->moved < out->thp_split ? rest->moved : out->thp_split;
	uint64_t busy = rest->moved - huge < out->busy ? rest->moved - huge : out->busy;

	out->thp_split -= huge;
	out->busy -= busy;
	out->moved += huge + busy;
	out->bytes += (huge + busy) * (uint64_t)sysconf(_SC_PAGESIZE);
	out->ns += rest->ns;
	out->engine = "module+syscall";
}

static int auto_migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
			char *err, size_t err_len)
{
	struct np_migrate_result rest;
	int e = np_control_module.migrate(r, out, err, err_len);

	if (e || !out->thp_split)
		return e;
	e = np_move_pages(r, &rest, err, err_len);
	np_migrate_merge(out, &rest);
	return e;
}

static int auto_probe(char *err, size_t err_len)
{
	return np_control_module.probe(err, err_len);
}

static int auto_place(const struct np_place_request *r, char *err, size_t err_len)
{
	return np_control_module.place(r, err, err_len);
}

static int auto_restore(pid_t pid, size_t *n, size_t *kept, char *err, size_t err_len)
{
	return np_control_module.restore(pid, n, kept, err, err_len);
}

const struct np_control np_control_auto = {
	.name = "module",
	.probe = auto_probe,
	.place = auto_place,
	.migrate = auto_migrate,
	.restore = auto_restore,
};
