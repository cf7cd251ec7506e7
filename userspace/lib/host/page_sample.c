// SPDX-License-Identifier: GPL-2.0-only
#include "page_sample.h"

#include <errno.h>
#include <math.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/grow.h"
#include "numa_maps.h"
#include "proc.h"
#include "vma_ranges.h"

/*
 * Addresses asked about in one call; pages that are enough; calls at most; pages without which it
 * says nothing.
 */
#define BATCH	   4096
#define ENOUGH	   16384
#define MOST_CALLS 32
#define FEWEST	   1024
/* Half the width of the interval that has 95 % of a normal distribution, in standard deviations. */
#define NORMAL_95 1.96

enum kind { OWN, SHARED, OF_FILE, KINDS };

struct range {
	uint64_t start, before; /* before: bytes in the ranges that come before it */
};

/* The addresses of one kind of mapping, which have pages of their own density. */
struct kind_of {
	struct range *range;
	size_t n;
	uint64_t bytes, resident; /* resident: pages, from /proc/PID/status */
	uint64_t hits, node_hits[NP_MAX_NODES];
};

uint64_t np_sample_resident(pid_t pid, uint64_t page_size)
{
	char *status = np_read_file_of("/proc/%d/status", np_proc_memory_thread(pid));
	uint64_t bytes = np_proc_bytes(status, "\nRssAnon:") +
			 np_proc_bytes(status, "\nRssShmem:") +
			 np_proc_bytes(status, "\nHugetlbPages:");

	free(status);
	return bytes / page_size;
}

/* As numa_maps has it: what has no inode is the process's own. */
static int add_line(char *line, void *arg)
{
	struct kind_of *kinds = arg, *k;
	uint64_t start, end;
	unsigned long inode = 0;
	char path[32] = "";

	if (np_vma_range_parse(line, &start, &end) ||
	    sscanf(line, "%*s %*s %*s %*s %lu %31s", &inode, path) < 1)
		return 0;
	if (!strncmp(path, "[v", 2) || start == end) /* the kernel's own */
		return 0;
	k = &kinds[!inode ? OWN : np_path_is_shm(path) ? SHARED : OF_FILE];
	if (np_grow(&k->range, k->n, sizeof(*k->range)))
		return -ENOMEM;
	k->range[k->n++] = (struct range) { start, k->bytes };
	k->bytes += end - start;
	return 0;
}

/* SplitMix64: the same process gives the same sample. */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void *address_at(const struct kind_of *k, uint64_t at, uint64_t page_size)
{
	size_t low = 0, high = k->n;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (k->range[middle].before <= at)
			low = middle;
		else
			high = middle;
	}
	return (void *)(uintptr_t)((k->range[low].start + at - k->range[low].before) / page_size *
				   page_size);
}

struct batch {
	void *page[BATCH];
	int status[BATCH];
};

/* Each resident page is as likely to be hit as any other of the kind. */
static int sample_kind(pid_t pid, const struct np_machine *m, struct kind_of *k, struct batch *b,
		       uint64_t *state)
{
	for (int call = 0; k->resident && k->bytes && k->hits < ENOUGH && call < MOST_CALLS;
	     call++) {
		for (size_t i = 0; i < BATCH; i++)
			b->page[i] = address_at(k, draw(state) % k->bytes, m->page_size);
		if (move_pages(pid, BATCH, b->page, NULL, b->status, 0) < 0)
			return -errno;
		for (size_t i = 0; i < BATCH; i++) {
			int node = b->status[i] < 0 ? NP_NODE_NONE :
						      np_machine_node_index(m, b->status[i]);

			if (node == NP_NODE_NONE)
				continue;
			k->hits++;
			k->node_hits[node]++;
		}
	}
	return 0;
}

static void add_pages(const struct kind_of *k, size_t n_nodes, uint64_t *pages)
{
	for (size_t i = 0; i < n_nodes && k->hits; i++)
		pages[i] += (uint64_t)((double)k->resident * (double)k->node_hits[i] /
					       (double)k->hits +
				       0.5);
}

/* A share's standard deviation is at most 1 / 2 sqrt(n); each kind adds its part of all pages. */
static double error_of(const struct kind_of *kinds)
{
	double all = (double)(kinds[OWN].resident + kinds[SHARED].resident), variance = 0;

	for (enum kind kind = OWN; kind <= SHARED; kind++)
		if (kinds[kind].hits)
			variance += pow((double)kinds[kind].resident / all, 2) / 4 /
				    (double)kinds[kind].hits;
	return NORMAL_95 * sqrt(variance);
}

static int sample(pid_t pid, const struct np_machine *m, struct kind_of *kinds,
		  struct np_sampled *s)
{
	struct batch *b = malloc(sizeof(*b));
	uint64_t state = (uint64_t)pid;
	int e = b ? 0 : -ENOMEM;

	for (enum kind kind = OWN; !e && kind < KINDS; kind++)
		e = sample_kind(pid, m, &kinds[kind], b, &state);
	free(b);
	for (enum kind kind = OWN; !e && kind <= SHARED; kind++)
		if (kinds[kind].resident >= FEWEST && kinds[kind].hits < FEWEST)
			e = -ENODATA;
	if (e)
		return e;
	add_pages(&kinds[OWN], m->n_nodes, s->memory);
	add_pages(&kinds[SHARED], m->n_nodes, s->memory);
	add_pages(&kinds[SHARED], m->n_nodes, s->shm);
	add_pages(&kinds[OF_FILE], m->n_nodes, s->file);
	s->error = error_of(kinds);
	return 0;
}

int np_sample_pages(pid_t pid, const struct np_machine *m, struct np_sampled *s)
{
	struct kind_of *kinds = calloc(KINDS, sizeof(*kinds));
	char *status;
	int e;

	pid = np_proc_memory_thread(pid);
	status = np_read_file_of("/proc/%d/status", pid);
	e = !kinds ? -ENOMEM : status ? 0 : -ESRCH;
	if (!e) {
		kinds[OWN].resident = np_proc_bytes(status, "\nRssAnon:") / m->page_size;
		kinds[SHARED].resident = (np_proc_bytes(status, "\nRssShmem:") +
					  np_proc_bytes(status, "\nHugetlbPages:")) /
					 m->page_size;
		kinds[OF_FILE].resident = np_proc_bytes(status, "\nRssFile:") / m->page_size;
		e = np_proc_maps(pid, add_line, kinds);
	}
	if (!e)
		e = sample(pid, m, kinds, s);
	for (enum kind kind = OWN; kinds && kind < KINDS; kind++)
		free(kinds[kind].range);
	free(kinds);
	free(status);
	return e;
}
