// SPDX-License-Identifier: GPL-2.0-only
/* Writes a snapshot. */
#include "snapshot.h"

#include "../counters/counters.h"
#include "json.h"
#include "policy_input.h"

/* Why the counters have nothing to say of it, or null. */
static json_t *why_json(const struct np_tasks *t, size_t i)
{
	const char *why = t->counted ? t->counted[i].event[NP_CYCLES].why : NULL;

	return why ? np_json_text(why) : json_null();
}

static json_t *task_json(const struct np_machine *m, const struct np_tasks *t, size_t i)
{
	json_t *j = np_json_task(m, &t->task[i]);

	json_object_set_new(j, "start", json_integer((json_int_t)t->start[i]));
	json_object_set_new(j, "cpus", np_json_list(t->cpus[i]));
	json_object_set_new(j, "file_pages",
			    np_json_pages(m,
					  t->file_pages ? t->file_pages + i * m->n_nodes : NULL));
	if (t->sampled && t->sampled[i] > 0)
		json_object_set_new(j, "pages_error", json_real(t->sampled[i]));
	json_object_set_new(j, "not_counted_because", why_json(t, i));
	return j;
}

json_t *np_snapshot_json_of(enum np_platform platform, const struct np_machine *m,
			    const struct np_tasks *t, const size_t *row, size_t n)
{
	json_t *tasks = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(tasks, task_json(m, t, row ? row[i] : i));
	return json_pack("{s:i,s:s,s:o,s:o}", "snapshot", NP_SNAPSHOT_VERSION, "platform",
			 np_platform_name(platform), "machine", np_json_machine(m), "tasks", tasks);
}

json_t *np_snapshot_json(enum np_platform platform, const struct np_machine *m,
			 const struct np_tasks *t)
{
	return np_snapshot_json_of(platform, m, t, NULL, t->n);
}
