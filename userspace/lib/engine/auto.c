// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module, and plain system calls for what it leaves behind: move_pages(2) moves
 * kinds of pages that a module cannot, such as hugetlb, anonymous pages that several
 * processes map and, where the kernel has no MIGRATE_VMA_SELECT_COMPOUND, transparent
 * huge pages without splitting them.
 */
#include <unistd.h>

#include "engines.h"
#include "module.h"
#include "move_pages.h"

/*
 * A new count goes into left_by_kind() and np_migrate_merge() where move_pages(2) moves
 * its pages.
 */
#define X(name) 1 +
_Static_assert(NUMAPLACE_COUNTS(X) 0 == 11, "counts that are known here");
#undef X

/*
 * Pages that only the module's way of moving leaves; busy ones are not worth a walk of
 * their own. small: those that lie among anonymous small pages.
 */
static uint64_t left_by_kind(const struct np_migrate_request *r,
			     const struct np_migrate_result *out, uint64_t *small)
{
	*small = out->thp_split + out->no_huge + (r->shared ? out->shared : 0);
	return *small + (r->files ? out->file + out->hugetlb : 0);
}

static uint64_t take(uint64_t *left, uint64_t *from)
{
	uint64_t n = *left < *from ? *left : *from;

	*left -= n;
	*from -= n;
	return n;
}

/* still: how many of the kind the call has left, fewer only where it did not look at them. */
static uint64_t take_kind(uint64_t *left, uint64_t *from, uint64_t still)
{
	uint64_t movable = *from > still ? *from - still : 0;
	uint64_t n = take(left, &movable);

	*from -= n;
	return n;
}

/* Kinds first, since they are why the second engine was asked, then what was busy. */
void np_migrate_merge(struct np_migrate_result *out, const struct np_migrate_result *rest)
{
	uint64_t left = rest->moved, moved = 0;

	moved += take(&left, &out->hugetlb);
	moved += take(&left, &out->thp_split);
	moved += take(&left, &out->no_huge);
	moved += take_kind(&left, &out->file, rest->file);
	moved += take_kind(&left, &out->shared, rest->shared);
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
	uint64_t small;
	int e = np_engine_module.migrate(r, out, err);

	if (e || r->share || r->dry || !left_by_kind(r, out, &small) ||
	    (r->limit && out->moved >= r->limit))
		return e;
	again.limit = r->limit ? r->limit - out->moved : 0;
	again.no_small = !small;
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
	.memory = np_module_memory,
	.restore = np_module_restore,
};
