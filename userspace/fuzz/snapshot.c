// SPDX-License-Identifier: GPL-2.0-only
/* A snapshot, from wherever it came. */
#include "../lib/files/snapshot.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"{\"snapshot\": 1, \"platform\": \"real\", \"machine\": {\"name\": \"m\", \"page_size\": 4096, "
	"\"nodes\": [{\"id\": 0, \"cpus\": \"0-1\", \"has_memory\": true, \"mem_total\": 4096, "
	"\"mem_free\": 0, \"distances\": [10]}]}, \"tasks\": [{\"pid\": 7, \"start\": 9, "
	"\"comm\": \"c\", \"threads\": 3, \"cores\": 2, \"cpus\": \"1\", \"node\": 0, "
	"\"pages\": {\"0\": 3}, \"file_pages\": {\"0\": 5}, \"penalty\": {\"value\": 1.5, "
	"\"source\": \"counters\"}}]}",
	NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = { "" };
	struct np_snapshot s;
	json_t *again;
	char path[64];
	int fd = fuzz_file(data, size, path), e = np_snapshot_read(path, &s, &err);

	close(fd);
	if (e) {
		FUZZ_CLAIM(err.text[0] && s.tasks.n == 0);
		return 0;
	}
	again = np_snapshot_json(s.platform, &s.machine, &s.tasks);
	FUZZ_CLAIM(again);
	json_decref(again);
	np_snapshot_free(&s);
	return 0;
}
