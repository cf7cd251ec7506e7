// SPDX-License-Identifier: GPL-2.0-only
#include "../emit.h"
#include "hot.h"

#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define PART (2UL << 20) /* of the room: a huge page fits */

static int file = -1;
static size_t bytes;

static bool has_cpus(unsigned int node)
{
	struct bitmask *cpus = numa_allocate_cpumask();
	bool found = !numa_node_to_cpus(node, cpus) && numa_bitmask_weight(cpus);

	numa_bitmask_free(cpus);
	return found;
}

/* Where every node has CPUs, the one that the program runs on. */
bool hot_is_fast(unsigned int node)
{
	static int only = -2;

	if (only == -2) {
		only = numa_node_of_cpu(sched_getcpu());
		for (int n = 0; n <= numa_max_node(); n++)
			if (numa_node_size64(n, NULL) > 0 && !has_cpus(n))
				only = -1;
	}
	return only < 0 ? has_cpus(node) : (int)node == only;
}

long long hot_free(bool fast)
{
	long long sum = 0, free;

	for (int node = 0; node <= numa_max_node(); node++)
		if (numa_node_size64(node, &free) > 0 && hot_is_fast(node) == fast)
			sum += free;
	return sum;
}

int hot_ballast(const struct hot_options *o)
{
	long long fast = hot_free(true), slow = hot_free(false);

	if (!slow)
		return 0; /* one node: there is nowhere else */
	if ((unsigned long long)slow < o->bytes + HOT_SPARE)
		return np_fail("--ballast: the slower nodes have %lld MiB free, and --size needs %zu with %lu spare: "
			       "give a smaller --size",
			       slow >> 20, o->bytes >> 20, HOT_SPARE >> 20);
	bytes = fast;
	file = memfd_create("np-hot-ballast", MFD_CLOEXEC);
	if (file < 0 || fallocate(file, 0, 0, bytes))
		return np_fail("--ballast: %zu MiB: %s", bytes >> 20, strerror(errno));
	return 0;
}

int hot_make_room(const struct hot_options *o)
{
	size_t parts = o->fast_percent / 100 * o->bytes / PART, all = bytes / PART;

	if (file < 0)
		return 0;
	if (parts > all)
		parts = all;
	for (size_t k = 0; k < parts; k++)
		if (fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      k * all / parts * PART, PART))
			return np_fail("--fast-percent: %s", strerror(errno));
	return 0;
}
