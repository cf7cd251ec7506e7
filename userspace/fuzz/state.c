// SPDX-License-Identifier: GPL-2.0-only
/* The state file, should anything have damaged it. */
#include "../lib/base/error.h"
#include "../lib/host/proc.h"
#include "../lib/undo/saved_affinity.h"
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fuzz_seeds[] = {
	"{\"boot\": \"b\", \"threads\": []}",
	"{\"boot\": \"b\", \"threads\": [{\"tid\": 1, \"pid\": 1, \"start\": 5, \"inherit\": false, "
	"\"original\": \"0-1\", \"set\": \"0\"}]}",
	"{\"tid\": 1, \"pid\": 1, \"start\": 5, \"inherit\": true, \"original\": \"0-1\", "
	"\"set\": \"0\"}]}\n{\"tid\":1,\"pid\":1,\"start\":5,\"inherit\":true,"
	"\"original\":\"0-1\",\"set\":\"1\",\"earlier\":\"0\"}\n{\"tid\":",
	NULL,
};

static char folder[] = "/tmp/numaplace-fuzz-XXXXXX", path[64], this_boot[80];

static void clean_up(void)
{
	char lock[80];

	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	rmdir(folder);
}

static void begin(void)
{
	char *boot = np_read_file("/proc/sys/kernel/random/boot_id");

	FUZZ_CLAIM(boot && mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/state.json", folder);
	snprintf(this_boot, sizeof(this_boot), "{\"boot\":\"%.36s\",\"threads\":[", boot);
	free(boot);
	atexit(clean_up);
}

static void open_with(const char *before, const uint8_t *data, size_t size)
{
	struct np_err err = { "" };
	struct np_saved_affinity s;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	FUZZ_CLAIM(fd >= 0 && write(fd, before, strlen(before)) == (ssize_t)strlen(before));
	FUZZ_CLAIM(write(fd, data, size) == (ssize_t)size);
	close(fd);
	if (np_saved_affinity_open(&s, path, &err))
		FUZZ_CLAIM(err.text[0] && s.n == 0);
	else
		np_saved_affinity_close(&s);
	unlink(path);
}

/* As a whole file, and as what follows the boot, whose records are looked at. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!path[0])
		begin();
	open_with("", data, size);
	open_with(this_boot, data, size);
	return 0;
}
