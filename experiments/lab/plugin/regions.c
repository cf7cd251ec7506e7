// SPDX-License-Identifier: GPL-2.0-only
#include "regions.h"
#include "lock.h"

#include <stdlib.h>
#include <string.h>

struct process {
	struct process *next;
	uint32_t tgid;
	uint32_t depth[NP_REGIONS];
};

uint32_t np_regions_change;

#define BUCKETS 256 /* by number of a process */

static uint8_t lock;
static struct process *processes[BUCKETS];
static unsigned int n_regions;
static struct {
	char name[NP_REGION_NAME];
	uint64_t entered;
} region[NP_REGIONS];

/* Its number, or -1: there are too many. */
static int find_region(const char *name)
{
	unsigned int i = 0;

	while (i < n_regions && strcmp(region[i].name, name))
		i++;
	if (i == NP_REGIONS)
		return -1;
	if (i == n_regions)
		snprintf(region[n_regions++].name, NP_REGION_NAME, "%s", name);
	return i;
}

static struct process *find_process(uint32_t tgid, bool make)
{
	struct process **bucket = &processes[tgid % BUCKETS], *p = *bucket;

	while (p && p->tgid != tgid)
		p = p->next;
	if (p || !make)
		return p;
	p = calloc(1, sizeof(*p));
	if (p) {
		p->tgid = tgid;
		p->next = *bucket;
		*bucket = p;
	}
	return p;
}

static void tell(uint32_t tgid, const char *name, bool enters)
{
	struct process *p = find_process(tgid, true);
	int i = find_region(name);

	if (!p || i < 0)
		return;
	if (enters) {
		p->depth[i]++;
		region[i].entered++;
	} else if (p->depth[i]) {
		p->depth[i]--;
	}
}

void np_regions_tell(uint32_t tgid, const char *name, bool enters)
{
	np_lock(&lock);
	tell(tgid, name, enters);
	__atomic_fetch_add(&np_regions_change, 1, __ATOMIC_RELAXED);
	np_unlock(&lock);
}

uint32_t np_regions_of(uint32_t tgid)
{
	const struct process *p;
	uint32_t set = 0;

	if (!__atomic_load_n(&np_regions_change, __ATOMIC_ACQUIRE))
		return 0; /* no program has named one */
	np_lock(&lock);
	p = find_process(tgid, false);
	for (unsigned int i = 0; p && i < n_regions; i++)
		set |= (uint32_t)(p->depth[i] > 0) << i;
	np_unlock(&lock);
	return set;
}

void np_regions_write(FILE *f)
{
	for (unsigned int i = 0; i < n_regions; i++)
		fprintf(f, "region %u %lu %s\n", i, region[i].entered, region[i].name);
}

void np_regions_forget(void)
{
	for (size_t i = 0; i < BUCKETS; i++)
		while (processes[i]) {
			struct process *p = processes[i];

			processes[i] = p->next;
			free(p);
		}
	n_regions = 0;
	memset(region, 0, sizeof(region));
}
