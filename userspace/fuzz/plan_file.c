// SPDX-License-Identifier: GPL-2.0-only
/* A saved plan, and the snapshot that is in it or alone, from wherever they came. */
#include "../lib/plan/plan_file.h"
#include "fuzz.h"

const char *const fuzz_seeds[] = {
	"{\"snapshot\": 1, \"platform\": \"real\", \"machine\": {\"name\": \"m\", \"page_size\": 4096, "
	"\"nodes\": [{\"id\": 0, \"cpus\": \"0-1\", \"has_memory\": true, \"mem_total\": 4096, "
	"\"mem_free\": 0, \"distances\": [10]}]}, \"tasks\": [{\"pid\": 7, \"start\": 9, "
	"\"comm\": \"c\", \"threads\": 3, \"cores\": 2, \"cpus\": \"1\", \"node\": 0, "
	"\"pages\": {\"0\": 3}, \"file_pages\": {\"0\": 5}, \"penalty\": {\"value\": 1.5, "
	"\"source\": \"counters\"}}], \"plan\": 2, \"boot\": \"b\", "
	"\"policy\": \"none\", \"options\": {}, \"decisions\": [{\"pid\": 7, \"to\": null, \"pages_to\": 0, "
	"\"spread\": null, \"mem\": \"auto\", \"bonus\": 1.0, \"penalty\": {\"value\": 1.0, "
	"\"source\": \"declared\"}, \"reason\": \"r\"}]}",
	"{\"snapshot\": 1, \"platform\": \"real\", \"machine\": {\"name\": \"m\", \"page_size\": 4096, "
	"\"nodes\": [{\"id\": 0, \"cpus\": \"0\", \"has_memory\": true, \"mem_total\": 4096, "
	"\"mem_free\": 0, \"distances\": [10, 20]}, {\"id\": 3, \"cpus\": \"1\", \"has_memory\": true, "
	"\"mem_total\": 9096, \"mem_free\": 9000, \"distances\": [20, 10]}]}, \"tasks\": [{\"pid\": 7, "
	"\"start\": 9, \"comm\": \"c\", \"threads\": 3, \"cores\": 2, \"cpus\": \"1\", \"node\": 0, "
	"\"pages\": {\"0\": 3}, \"file_pages\": {}}], \"plan\": 2, \"boot\": null, \"policy\": \"exec:p\", "
	"\"options\": {\"rate\": 9, \"a\": true}, \"decisions\": [{\"pid\": 7, \"to_nodes\": [0, 3], "
	"\"spread\": {\"0\": 1, \"3\": 2}}]}",
	NULL,
};

static void read_snapshot(const char *path)
{
	struct np_err err = { "" };
	struct np_snapshot s;
	json_t *again;

	if (np_snapshot_read(path, &s, &err)) {
		FUZZ_CLAIM(err.text[0] && s.tasks.n == 0);
		return;
	}
	again = np_snapshot_json(s.platform, &s.machine, &s.tasks);
	FUZZ_CLAIM(again);
	json_decref(again);
	np_snapshot_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_err err = { "" };
	struct np_request p;
	json_t *j;
	char path[64];
	int fd = fuzz_file(data, size, path), e = np_plan_file_read(&p, path, &err);

	read_snapshot(path);
	close(fd);
	if (e) {
		FUZZ_CLAIM(err.text[0]);
		return 0;
	}
	j = np_request_json(&p);
	json_decref(j);
	np_request_free(&p);
	return 0;
}
