// SPDX-License-Identifier: GPL-2.0-only
#include "target.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS  512	   /* of 8 bytes in a page */
#define HUGE   (2UL << 20) /* bytes of a huge page */
#define WRITES 16	   /* between two looks at the clock */

struct target_shared {
	bool stop;
	unsigned int era; /* changes when the gaps are forgotten */
	uint64_t gap[MAX_THREADS];
	uint64_t writes[MAX_THREADS];
};

/* Of the target's process only. */
static struct target *self;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int run_on_node(int node)
{
	return numa_run_on_node(node) ? -errno : 0;
}

/* Every page differs from every other, and so does every word of it. */
static uint64_t pattern(size_t page, size_t word)
{
	return (page * WORDS + word) * 0x9e3779b97f4a7c15u;
}

static uint64_t *page_at(size_t page)
{
	return (uint64_t *)self->memory + page * WORDS;
}

/* The first words of a page belong to the threads, which count in them. */
static void fill(void)
{
	for (size_t page = 0; page < self->pages; page++)
		for (size_t word = MAX_THREADS; word < WORDS; word++)
			page_at(page)[word] = pattern(page, word);
}

static bool is_whole(void)
{
	uint64_t counted[MAX_THREADS] = { 0 };

	for (size_t page = 0; page < self->pages; page++) {
		for (size_t word = 0; word < MAX_THREADS; word++)
			counted[word] += page_at(page)[word];
		for (size_t word = MAX_THREADS; word < WORDS; word++)
			if (page_at(page)[word] != pattern(page, word))
				return false;
	}
	for (size_t thread = 0; thread < MAX_THREADS; thread++)
		if (counted[thread] != self->shared->writes[thread])
			return false;
	return true;
}

/* Writes here and there, and notes the longest time that it could not. */
static void *write_all_the_time(void *arg)
{
	struct target_shared *s = self->shared;
	size_t thread = (size_t)(uintptr_t)arg;
	uint64_t random = thread + 1, last = now_ns(), now;
	size_t pages = self->first && !thread ? 1 : self->pages;
	unsigned int era = 0;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < WRITES; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			page_at((random >> 33) % pages)[thread]++;
		}
		__atomic_store_n(&s->writes[thread], s->writes[thread] + WRITES, __ATOMIC_RELEASE);
		now = now_ns();
		if (era != __atomic_load_n(&s->era, __ATOMIC_ACQUIRE)) {
			era = s->era;
			__atomic_store_n(&s->gap[thread], 0, __ATOMIC_RELEASE);
		} else if (now - last > s->gap[thread]) {
			__atomic_store_n(&s->gap[thread], now - last, __ATOMIC_RELEASE);
		}
		last = now;
	}
	return NULL;
}

int target_kind(const char *name, enum target_kind *kind)
{
	static const char *const names[] = {
		[TARGET_PRIVATE] = "private",
		[TARGET_MEMFD] = "memfd",
		[TARGET_FILE] = "file",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i])) {
			*kind = i;
			return 0;
		}
	return -1;
}

/* *fd: -1 of anonymous memory. 0 or -errno. */
static int open_memory(size_t size, int *fd)
{
	char path[] = "np-move-XXXXXX";

	*fd = -1;
	if (self->kind != TARGET_MEMFD && self->kind != TARGET_FILE)
		return 0;
	*fd = self->kind == TARGET_MEMFD ? memfd_create(path, 0) : mkstemp(path);
	if (*fd >= 0 && self->kind == TARGET_FILE)
		unlink(path);
	return *fd < 0 || ftruncate(*fd, (off_t)size) ? -errno : 0;
}

static int map_memory(size_t size)
{
	int fd, e = open_memory(size + HUGE, &fd);

	if (e)
		return e;
	self->memory = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
			    fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (self->memory == MAP_FAILED)
		return -errno;
	if (fd >= 0)
		close(fd);
	self->memory += -(uintptr_t)self->memory & (HUGE - 1);
	return 0;
}

/* Children that have every page in their page tables, for as long as their parent lives. */
static int start_mappers(void)
{
	volatile uint64_t seen;
	int ready[2];
	char byte;

	for (unsigned int i = 0; i < self->mappers; i++) {
		if (pipe(ready))
			return -errno;
		switch (fork()) {
		case -1:
			return -errno;
		case 0:
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (size_t page = 0; page < self->pages; page++)
				seen = *page_at(page);
			(void)seen;
			if (write(ready[1], "", 1) == 1)
				pause();
			_exit(1);
		}
		close(ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			return -ECHILD;
		close(ready[0]);
	}
	return 0;
}

static int reserve(void)
{
	size_t size = self->pages * WORDS * sizeof(uint64_t);
	int advice = self->huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE, e;
	struct bitmask *node = numa_allocate_nodemask();

	numa_bitmask_setbit(node, (unsigned int)self->node);
	e = map_memory(size);
	if (e)
		return e;
	if (madvise(self->memory, size, advice) || run_on_node(self->node) ||
	    set_mempolicy(MPOL_BIND, node->maskp, node->size + 1))
		return -errno;
	fill();
	numa_free_nodemask(node);
	return set_mempolicy(MPOL_DEFAULT, NULL, 0) ? -errno : start_mappers();
}

static void answer(uint64_t value)
{
	if (write(self->answer, &value, sizeof(value)) != sizeof(value))
		_exit(1);
}

static void serve(struct target *t)
{
	pthread_t thread[MAX_THREADS];
	char word;

	self = t;
	if (reserve())
		_exit(1);
	for (unsigned int i = 0; i < t->threads; i++)
		if (pthread_create(&thread[i], NULL, write_all_the_time, (void *)(uintptr_t)i))
			_exit(1);
	answer((uintptr_t)t->memory);
	if (read(t->ask, &word, 1) != 1) /* asleep for the whole of the move */
		_exit(1);
	__atomic_store_n(&t->shared->stop, true, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < t->threads; i++)
		pthread_join(thread[i], NULL);
	answer(is_whole());
	pause();
}

int target_start(struct target *t)
{
	int ask[2], said[2];
	uint64_t address;

	t->shared = mmap(NULL, sizeof(*t->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->shared == MAP_FAILED || pipe(ask) || pipe(said))
		return -errno;
	t->pid = fork();
	if (t->pid < 0)
		return -errno;
	if (!t->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t->ask = ask[0];
		t->answer = said[1];
		close(ask[1]);
		close(said[0]);
		serve(t);
		_exit(0);
	}
	close(ask[0]);
	close(said[1]);
	t->ask = ask[1];
	t->answer = said[0];
	if (read(t->answer, &address, sizeof(address)) != sizeof(address))
		return -ENOMEM;
	t->memory = (char *)(uintptr_t)address;
	return 0;
}

void target_reset_gap(struct target *t)
{
	__atomic_add_fetch(&t->shared->era, 1, __ATOMIC_ACQ_REL);
}

uint64_t target_gap_of(const struct target *t, unsigned int thread)
{
	return __atomic_load_n(&t->shared->gap[thread], __ATOMIC_ACQUIRE);
}

uint64_t target_gap(const struct target *t)
{
	uint64_t longest = 0;

	for (unsigned int i = 0; i < t->threads; i++)
		if (target_gap_of(t, i) > longest)
			longest = target_gap_of(t, i);
	return longest;
}

uint64_t target_writes(const struct target *t)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < t->threads; i++)
		sum += __atomic_load_n(&t->shared->writes[i], __ATOMIC_ACQUIRE);
	return sum;
}

bool target_is_whole(struct target *t)
{
	uint64_t whole = 0;

	return write(t->ask, "", 1) == 1 &&
	       read(t->answer, &whole, sizeof(whole)) == sizeof(whole) && whole;
}

void target_stop(struct target *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
}
