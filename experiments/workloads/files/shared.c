// SPDX-License-Identifier: GPL-2.0-only
#include "shared.h"

#include "../emit.h"

#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

static const char *const names[] = {
	[NP_SHARED_FILE] = "file",
	[NP_SHARED_MEMFD] = "memfd",
	[NP_SHARED_SHM] = "shm",
};

int np_shared_kind(const char *name, enum np_shared_kind *kind)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i])) {
			*kind = i;
			return 0;
		}
	return -1;
}

const char *np_shared_kind_name(enum np_shared_kind kind)
{
	return names[kind];
}

static int open_file(struct np_shared *s)
{
	int fd;

	if (s->kind == NP_SHARED_MEMFD)
		return memfd_create("np-files", MFD_CLOEXEC);
	if ((size_t)snprintf(s->path, sizeof(s->path), "%s/np-files-XXXXXX", s->folder) >=
	    sizeof(s->path)) {
		s->path[0] = '\0';
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(s->path, O_CLOEXEC);
	if (fd < 0)
		s->path[0] = '\0';
	return fd;
}

static int map_file(struct np_shared *s)
{
	int fd = open_file(s);

	if (fd >= 0 && !ftruncate(fd, (off_t)s->bytes))
		s->memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	else
		s->memory = MAP_FAILED;
	if (fd >= 0)
		close(fd);
	return s->memory == MAP_FAILED ? -1 : 0;
}

/* Marked for removal at once: it goes with the last process that has it. */
static int attach_segment(struct np_shared *s)
{
	int id = shmget(IPC_PRIVATE, s->bytes, IPC_CREAT | 0600);

	s->memory = id < 0 ? (void *)-1 : shmat(id, NULL, 0);
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return s->memory == (void *)-1 ? -1 : 0;
}

int np_shared_open(struct np_shared *s)
{
	if (s->kind == NP_SHARED_SHM ? attach_segment(s) : map_file(s)) {
		s->memory = NULL;
		return np_fail("no %s of %zu bytes%s%s: %s", names[s->kind], s->bytes,
			       s->kind == NP_SHARED_FILE ? " in " : "",
			       s->kind == NP_SHARED_FILE ? s->folder : "", strerror(errno));
	}
	return 0;
}

void np_shared_close(struct np_shared *s)
{
	if (s->path[0])
		unlink(s->path);
}

void np_shared_touch(const struct np_shared *s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < s->bytes; at += page)
		(void)*(volatile char *)(s->memory + at);
}

int np_shared_load(const struct np_shared *s, const struct np_use *use, int node)
{
	struct bitmask *one = numa_allocate_nodemask();
	int err;

	numa_bitmask_setbit(one, (unsigned int)node);
	err = set_mempolicy(MPOL_BIND, one->maskp, one->size + 1) ? errno : 0;
	numa_bitmask_free(one);
	if (err)
		return np_fail("memory of node %d cannot be asked for: %s", node, strerror(err));
	use->fill(s);
	return 0;
}
