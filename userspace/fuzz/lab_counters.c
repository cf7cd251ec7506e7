// SPDX-License-Identifier: GPL-2.0-only
/* A line of the simulated lab's counters. */
#include "../lib/base/cpulist.h"
#include "../lib/counters/lab.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"cpu=3 instructions=20 cycles=10 llc_references=7 llc_misses=6 local_dram=3 remote_dram=2 "
	"remote_cache=1 sim_ns=9 stall_ns=4 dram_node0=5\n",
	"cpu=0 cycles=18446744073709551615",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = fuzz_string(data, size);
	double total[NP_EVENTS];
	int cpu = -1;

	if (np_lab_line(line, &cpu, total))
		for (int e = 0; e < NP_EVENTS; e++)
			FUZZ_CLAIM(cpu >= 0 && cpu < NP_MAX_CPUS && total[e] >= 0);
	free(line);
	return 0;
}
