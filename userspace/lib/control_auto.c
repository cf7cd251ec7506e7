// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module, and plain system calls for what it leaves behind: where the
 * kernel has no MIGRATE_VMA_SELECT_COMPOUND a module can move a transparent huge
 * page only by splitting it, move_pages(2) moves it whole.
 */
#include <string.h>
#include <unistd.h>

#include "control_engines.h"
#include "move.h"
#include "spread.h"

static uint64_t take(uint64_t *left, uint64_t *from)
{
	uint64_t n = *left < *from ? *left : *from;

	*left -= n;
	*from -= n;
	return n;
}

/* Huge pages first, since they are why the second engine was asked. */
void np_migrate_merge(struct np_migrate_result *out, const struct np_migrate_result *rest)
{
	uint64_t left = rest->moved, moved = take(&left, &out->thp_split);

	moved += take(&left, &out->hugetlb);
	moved += take(&left, &out->busy);
	out->moved += moved;
	out->bytes += moved * (uint64_t)sysconf(_SC_PAGESIZE);
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

static int auto_memory(pid_t pid, int *mode, struct bitmask **nodes)
{
	return np_control_module.memory(pid, mode, nodes);
}

const struct np_control np_control_auto = {
	.name = "module",
	.probe = auto_probe,
	.place = auto_place,
	.migrate = auto_migrate,
	.spread = np_spread_pages,
	.memory = auto_memory,
	.restore = auto_restore,
};
