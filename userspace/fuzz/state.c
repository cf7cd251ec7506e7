// SPDX-License-Identifier: GPL-2.0-only
/* The state file, should anything have damaged it. */
#include "../lib/error.h"
#include "../lib/state.h"
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

const char *const fuzz_seeds[] = {
	"{\"boot\": \"b\", \"threads\": []}",
	"{\"boot\": \"b\", \"threads\": [{\"tid\": 1, \"pid\": 1, \"start\": 5, \"inherit\": false, "
	"\"original\": \"0-1\", \"set\": \"0\"}]}",
	NULL,
};

static char folder[] = "/tmp/numaplace-fuzz-XXXXXX", path[64];

static void clean_up(void)
{
	char lock[80];

	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[NP_ERR_LEN] = "";
	struct np_state s;
	int fd;

	if (!path[0]) {
		FUZZ_CLAIM(mkdtemp(folder));
		snprintf(path, sizeof(path), "%s/state.json", folder);
		atexit(clean_up);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	FUZZ_CLAIM(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	if (np_state_open(&s, path, err, sizeof(err)))
		FUZZ_CLAIM(err[0] && s.n == 0);
	else
		np_state_close(&s);
	unlink(path);
	return 0;
}
