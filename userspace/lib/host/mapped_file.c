// SPDX-License-Identifier: GPL-2.0-only
#include "mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "numa_maps.h"
#include "proc.h"
#include "query_pages.h"

/* Linux 5.14; a C library of before has not the name. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

static int open_failed(const struct np_mapped_file *file, int e, struct np_err *err)
{
	return np_fail(err, e, "the pages of %s cannot be reached: %s", file->name,
		       e == -EINVAL ? "it is no regular file" : strerror(-e));
}

/* Root of the first user namespace with what the kernel asks for. */
static bool has_every_file(void)
{
	char *ids = np_read_file("/proc/self/uid_map");
	unsigned int first, outside, n;
	bool all = ids && sscanf(ids, "%u %u %u", &first, &outside, &n) == 3 && !first &&
		   !outside && n == UINT_MAX;

	free(ids);
	return all && np_proc_has_capabilities(1ull << CAP_FOWNER);
}

/* Of a file that one may neither own nor write the kernel calls every page resident. */
static bool may_ask(int fd, const struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return st->st_uid == geteuid() || !access(path, W_OK) || has_every_file();
}

/* Looked at before it is opened: to open a device or a pipe is to do something to it. */
static int open_regular(const char *name, struct stat *st)
{
	int found = open(name, O_PATH | O_CLOEXEC), fd = -1, e = 0;
	char path[64];

	if (found < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	if (fstat(found, st))
		e = -errno;
	else if (!S_ISREG(st->st_mode))
		e = -EINVAL;
	else if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		e = -errno;
	close(found);
	return e ? e : fd;
}

static uint64_t get_birth(int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &sx) || !(sx.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)sx.stx_btime.tv_sec * 1000000000u + sx.stx_btime.tv_nsec;
}

/* 0, or -errno with one line in err. */
static int check_file(const struct np_mapped_file *file, int fd, const struct stat *st,
		      struct np_err *err)
{
	struct statfs fs;

	if (!fstatfs(fd, &fs) && fs.f_type == HUGETLBFS_MAGIC)
		return np_fail(err, -EOPNOTSUPP,
			       "%s is of a pool of huge pages, which are seen and moved by process",
			       file->name);
	if (!may_ask(fd, st))
		return np_fail(err, -EACCES,
			       "which pages of %s are in memory is told to its owner and to who may write it: "
			       "run as root",
			       file->name);
	return 0;
}

static void set_name(struct np_mapped_file *file, const char *path)
{
	size_t n = strlen(path), most = sizeof(file->name) - sizeof("..");
	bool cut = n > most;

	snprintf(file->name, sizeof(file->name), "%s%s", cut ? ".." : "",
		 cut ? path + n - most : path);
}

int np_mapped_file_open(struct np_mapped_file *file, const char *path, struct np_err *err)
{
	struct stat st;
	int fd, e;

	memset(file, 0, sizeof(*file));
	set_name(file, path);
	fd = open_regular(path, &st);
	if (fd < 0)
		return open_failed(file, fd, err);
	e = check_file(file, fd, &st, err);
	file->born = get_birth(fd);
	if (!e && st.st_size) {
		file->length = (size_t)st.st_size;
		file->memory = mmap(NULL, file->length, PROT_READ, MAP_SHARED, fd, 0);
		if (file->memory == MAP_FAILED) {
			file->memory = NULL;
			e = open_failed(file, -errno, err);
		}
	}
	close(fd);
	return e;
}

struct own {
	uint64_t start;
	struct np_file_id *id;
	bool hugetlb;
};

static int find_huge(const struct np_mapping *map, void *arg)
{
	struct own *own = arg;

	own->hugetlb |= map->start == own->start && map->hugetlb;
	return 0;
}

int np_mapped_file_attach(struct np_mapped_file *file, int id, struct np_err *err)
{
	struct own own = { 0 };
	struct shmid_ds ds;

	memset(file, 0, sizeof(*file));
	file->segment = true;
	snprintf(file->name, sizeof(file->name), "segment %d", id);
	if (shmctl(id, IPC_STAT, &ds))
		return np_fail(err, -errno, "segment %d: %s; `ipcs -m` lists them", id,
			       strerror(errno));
	file->length = ds.shm_segsz;
	file->memory = shmat(id, NULL, SHM_RDONLY);
	if (file->memory == (void *)-1) {
		file->memory = NULL;
		return np_fail(err, -errno, "segment %d cannot be attached: %s", id,
			       strerror(errno));
	}
	own.start = (uintptr_t)file->memory;
	np_mappings(getpid(), (uint64_t)sysconf(_SC_PAGESIZE), find_huge, &own);
	return own.hugetlb ?
		       np_fail(err, -EOPNOTSUPP,
			       "segment %d is of a pool of huge pages, which are seen and moved by process",
			       id) :
		       0;
}

void np_mapped_file_close(struct np_mapped_file *file)
{
	if (file->memory && file->segment)
		shmdt(file->memory);
	else if (file->memory)
		munmap(file->memory, file->length);
	file->memory = NULL;
}

static int find_own(const struct np_file_range *range, void *arg)
{
	struct own *own = arg;

	if (range->start != own->start)
		return 0;
	*own->id = range->id;
	return 1;
}

int np_mapped_file_identify(const struct np_mapped_file *file, struct np_file_id *id)
{
	struct own own = { .start = (uintptr_t)file->memory, .id = id };
	int found = np_file_ranges(getpid(), find_own, &own), pid;

	/* Of a segment our maps have our namespace; opened, it is of that of the process it was reached through. */
	if (found == 1 && id->ipc && !file->segment)
		id->ipc = sscanf(file->name, "/proc/%d/map_files/", &pid) == 1 ?
				  np_ipc_namespace(pid) :
				  0;
	return found == 1 ? 0 : found ? found : -ENOENT;
}

/*
 * Maps in n pages, which were in memory just now. By the kernel: to touch a page of a file that has been
 * cut meanwhile is a SIGBUS.
 */
static int populate(char *memory, size_t n, size_t page)
{
	while (madvise(memory, n * page, MADV_POPULATE_READ)) {
		if (errno == EINTR || errno == EAGAIN)
			continue;
		/* One of a run may be poisoned. */
		if (errno != EHWPOISON || n == 1)
			return errno == EHWPOISON ? 0 : -errno;
		for (size_t i = 0; i < n; i++) {
			int e = populate(memory + i * page, 1, page);

			if (e)
				return e;
		}
		return 0;
	}
	return 0;
}

ssize_t np_mapped_file_take(const struct np_mapped_file *file, size_t at, size_t length)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (length + page - 1) / page, run, count = 0;
	unsigned char *resident = malloc(n);
	char *memory = file->memory + at;
	int e = resident ? 0 : -ENOMEM;

	/* Nothing is read ahead. */
	if (!e && (madvise(memory, length, MADV_RANDOM) || mincore(memory, length, resident)))
		e = -errno;
	for (size_t i = 0; !e && i < n; i += run) {
		bool is_resident = resident[i] & 1;

		for (run = 1; i + run < n && (resident[i + run] & 1) == is_resident;)
			run++;
		if (is_resident) {
			count += run;
			e = populate(memory + i * page, run, page);
		}
	}
	free(resident);
	return e ? e : (ssize_t)count;
}

/* A reader in sequence marks no page as used when it is mapped out; before Linux 6.3 a random one does. */
void np_mapped_file_let_go(const struct np_mapped_file *file, size_t at, size_t length)
{
	madvise(file->memory + at, length, MADV_SEQUENTIAL);
	madvise(file->memory + at, length, MADV_DONTNEED);
}

/* Of a window that was taken. */
static int count_window(char *memory, size_t length, const struct np_machine *m, uint64_t *pages)
{
	size_t n_pages = (length + m->page_size - 1) / m->page_size;
	void *page[NP_QUERY_BATCH];
	int e = 0;

	for (size_t at = 0, n; !e && at < n_pages; at += n) {
		n = n_pages - at < NP_QUERY_BATCH ? n_pages - at : NP_QUERY_BATCH;
		for (size_t i = 0; i < n; i++)
			page[i] = memory + (at + i) * m->page_size;
		e = np_query_batch(getpid(), n, page, NULL, m, pages);
	}
	return e;
}

int np_mapped_file_count(const struct np_mapped_file *file, const struct np_machine *m,
			 uint64_t *pages)
{
	int e = 0;

	for (size_t at = 0; !e && file->memory && at < file->length; at += NP_MAPPED_WINDOW) {
		size_t left = file->length - at,
		       length = left < NP_MAPPED_WINDOW ? left : NP_MAPPED_WINDOW;
		ssize_t n = np_mapped_file_take(file, at, length);

		if (n > 0)
			e = count_window(file->memory + at, length, m, pages);
		np_mapped_file_let_go(file, at, length);
		if (n == -EFAULT)
			break; /* what is behind its new end is not there */
		e = n < 0 ? (int)n : e;
	}
	return e;
}
