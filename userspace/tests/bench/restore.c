// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long restoring takes: many processes, placed one by one by plain system calls as `run` does,
 * then placed elsewhere, given back in one pass, beside others that were not placed: children of
 * the same `run`, younger than the placements. Every mask is checked afterwards.
 *
 * bench_restore TASKS OTHERS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../lib/base/clock.h"
#include "../../lib/base/cpulist.h"
#include "../../lib/engine/affinity.h"
#include "../../lib/undo/saved_affinity.h"

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (true)
			pause();
	}
	return pid;
}

static size_t place_all(const pid_t *pids, size_t n, const char *list, const char *by)
{
	struct bitmask *cpus = numa_bitmask_alloc(NP_MAX_CPUS);
	struct np_err err;
	size_t placed = 0;

	np_list_parse_kernel(list, cpus);
	for (size_t i = 0; i < n; i++) {
		const struct np_place_request r = {
			.pid = pids[i],
			.cpus = cpus,
			.mem_mode = -1,
			.inherit = true,
			.by = by,
			.follows = i > 0,
		};

		placed += !np_affinity_place(&r, &err);
	}
	numa_bitmask_free(cpus);
	return placed;
}

static size_t count_different(const pid_t *pids, size_t n, const struct bitmask *before)
{
	struct bitmask *now = numa_bitmask_alloc(NP_MAX_CPUS);
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++)
		wrong += np_affinity_get(pids[i], now) || !numa_bitmask_equal(now, before);
	numa_bitmask_free(now);
	return wrong;
}

int main(int argc, char **argv)
{
	struct bitmask *before = numa_bitmask_alloc(NP_MAX_CPUS);
	size_t n = argc == 3 ? strtoul(argv[1], NULL, 10) : 0, placed, again, restored = 0,
	       kept = 0, wrong;
	size_t all = n + (argc == 3 ? strtoul(argv[2], NULL, 10) : 0);
	pid_t *pids = calloc(all + 1, sizeof(*pids));
	char by[NP_BY_LEN];
	const struct np_whose whose = { .by = by };
	double began, placing, replacing, restoring;
	struct np_err err = { "" };
	int e;

	if (!n || !pids) {
		fprintf(stderr, "bench_restore TASKS OTHERS\n");
		return 2;
	}
	snprintf(by, sizeof(by), NP_BY_RUN, getpid());
	np_affinity_get(getpid(), before);
	for (size_t i = 0; i < n; i++)
		pids[i] = start();
	began = np_clock(CLOCK_MONOTONIC);
	placed = place_all(pids, n, "0", by);
	placing = np_clock(CLOCK_MONOTONIC) - began;
	again = place_all(pids, n, "1", by);
	replacing = np_clock(CLOCK_MONOTONIC) - began - placing;
	for (size_t i = n; i < all; i++)
		pids[i] = start();
	restoring = np_clock(CLOCK_MONOTONIC);
	e = np_affinity_restore(&whose, &restored, &kept, &err);
	restoring = np_clock(CLOCK_MONOTONIC) - restoring;
	wrong = count_different(pids, all, before);
	for (size_t i = 0; i < all; i++)
		kill(pids[i], SIGKILL);
	printf("%zu tasks placed in %.2f s, %zu placed elsewhere in %.2f s, %zu placements restored in "
	       "%.2f s beside %zu other tasks; %zu have other CPUs than before%s%s\n",
	       placed, placing, again, replacing, restored, restoring, all - n, wrong,
	       e ? ": " : "", e ? err.text : "");
	return e || wrong || placed != n || again != n;
}
