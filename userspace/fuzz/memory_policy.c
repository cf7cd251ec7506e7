// SPDX-License-Identifier: GPL-2.0-only
/* MODE:NODES, and lists as users and as the kernel write them. */
#include "../lib/base/cpulist.h"
#include "../lib/base/error.h"
#include "../lib/host/mempolicy.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = { "bind:0-1",
				   "preferred:+0",
				   "interleave:all",
				   "local",
				   "default",
				   "weighted-interleave:!0",
				   "preferred-many:0,1",
				   "0-3,8",
				   "+0-1",
				   "!+0",
				   "0,2,4-7\n",
				   NULL };

static void read_list(const char *text, const struct np_list_space *space)
{
	static struct bitmask *again;
	struct np_err err = { "" };
	struct bitmask *mask = np_list_parse(text, space, &err);
	char list[4096];

	again = again ?: numa_bitmask_alloc(64);
	FUZZ_CLAIM(!mask == !!err.text[0]);
	if (mask) {
		/* What it means can be written down and read back. */
		np_list_format(mask, list, sizeof(list));
		FUZZ_CLAIM(numa_bitmask_weight(mask) > 0);
		FUZZ_CLAIM(!np_list_parse_kernel(list, again) && numa_bitmask_equal(mask, again));
		numa_bitmask_free(mask);
	}
	if (!np_list_parse_kernel(text, again))
		np_list_format(again, list, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bitmask *exist;
	char *text = fuzz_string(data, size), again[NP_LIST_LEN];
	struct np_err err = { "" };
	struct bitmask *nodes, *nodes_again;
	struct np_list_space space;
	int mode, mode_again;

	if (!exist) {
		exist = numa_bitmask_alloc(64);
		np_list_parse_kernel("0-3,8,63", exist);
	}
	space = (struct np_list_space) { "node", exist, exist };
	if (np_mempolicy_parse(text, &space, &mode, &nodes, &err)) {
		FUZZ_CLAIM(err.text[0] && !nodes);
	} else {
		np_mempolicy_format(mode, nodes, again, sizeof(again));
		FUZZ_CLAIM(!np_mempolicy_parse(again, &space, &mode_again, &nodes_again, &err) &&
			   mode == mode_again);
		if (nodes) {
			FUZZ_CLAIM(numa_bitmask_equal(nodes, nodes_again));
			numa_bitmask_free(nodes);
			numa_bitmask_free(nodes_again);
		}
	}
	read_list(text, &space);
	free(text);
	return 0;
}
