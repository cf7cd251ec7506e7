// SPDX-License-Identifier: GPL-2.0-only
#include "profile.h"
#include "lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_USES     (1u << 12)
#define MOST_USES      (1u << 22) /* of a CPU: 128 MiB */
#define FIRST_CONTEXTS 64
#define PAGE	       4096ul

static struct {
	uint8_t lock;
	char *text;
	size_t len, size;
} notes;

static bool is_context(const struct np_context *c, uint64_t task, uint64_t cgroup, uint32_t regions)
{
	return c->task == task && c->cgroup == cgroup && c->regions == regions;
}

static void settle(struct np_profile *p)
{
	p->context[p->at].loads += p->loads;
	p->context[p->at].stores += p->stores;
	p->loads = p->stores = 0;
}

/* Where the context's number plus 1 stands, or 0 where it belongs. */
static uint32_t *find_slot(const struct np_profile *p, uint64_t task, uint64_t cgroup,
			   uint32_t regions)
{
	uint64_t hash = (task ^ cgroup * 0x9e3779b97f4a7c15u ^ regions) * 0xff51afd7ed558ccdu;
	size_t mask = 2 * p->contexts_size - 1;

	for (size_t i = hash >> 32;; i++) {
		uint32_t *slot = &p->slot[i & mask];

		if (!*slot || is_context(&p->context[*slot - 1], task, cgroup, regions))
			return slot;
	}
}

/* Room for so many contexts, with those that there are. Returns false: out of memory. */
static bool make_room(struct np_profile *p, size_t contexts)
{
	struct np_context *context = realloc(p->context, contexts * sizeof(*context));
	uint32_t *slot = calloc(2 * contexts, sizeof(*slot));

	if (context)
		p->context = context;
	if (!context || !slot) {
		free(slot);
		return false;
	}
	free(p->slot);
	p->slot = slot;
	p->contexts_size = contexts;
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct np_context *c = &p->context[i];

		*find_slot(p, c->task, c->cgroup, c->regions) = i + 1;
	}
	return true;
}

/* Out of memory: the present one goes on. */
static void enter(struct np_profile *p, uint64_t task, uint64_t cgroup, uint32_t regions)
{
	uint32_t *slot;

	settle(p);
	if (p->n_contexts == p->contexts_size && !make_room(p, 2 * p->contexts_size))
		return;
	slot = find_slot(p, task, cgroup, regions);
	if (!*slot) {
		p->context[p->n_contexts] = (struct np_context) { .task = task,
								  .cgroup = cgroup,
								  .regions = regions };
		*slot = ++p->n_contexts;
	}
	p->at = *slot - 1;
}

int np_profile_init(struct np_profile *p)
{
	*p = (struct np_profile) { .uses_size = FIRST_USES };
	p->use = calloc(p->uses_size, sizeof(*p->use));
	if (!p->use || !make_room(p, FIRST_CONTEXTS))
		return -ENOMEM;
	p->context[0] = (struct np_context) { 0 }; /* until the first switch */
	*find_slot(p, 0, 0, 0) = ++p->n_contexts;
	return 0;
}

void np_profile_free(struct np_profile *p)
{
	free(p->use);
	free(p->context);
	free(p->slot);
	free(notes.text);
	notes.text = NULL;
	notes.len = notes.size = 0;
	np_regions_forget();
}

void np_profile_look(struct np_profile *p)
{
	const struct np_context *c = &p->context[p->at];

	p->regions_change = __atomic_load_n(&np_regions_change, __ATOMIC_RELAXED);
	enter(p, c->task, c->cgroup, np_regions_of(c->task >> 32));
}

void np_profile_switch(struct np_profile *p, uint64_t task, uint64_t cgroup)
{
	p->regions_change = __atomic_load_n(&np_regions_change, __ATOMIC_RELAXED);
	enter(p, task, cgroup, np_regions_of(task >> 32));
}

void np_profile_region(struct np_profile *p, const char *name, bool enters)
{
	np_regions_tell(p->context[p->at].task >> 32, name, enters);
	np_profile_look(p);
}

static bool is_use(const struct np_dram_use *u, uint64_t page, uint64_t code, uint32_t context)
{
	return u->page == page && u->code == code && u->context == context;
}

/* Its entry, or the free one in which it belongs. */
static struct np_dram_use *find_use(struct np_profile *p, uint64_t page, uint64_t code,
				    uint32_t context)
{
	uint64_t hash = (page ^ code * 0x9e3779b97f4a7c15u ^ context) * 0xff51afd7ed558ccdu;
	size_t i = hash >> 32;

	for (;; i++) {
		struct np_dram_use *u = &p->use[i & (p->uses_size - 1)];

		if (!u->lines || is_use(u, page, code, context))
			return u;
	}
}

/* Three quarters full. Returns false: it has to stay as it is. */
static bool grow(struct np_profile *p)
{
	struct np_dram_use *old = p->use;
	size_t size = p->uses_size;

	if (size == MOST_USES)
		return false;
	p->use = calloc(2 * size, sizeof(*p->use));
	if (!p->use) {
		p->use = old;
		return false;
	}
	p->uses_size = 2 * size;
	for (size_t i = 0; i < size; i++)
		if (old[i].lines)
			*find_use(p, old[i].page, old[i].code, old[i].context) = old[i];
	free(old);
	return true;
}

void np_profile_dram(struct np_profile *p, uint64_t vaddr, unsigned int node)
{
	uint64_t page = (vaddr & -PAGE) | node;
	struct np_dram_use *u;

	if (!p->user)
		return;
	p->context[p->at].dram[node]++;
	u = find_use(p, page, p->code, p->at);
	if (!u->lines) {
		if (p->n_uses >= p->uses_size / 4 * 3 && !grow(p)) {
			p->lost++;
			return;
		}
		u = find_use(p, page, p->code, p->at);
		*u = (struct np_dram_use) { .page = page, .code = p->code, .context = p->at };
		p->n_uses++;
	}
	u->lines++;
}

void np_profile_remote_cache(struct np_profile *p)
{
	if (p->user)
		p->context[p->at].remote_cache++;
}

void np_profile_note(const char *text)
{
	size_t len = strlen(text), size = notes.size ?: 4096;
	char *grown = NULL;

	np_lock(&notes.lock);
	while (size < notes.len + len + 8)
		size *= 2;
	if (size > notes.size)
		grown = realloc(notes.text, size);
	if (grown) {
		notes.text = grown;
		notes.size = size;
	}
	if (notes.size >= notes.len + len + 8)
		notes.len += sprintf(notes.text + notes.len, "note %s\n", text);
	np_unlock(&notes.lock);
}

void np_profile_write_head(FILE *f)
{
	np_regions_write(f);
	if (notes.len)
		fwrite(notes.text, 1, notes.len, f);
}

static void write_lines(FILE *f, const uint64_t *lines, unsigned int nodes)
{
	for (unsigned int node = 0; node < nodes; node++)
		fprintf(f, "%lu%c", lines[node], node + 1 < nodes ? ',' : '\n');
}

void np_profile_write(FILE *f, struct np_profile *p, unsigned int cpu, unsigned int node,
		      unsigned int nodes)
{
	settle(p);
	for (size_t i = 0; i < p->n_contexts; i++) {
		const struct np_context *c = &p->context[i];

		fprintf(f, "task %u %u %zu %lu %lu %lu %u %lu %lu %lu ", cpu, node, i,
			c->task >> 32, c->task & UINT32_MAX, c->cgroup, c->regions, c->loads,
			c->stores, c->remote_cache);
		write_lines(f, c->dram, nodes);
	}
	for (size_t i = 0; i < p->uses_size; i++)
		if (p->use[i].lines)
			fprintf(f, "dram %u %u %#lx %#lx %lu %lu\n", cpu, p->use[i].context,
				p->use[i].page & -PAGE, p->use[i].code, p->use[i].page & (PAGE - 1),
				p->use[i].lines);
	if (p->lost)
		fprintf(f, "lost %lu\n", p->lost);
}
