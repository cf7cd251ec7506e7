// SPDX-License-Identifier: GPL-2.0-only
/*
 * Saved state, should anything have damaged it: what follows the first records of a file, which the
 * first byte of the input chooses, and a whole file. Root reads it as nobody, who can write no
 * cgroup; what ended the program stays in the folder below /tmp too.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/engine/cgroup_place.h"
#include "../lib/host/proc.h"
#include "../lib/plan/saved_pages.h"
#include "../lib/undo/placed_tasks.h"
#include "../lib/undo/saved_affinity.h"
#include "../lib/undo/state_file.h"
#include "fuzz.h"

#define NOBODY 65534

const char *const fuzz_seeds[] = {
	"0,{\"pid\":1,\"start\":5,\"pages\":{\"0\":3,\"1\":0}}]}\n",
	"0,{\"pid\":1,\"start\":5,\"pages\":{},\"pid_namespace\":7}]}\n{\"pid\":2,\"start\":1,\"pages\":{}}\n{\"pi",
	"1,{\"cgroup\":\"/a\",\"inode\":7,\"unit\":\"\",\"before\":{\"cpus\":\"0-1\"},\"set\":{\"cpus\":\"0\"},"
	"\"enabled\":[\"\",\"/a\"]},{\"cgroup\":\"/a/b\",\"inode\":8,\"unit\":\"u.service\",\"before\":{},\"set\":{},\"enabled\":[]}]}\n",
	"2,{\"pid\":1,\"start\":5}]}\n",
	"2,{\"pid\":1,\"start\":5,\"pid_namespace\":7}]}\n",
	"3{\"tid\": 1, \"pid\": 1, \"start\": 5, \"inherit\": true, \"original\": \"0-1\", "
	"\"set\": \"0\"}]}\n{\"tid\":1,\"pid\":1,\"start\":5,\"inherit\":true,"
	"\"original\":\"0-1\",\"set\":\"1\",\"earlier\":\"0\"}\n{\"tid\":",
	"4{\"boot\": \"b\", \"threads\": []}",
	"4{\"boot\": \"b\", \"threads\": [{\"tid\": 1, \"pid\": 1, \"start\": 5, \"inherit\": false, "
	"\"original\": \"0-1\", \"set\": \"0\"}]}",
	NULL,
};

static char folder[] = "/tmp/numaplace-fuzz-XXXXXX", boot[40];

static int read_pages(struct np_err *err)
{
	const struct np_tasks none = { 0 };

	return np_saved_pages_drop(&none, NULL, err);
}

static int read_cgroups(struct np_err *err)
{
	/* No text of JSON has such a name: records that are whole are not carried out. */
	const struct np_cgroup_name none = { .unit = "\xff.service" };
	struct np_cgroups_back back;

	return np_cgroup_restore(&none, &back, err);
}

static int read_daemon(struct np_err *err)
{
	struct np_daemon_placed placed = { 0 };
	int e = np_daemon_placed_read(&placed, err);

	FUZZ_CLAIM(e || placed.n);
	if (!e)
		e = np_daemon_placed_write(&placed, err);
	np_daemon_placed_free(&placed);
	return e;
}

static int read_state(struct np_err *err)
{
	struct np_saved_affinity s;
	int e = np_saved_affinity_open(&s, NULL, err);

	FUZZ_CLAIM(!e || s.n == 0);
	if (!e)
		np_saved_affinity_close(&s);
	return e;
}

/* The first byte chooses: '2', '3', '4', '0', '1'. */
static const struct file {
	const char *name, *array; /* array NULL: the input is the whole file */
	bool of_processes;
	int (*read)(struct np_err *err);
} files[] = {
	{ "daemon", "tasks", true, read_daemon },      { "state", "threads", false, read_state },
	{ "state", NULL, false, read_state },	       { "pages", "tasks", true, read_pages },
	{ "cgroups", "cgroups", false, read_cgroups },
};

#define N_FILES (sizeof(files) / sizeof(files[0]))

static void file_path(char *path, size_t len, const char *name, const char *end)
{
	snprintf(path, len, "%s/numaplace/%s.json%s", folder, name, end);
}

static void clean_up(void)
{
	char path[128];

	for (size_t i = 0; i < N_FILES; i++) {
		file_path(path, sizeof(path), files[i].name, "");
		unlink(path);
		file_path(path, sizeof(path), files[i].name, ".lock");
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/numaplace", folder);
	rmdir(path);
	rmdir(folder);
}

static void begin(void)
{
	char *id = np_read_file("/proc/sys/kernel/random/boot_id");

	FUZZ_CLAIM(id && mkdtemp(folder));
	snprintf(boot, sizeof(boot), "%.36s", id);
	free(id);
	FUZZ_CLAIM(geteuid() || !chown(folder, NOBODY, NOBODY));
	setenv("XDG_RUNTIME_DIR", folder, 1);
	atexit(clean_up);
}

/* The first record is of this process where they are of processes. */
static void write_file(const struct file *f, const uint8_t *data, size_t size)
{
	char path[128], head[256];
	struct np_proc_stat st;
	int fd, len = 0;

	FUZZ_CLAIM(!np_proc_stat(getpid(), &st));
	if (f->array)
		len = snprintf(head, sizeof(head), "{\"boot\":\"%s\",\"%s\":[", boot, f->array);
	if (f->of_processes)
		len += snprintf(head + len, sizeof(head) - (size_t)len,
				"{\"pid\":%d,\"start\":%llu,\"pages\":{\"0\":1}}", getpid(),
				st.start);
	else if (size && *data == ',')
		data++, size--;
	file_path(path, sizeof(path), f->name, "");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	FUZZ_CLAIM(fd >= 0 && write(fd, head, (size_t)len) == len);
	FUZZ_CLAIM(write(fd, data, size) == (ssize_t)size);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct file *f = size ? &files[*data % N_FILES] : NULL;
	struct np_err err = { "" };
	bool root = !geteuid();
	char path[128];

	if (!f)
		return 0;
	if (!boot[0])
		begin();
	FUZZ_CLAIM(!root || !seteuid(NOBODY));
	FUZZ_CLAIM(!np_state_folder(path, sizeof(path), &err));
	write_file(f, data + 1, size - 1);
	FUZZ_CLAIM(!f->read(&err) || (err.text[0] && !strchr(err.text, '\n')));
	FUZZ_CLAIM(!root || !seteuid(0));
	return 0;
}
