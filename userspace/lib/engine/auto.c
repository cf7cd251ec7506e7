// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module, and plain system calls for what it leaves behind: move_pages(2) moves
 * kinds of pages that a module cannot, such as hugetlb and, where the kernel has no
 * MIGRATE_VMA_SELECT_COMPOUND, transparent huge pages without splitting them.
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "engines.h"
#include "module.h"
#include "move_pages.h"
#include "spread_pages.h"

static const struct reason {
	const char *name;
	size_t at; /* of the count in struct np_migrate_result */
} reasons[] = {
#define X(name) { #name, offsetof(struct np_migrate_result, name) },
	NUMAPLACE_COUNTS(X)
#undef X
};

#define N_REASONS (sizeof(reasons) / sizeof(reasons[0]))

static uint64_t *count_of(struct np_migrate_result *r, const struct reason *reason)
{
	return (uint64_t *)((char *)r + reason->at);
}

/* Reasons that keep a page from move_pages(2) as well: its node, its use, a full node. */
static const char *const stays_for_all[] = {
	"moved", "already", "absent", "pinned", "shared", "no_memory",
};

static bool stays(const struct reason *reason)
{
	for (size_t i = 0; i < sizeof(stays_for_all) / sizeof(stays_for_all[0]); i++)
		if (!strcmp(reason->name, stays_for_all[i]))
			return true;
	return false;
}

static bool is(const struct reason *reason, const char *name)
{
	return !strcmp(reason->name, name);
}

/*
 * Pages that only the module's way of moving leaves; busy ones are not worth a walk of
 * their own. huge: those that lie among anonymous small pages.
 */
static uint64_t left_by_kind(struct np_migrate_result *out, bool files, uint64_t *huge)
{
	uint64_t left = 0;

	*huge = 0;
	for (size_t i = 0; i < N_REASONS; i++) {
		if (stays(&reasons[i]) || is(&reasons[i], "busy"))
			continue;
		if (!is(&reasons[i], "file") && !is(&reasons[i], "hugetlb"))
			*huge += *count_of(out, &reasons[i]);
		if (files || !is(&reasons[i], "file"))
			left += *count_of(out, &reasons[i]);
	}
	return left;
}

static uint64_t take(uint64_t *left, uint64_t *from)
{
	uint64_t n = *left < *from ? *left : *from;

	*left -= n;
	*from -= n;
	return n;
}

/*
 * Kinds first, since they are why the second engine was asked, then what was busy. Of
 * files there are fewer left than the call says only where it did not look at them.
 */
void np_migrate_merge(struct np_migrate_result *out, const struct np_migrate_result *rest)
{
	uint64_t left = rest->moved, moved = 0, files = 0;
	uint64_t movable_files = out->file > rest->file ? out->file - rest->file : 0;

	for (size_t i = 0; i < N_REASONS; i++)
		if (!stays(&reasons[i]) && !is(&reasons[i], "busy") && !is(&reasons[i], "file"))
			moved += take(&left, count_of(out, &reasons[i]));
	files = take(&left, &movable_files);
	out->file -= files;
	moved += files;
	moved += take(&left, &out->busy);
	out->moved += moved;
	out->bytes += moved * (uint64_t)sysconf(_SC_PAGESIZE);
	out->ns += rest->ns;
	out->engine = "module+syscall";
}

static int auto_migrate(const struct np_migrate_request *r, struct np_migrate_result *out,
			struct np_err *err)
{
	struct np_migrate_request again = *r;
	struct np_migrate_result rest;
	uint64_t huge;
	int e = np_module_migrate(r, out, err);

	if (e || !left_by_kind(out, r->files, &huge) || (r->limit && out->moved >= r->limit))
		return e;
	again.limit = r->limit ? r->limit - out->moved : 0;
	again.no_small = !huge;
	e = np_move_pages(&again, &rest, err);
	np_migrate_merge(out, &rest);
	return e;
}

const struct np_engine_ops np_engine_auto = {
	.name = "module",
	.probe = np_module_ready,
	.place = np_module_place,
	.undo = np_module_undo,
	.migrate = auto_migrate,
	.spread = np_spread_pages,
	.memory = np_module_memory,
	.restore = np_module_restore,
};
