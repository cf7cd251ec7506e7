// SPDX-License-Identifier: GPL-2.0-only
#include "task_room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An array of n items grown to more, the new ones 0. */
static bool grow(void *array, size_t n, size_t more, size_t size)
{
	char *bigger = realloc(*(void **)array, (n + more) * size);

	if (!bigger)
		return false;
	memset(bigger + n * size, 0, more * size);
	*(void **)array = bigger;
	return true;
}

int np_tasks_add(struct np_tasks *t, const struct np_machine *m, size_t count)
{
	size_t k = m->n_nodes;

	if (!grow(&t->task, t->n, count, sizeof(*t->task)) ||
	    !grow(&t->pages, t->n * k, count * k, sizeof(*t->pages)) ||
	    !grow(&t->shm_pages, t->n * k, count * k, sizeof(*t->shm_pages)) ||
	    !grow(&t->file_pages, t->n * k, count * k, sizeof(*t->file_pages)) ||
	    !grow(&t->start, t->n, count, sizeof(*t->start)) ||
	    !grow(&t->cpus, t->n, count, sizeof(struct bitmask *)))
		return -ENOMEM;
	t->n += count;
	for (size_t i = 0; i < t->n; i++) {
		t->task[i].pages = t->pages + i * k;
		t->task[i].shm_pages = t->shm_pages + i * k;
	}
	return 0;
}
