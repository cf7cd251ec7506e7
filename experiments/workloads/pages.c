// SPDX-License-Identifier: GPL-2.0-only
#include "pages.h"

#include "emit.h"

#include <errno.h>
#include <numaif.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH 4096
#define HUGE_PAGE \
	(2UL << 20) /* of x86-64 and of arm64 with 4 KiB pages; elsewhere only an alignment */

int np_pages_kind(const char *name, enum np_page_kind *kind)
{
	static const char *const names[] = {
		[NP_PAGES_DEFAULT] = "default",
		[NP_PAGES_SMALL] = "small",
		[NP_PAGES_THP] = "thp",
		[NP_PAGES_HUGE] = "huge",
	};

	for (unsigned int k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		if (!strcmp(name, names[k])) {
			*kind = k;
			return 0;
		}
	return -1;
}

static int map(char **start, size_t bytes, int flags)
{
	*start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1,
		      0);
	return *start == MAP_FAILED ? -errno : 0;
}

/* More is mapped than asked for, and what lies before the first boundary is given back. */
static int map_aligned(char **start, size_t bytes)
{
	char *found;
	int err = map(&found, bytes + HUGE_PAGE, 0);
	size_t before;

	if (err)
		return err;
	before = -(uintptr_t)found % HUGE_PAGE;
	if (before)
		munmap(found, before);
	if (before < HUGE_PAGE)
		munmap(found + before + bytes, HUGE_PAGE - before);
	*start = found + before;
	return 0;
}

size_t np_pages_mapped(size_t bytes, enum np_page_kind kind)
{
	bool whole = kind == NP_PAGES_THP || kind == NP_PAGES_HUGE;

	return bytes + (whole ? -bytes % HUGE_PAGE : 0);
}

int np_pages_map(char **start, size_t bytes, enum np_page_kind kind)
{
	int err;

	bytes = np_pages_mapped(bytes, kind);
	if (kind == NP_PAGES_HUGE)
		return map(start, bytes, MAP_HUGETLB);
	err = kind == NP_PAGES_SMALL ? map(start, bytes, 0) : map_aligned(start, bytes);
	if (err || kind == NP_PAGES_DEFAULT)
		return err;
	/* A kernel without transparent huge pages has small ones already. */
	if (madvise(*start, bytes, kind == NP_PAGES_THP ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) &&
	    (errno != EINVAL || kind == NP_PAGES_THP))
		return -errno;
	return 0;
}

long np_pages_huge_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	long kib = 0, found;
	char line[128];

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "AnonHugePages: %ld", &found) == 1 ||
		    sscanf(line, "Private_Hugetlb: %ld", &found) == 1)
			kib += found;
	fclose(file);
	return kib;
}

/* First page of run number k of n; run n is the end. */
static size_t run_start(size_t pages, unsigned int k, unsigned int n)
{
	return pages * k / n;
}

static size_t page_count(size_t bytes)
{
	return bytes / (size_t)sysconf(_SC_PAGESIZE);
}

int np_pages_prefer(void *start, size_t bytes, size_t mapped, const struct bitmask *nodes)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = bytes / page, first, end;
	struct bitmask *one = numa_allocate_nodemask();
	unsigned int n = numa_bitmask_weight(nodes), k = 0;
	int err = 0;

	for (unsigned int node = 0; node < nodes->size && !err; node++) {
		if (!numa_bitmask_isbitset(nodes, node))
			continue;
		first = run_start(pages, k, n);
		end = ++k < n ? run_start(pages, k, n) : mapped / page;
		numa_bitmask_setbit(numa_bitmask_clearall(one), node);
		if (mbind((char *)start + first * page, (end - first) * page, MPOL_PREFERRED,
			  one->maskp, one->size + 1, 0))
			err = -errno;
	}
	numa_bitmask_free(one);
	return err;
}

int np_pages_forget(void *start, size_t bytes)
{
	return mbind(start, bytes, MPOL_DEFAULT, NULL, 0, 0) ? -errno : 0;
}

int np_pages_count(void *start, size_t bytes, struct np_pages *count)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = bytes / page, n;
	void *address[BATCH];
	int status[BATCH];

	for (size_t done = 0; done < pages; done += n) {
		n = pages - done < BATCH ? pages - done : BATCH;
		for (size_t i = 0; i < n; i++)
			address[i] = (char *)start + (done + i) * page;
		if (numa_move_pages(0, n, address, NULL, status, 0))
			return -errno;
		for (size_t i = 0; i < n; i++) {
			if (status[i] >= 0 && status[i] < NP_MAX_NODES)
				count->node[status[i]]++;
			else
				count->absent++;
		}
	}
	return 0;
}

void np_pages_asked(size_t bytes, const struct bitmask *nodes, struct np_pages *count)
{
	unsigned int n = numa_bitmask_weight(nodes), k = 0;
	size_t pages = page_count(bytes);

	for (unsigned int node = 0; node < nodes->size && node < NP_MAX_NODES; node++) {
		if (!numa_bitmask_isbitset(nodes, node))
			continue;
		count->node[node] += run_start(pages, k + 1, n) - run_start(pages, k, n);
		k++;
	}
}

int np_pages_compare(const struct np_pages *asked, const struct np_pages *real)
{
	for (int node = 0; node < NP_MAX_NODES; node++)
		if (asked->node[node] != real->node[node])
			return np_fail("%zu of the arrays' pages are on node %d, %zu were asked to be: "
				       "has the node enough free memory?",
				       real->node[node], node, asked->node[node]);
	return 0;
}

json_t *np_pages_json(const struct np_pages *count)
{
	json_t *pages = json_object();
	char key[16];

	for (int node = 0; node < NP_MAX_NODES; node++) {
		if (!count->node[node])
			continue;
		snprintf(key, sizeof(key), "%d", node);
		json_object_set_new(pages, key, json_integer(count->node[node]));
	}
	return pages;
}

/* libnuma's own complaints would be a second line beside ours. */
void numa_warn(int num, char *fmt, ...)
{
}

bool np_pages_available(void)
{
	if (numa_available() >= 0)
		return true;
	np_fail("this kernel has no NUMA system calls; one built with CONFIG_NUMA is needed");
	return false;
}
