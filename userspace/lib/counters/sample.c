// SPDX-License-Identifier: GPL-2.0-only
#include "sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 64.0

int np_counter_sample_begin(struct np_counter_sample *c, const struct np_machine *m,
			    const pid_t *pids, size_t n, struct np_err *err)
{
	int e = -ENOMEM;

	*c = (struct np_counter_sample) { .n = n };
	c->subject = calloc(n + 1, sizeof(*c->subject));
	c->before = calloc(n + 1, sizeof(*c->before));
	c->counted = calloc(n + 1, sizeof(*c->counted));
	for (size_t i = 0; c->subject && i < n; i++)
		c->subject[i] = (struct np_subject) { -1, pids[i] };
	if (!c->subject || !c->before || !c->counted)
		np_fail(err, e, "out of memory");
	else
		e = np_counters_open(&c->counters, m, c->subject, n, err);
	if (e) {
		np_counter_sample_free(c);
		return e;
	}
	np_node_traffic_read(&c->dram_before, m);
	np_counters_read(&c->counters, c->before);
	return 0;
}

void np_counter_sample_end(struct np_counter_sample *c)
{
	/* In the order of np_counter_sample_begin(), so that both count for the same time. */
	if (c->dram_before.lines && !np_node_traffic_read(&c->dram, c->counters.machine))
		np_node_traffic_since(&c->dram, &c->dram_before);
	np_counters_read(&c->counters, c->counted);
	for (size_t i = 0; i < c->n; i++)
		c->counted[i] = np_reading_between(&c->before[i], &c->counted[i]);
	c->seconds = c->n ? c->counted[0].seconds : 0;
	np_counters_close(&c->counters);
}

void np_counter_sample_free(struct np_counter_sample *c)
{
	free(c->subject);
	free(c->before);
	free(c->counted);
	np_node_traffic_free(&c->dram);
	np_node_traffic_free(&c->dram_before);
	*c = (struct np_counter_sample) { 0 };
}

static struct np_known known(const struct np_count *c, double factor)
{
	struct np_known k = { 0 };

	if (c->source)
		k = (struct np_known) { c->value * factor, NP_PROVENANCE_COUNTERS };
	return k;
}

static void set(struct np_known *field, struct np_known k)
{
	if (k.source != NP_PROVENANCE_NONE)
		*field = k;
}

static void fill_rates(struct np_task *task, const struct np_reading *r)
{
	struct np_count ipc = np_reading_ipc(r), mpki = np_reading_mpki(r);
	struct np_count local = np_reading_local_share(r), dram = r->event[NP_REMOTE_DRAM];
	struct np_known k = known(&mpki, 1);

	set(&task->ipc, known(&ipc, 1));
	set(&task->local_access, known(&local, 1));
	if (r->seconds > 0)
		set(&task->cycles, known(&r->event[NP_CYCLES], 1 / r->seconds));
	if (r->event[NP_LOCAL_DRAM].source && dram.source && r->seconds > 0) {
		dram.value += r->event[NP_LOCAL_DRAM].value;
		set(&task->bandwidth, known(&dram, LINE_BYTES / r->seconds));
	}
	if (k.source != NP_PROVENANCE_NONE) {
		task->mpki = k.value;
		task->mpki_source = k.source;
	}
}

static void use_accesses(struct np_task *task, double *room, size_t k, double seconds)
{
	for (size_t node = 0; node < k; node++)
		room[node] /= seconds;
	task->accesses = room;
	task->accesses_source = NP_PROVENANCE_COUNTERS;
}

/*
 * The lab's CPUs say it of each node; what they counted is the task's where its reading is.
 * They count writes too: memory is busy with them, though no core waits.
 */
static bool fill_by_node(const struct np_counter_sample *c, const struct np_reading *r,
			 const struct bitmask *cpus, struct np_task *task, double *room)
{
	double all = 0, writes;

	if (!c->dram.lines || !r->event[NP_LOCAL_DRAM].source)
		return false;
	memset(room, 0, c->dram.n_nodes * sizeof(*room));
	writes = np_node_traffic_sum(&c->dram, cpus, room);
	for (size_t node = 0; node < c->dram.n_nodes; node++)
		all += room[node];
	if (all > 0) {
		task->writes = (struct np_known) { writes / all, NP_PROVENANCE_COUNTERS };
		task->bandwidth.value *= all / (all - writes);
	}
	use_accesses(task, room, c->dram.n_nodes, r->seconds);
	return true;
}

/* Of two nodes one is the task's own and the other is all that is remote. */
static void fill_two_nodes(const struct np_reading *r, const struct np_machine *m,
			   struct np_task *task, double *room)
{
	const struct np_count *local = &r->event[NP_LOCAL_DRAM],
			      *remote = &r->event[NP_REMOTE_DRAM];

	if (m->n_nodes != 2 || task->node == NP_NODE_NONE || !local->source || !remote->source)
		return;
	room[task->node] = local->value;
	room[1 - task->node] = remote->value;
	use_accesses(task, room, 2, r->seconds);
}

void np_counter_sample_fill(const struct np_counter_sample *c, size_t i, const struct np_machine *m,
			    const struct bitmask *cpus, struct np_task *task, double *room)
{
	const struct np_reading *r = &c->counted[i];

	fill_rates(task, r);
	if (room && r->seconds > 0 && !fill_by_node(c, r, cpus, task, room))
		fill_two_nodes(r, m, task, room);
}

void np_counter_sample_traffic(const struct np_counter_sample *c, struct np_machine *m)
{
	double *sum = calloc(m->n_nodes + 1, sizeof(*sum));

	if (sum && c->dram.lines && c->dram.n_nodes == m->n_nodes && c->seconds > 0) {
		np_node_traffic_sum(&c->dram, NULL, sum);
		for (size_t node = 0; node < m->n_nodes; node++)
			m->node[node].traffic = (struct np_known) {
				sum[node] * LINE_BYTES / c->seconds,
				NP_PROVENANCE_COUNTERS,
			};
	}
	free(sum);
}
