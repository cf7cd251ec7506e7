// SPDX-License-Identifier: GPL-2.0-only
#include "move_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cpulist.h"

/* Pages; fewer are not worth a walk over all that the task has. */
#define NOT_WORTH_A_CALL 64

static int move(const struct np_mover *m, struct np_migrate_request *r, uint64_t *moved,
		struct np_err *err)
{
	struct np_migrate_result result;
	int e;

	memset(&result, 0, sizeof(result));
	r->keep_chosen = true;
	r->rate_mib = m->throttle.rate_mib;
	r->max_stall_us = m->throttle.max_stall_us;
	r->progress = m->go_on;
	r->progress_arg = m->arg;
	e = m->engine->migrate(r, &result, err);
	if (m->report && (!e || result.asked))
		m->report(&result, m->arg);
	*moved += result.moved;
	return e == -ECANCELED ? -EINTR : e;
}

int np_move_whole(const struct np_mover *m, pid_t pid, const struct bitmask *from, int to,
		  uint64_t *moved, struct np_err *err)
{
	struct np_migrate_request r = { .pid = pid, .from = from, .to = to };

	return move(m, &r, moved, err);
}

int np_move_part(const struct np_mover *m, pid_t pid, const struct bitmask *from, int to,
		 uint64_t limit, uint64_t *moved, struct np_err *err)
{
	struct np_migrate_request r = { .pid = pid, .from = from, .to = to, .limit = limit };

	return limit ? move(m, &r, moved, err) : 0;
}

static size_t count_short(const uint64_t *before, const uint64_t *have, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += before[i] > have[i];
	return count;
}

int np_move_back(const struct np_mover *m, const struct np_machine *machine, pid_t pid,
		 const uint64_t *before, const uint64_t *have, uint64_t *moved, struct np_err *err)
{
	size_t n = machine->n_nodes;
	bool one_home = count_short(before, have, n) == 1;
	uint64_t *missing = calloc(n, sizeof(*missing));
	struct bitmask *from = numa_bitmask_alloc(NP_MAX_NODES);
	int e = missing ? 0 : np_fail(err, -ENOMEM, "out of memory");

	for (size_t k = 0; !e && k < n; k++)
		missing[k] = before[k] > have[k] ? before[k] - have[k] : 0;
	for (size_t i = 0; !e && i < n; i++) {
		uint64_t over = have[i] > before[i] ? have[i] - before[i] : 0;

		numa_bitmask_clearall(from);
		numa_bitmask_setbit(from, (unsigned int)machine->node[i].id);
		for (size_t k = 0; !e && over && k < n; k++) {
			uint64_t amount = missing[k] < over ? missing[k] : over, back = 0;
			int to = machine->node[k].id;

			if (amount && one_home && !before[i])
				e = np_move_whole(m, pid, from, to, &back, err);
			else if (amount >= NOT_WORTH_A_CALL)
				e = np_move_part(m, pid, from, to, amount, &back, err);
			*moved += back;
			over -= amount;
			missing[k] -= amount;
		}
	}
	numa_bitmask_free(from);
	free(missing);
	return e;
}
