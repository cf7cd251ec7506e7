// SPDX-License-Identifier: GPL-2.0-only
/* A plan that was made before, for the machine and the tasks as they are now. */
#include <errno.h>
#include <numa.h>
#include <stdio.h>
#include <string.h>

#include "../host/numa_balancing.h"
#include "../host/proc.h"
#include "../host/reclaimable.h"
#include "file_moves.h"
#include "plan_read.h"

static int stale(const struct np_plan_source *s, const char *why)
{
	return np_fail(s->err, -ESTALE, "%s cannot be applied: %s; make a new one", s->what, why);
}

/* MemTotal changes by some pages when the kernel frees what only the boot needed. */
static bool same_memory(const struct np_node *a, const struct np_node *b)
{
	uint64_t more = a->mem_total > b->mem_total ? a->mem_total : b->mem_total;
	uint64_t less = a->mem_total > b->mem_total ? b->mem_total : a->mem_total;

	return a->has_memory == b->has_memory && more - less <= more / 100;
}

/* Why the machine is not the same any more; false when it is. */
static bool differs(const struct np_machine *then, const struct np_machine *now, char *why,
		    size_t len)
{
	if (strcmp(then->name, now->name))
		return snprintf(why, len, "it was made on machine %s, this is %s", then->name,
				now->name);
	if (then->n_nodes != now->n_nodes)
		return snprintf(why, len, "the machine had %zu nodes and has %zu", then->n_nodes,
				now->n_nodes);
	for (size_t i = 0; i < now->n_nodes; i++) {
		const struct np_node *a = &then->node[i], *b = &now->node[i];

		if (a->id != b->id)
			return snprintf(why, len, "the machine had node %d and has node %d", a->id,
					b->id);
		if (!same_memory(a, b))
			return snprintf(why, len, "node %d had %llu MiB of memory and has %llu",
					a->id, (unsigned long long)a->mem_total >> 20,
					(unsigned long long)b->mem_total >> 20);
	}
	for (size_t cpu = 0; cpu < then->n_cpus || cpu < now->n_cpus; cpu++) {
		int a = cpu < then->n_cpus ? then->cpu_node[cpu] : NP_NODE_NONE;
		int b = cpu < now->n_cpus ? now->cpu_node[cpu] : NP_NODE_NONE;

		if (a != b)
			return snprintf(why, len, "CPU %zu was %s and is %s", cpu,
					a == NP_NODE_NONE ? "offline" : "online",
					b == NP_NODE_NONE ? "offline" :
					a == NP_NODE_NONE ? "online" :
							    "on another node");
	}
	for (size_t i = 0; i < now->n_nodes * now->n_nodes; i++)
		if (then->distance[i] != now->distance[i])
			return snprintf(why, len,
					"the distance from node %d to %d was %d and is %d",
					now->node[i / now->n_nodes].id,
					now->node[i % now->n_nodes].id, then->distance[i],
					now->distance[i]);
	return false;
}

static int check(const struct np_plan_source *s, const struct np_request *p,
		 const struct np_machine *now)
{
	char why[160], boot[sizeof(p->boot)];

	if (!p->boot[0])
		return stale(s, "it was made from a snapshot, not from running tasks");
	if (differs(&p->machine, now, why, sizeof(why)))
		return stale(s, why);
	np_boot_id(boot, sizeof(boot));
	return strcmp(boot, p->boot) ? stale(s, "the machine was booted since") : 0;
}

/* Pages and CPUs of task i as they are now; false when it has exited. */
static bool refresh(struct np_request *p, size_t i)
{
	size_t nodes = p->machine.n_nodes;
	struct np_tasks now;
	struct np_err err;
	bool same;

	if (np_tasks_read(&now, &p->machine, &p->tasks.task[i].pid, 1, &err))
		return false;
	same = now.start[0] == p->tasks.start[i];
	if (same) {
		memcpy(p->tasks.pages + i * nodes, now.pages, nodes * sizeof(*now.pages));
		memcpy(p->tasks.shm_pages + i * nodes, now.shm_pages,
		       nodes * sizeof(*now.shm_pages));
		if (p->tasks.file_pages)
			memcpy(p->tasks.file_pages + i * nodes, now.file_pages,
			       nodes * sizeof(*now.file_pages));
		copy_bitmask_to_bitmask(now.cpus[0], p->tasks.cpus[i]);
		p->tasks.task[i].node = now.task[0].node;
		p->tasks.task[i].threads = now.task[0].threads;
		memcpy(p->tasks.task[i].memory, now.task[0].memory, NP_MEMORY_LEN);
	}
	np_tasks_free(&now);
	return same;
}

static int renew(const struct np_plan_source *s, struct np_request *p, struct np_machine *now,
		 size_t *gone)
{
	int e = check(s, p, now);

	if (e)
		return e;
	np_plan_free(&p->plan);
	np_machine_free(&p->machine);
	p->machine = *now;
	*now = (struct np_machine) { 0 };
	*gone = 0;
	/* A plan says what its policy saw: files are among these pages, until they are read anew. */
	if (!p->tasks.file_pages)
		p->tasks.file_pages = calloc(p->tasks.n * p->machine.n_nodes + 1,
					     sizeof(*p->tasks.file_pages));
	if (!p->tasks.file_pages)
		return np_fail(s->err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < p->tasks.n; i++)
		*gone += !refresh(p, i);
	p->balancing = np_balancing_read();
	if (np_request_count_files(p))
		return np_fail(s->err, -ENOMEM, "out of memory");
	e = np_request_limit(p, p->override, s->err);
	if (!e)
		e = np_plan_decide(s, p);
	return e ? e : np_request_plan_files(p, s->err);
}

int np_plan_file_renew(struct np_request *p, const char *path, size_t *gone, struct np_err *err)
{
	struct np_plan_source s;
	struct np_machine now;
	int e = np_plan_source_read(&s, p, path, err);

	if (!e) {
		e = np_machine_read(&now, "", err);
		if (!e) {
			np_reclaimable_add(&now);
			e = renew(&s, p, &now, gone);
			np_machine_free(&now);
		}
		if (e)
			np_request_free(p);
	}
	json_decref(s.root);
	return e;
}
