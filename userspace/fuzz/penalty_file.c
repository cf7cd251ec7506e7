// SPDX-License-Identifier: GPL-2.0-only
/* The [penalty] of a machine file, which users write too. */
#include "../lib/files/penalty.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"[penalty]\nremote_per_mpki = { value = 0.1, source = \"assumed: s\" }\nlocal_per_mpki = { value = 0, "
	"source = \"assumed: s\" }\n\n[[penalty.task]]\nname = \"a\"\nmethod = \"flip\"\nmpki = { value = 3, "
	"source = \"assumed: s\" }\npenalty = { value = 1.5, source = \"assumed: s\" }\n",
	"name = \"m\"\n[[penalty.task]]\nname = \"b\\\"\"\npenalty = { value = 2, source = \"assumed: s\" }\n[x]\n",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_penalties p;
	char path[64];
	struct np_err err = { "" };
	int fd = fuzz_file(data, size, path);

	if (np_penalties_read(&p, path, &err))
		FUZZ_CLAIM(err.text[0] && !p.n && !p.task);
	for (size_t i = 0; i < p.n; i++)
		FUZZ_CLAIM(p.task[i].penalty >= 0.01 && p.task[i].key.name[0] &&
			   (p.task[i].method == NP_PROVENANCE_RUNS ||
			    p.task[i].method == NP_PROVENANCE_FLIP));
	np_penalties_free(&p);
	close(fd);
	return 0;
}
