// SPDX-License-Identifier: GPL-2.0-only
/* Lines of numa_maps, maps and stat; a process chooses its own name. */
#include "../lib/host/numa_maps.h"
#include "../lib/host/proc.h"
#include "../lib/host/vma_ranges.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"7f2000000000 bind:1 anon=5000 dirty=5000 active=0 N0=1000 N1=4000 kernelpagesize_kB=4\n",
	"7f00 default file=/anon_hugepage\\040(deleted) huge anon=4 N0=1 N1=3 kernelpagesize_kB=2048",
	"7ffd00 prefer (many):0-1 stack anon=3 N1=3\n",
	"7f00a000-7f00c000 rw-p 0 00:00 0 [heap]\n",
	"42 (a) b (c)) S 7 2 3 4 -1 4194560 1 2 3 4 700 50 0 0 20 0 5 0 123456 1000 20 "
	"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	static struct np_mapping map;
	struct np_proc_stat st;
	uint64_t start, end, sum = 0;

	if (!np_mapping_parse(text, 4096, &map)) {
		for (size_t i = 0; i < NP_MAX_NODES; i++)
			sum += map.pages[i];
		FUZZ_CLAIM(sum == map.total && strlen(map.policy) < sizeof(map.policy));
		np_mapping_anonymous(&map);
	}
	if (!np_vma_range_parse(text, &start, &end))
		FUZZ_CLAIM(start <= end);
	if (!np_proc_stat_parse(text, &st))
		FUZZ_CLAIM(st.threads >= 1 && strlen(st.comm) < sizeof(st.comm));
	free(text);
	return 0;
}
