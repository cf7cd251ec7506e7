// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program to be acted upon: has pages of one kind on one node, knows what
 * must be in them, and does as it is told on its standard input.
 *
 *	target KIND PAGES NODE [THREADS]
 *
 * It answers "ready ADDRESS LENGTH" and then, line by line:
 *	check		"ok", or "bad PAGE" for the first page with wrong contents
 *	where		"N:PAGES .." by node, "absent:PAGES" for those not there
 *	policy		"MODE NODES": the memory policy of the main thread
 *	thread-policy I	the same of thread I
 *	fresh PAGES	touches so many new pages and answers as for where
 *	churn TIMES	maps, touches, protects, moves and unmaps memory; answers "ok"
 *	fork		starts a child that sleeps; answers its number
 *	thread		starts a thread that sleeps; answers its number
 *	allocate	starts a thread that maps, touches and unmaps pages; answers its number
 *	rounds		how often that thread has done so
 *	set-policy M N	gives itself memory policy M with the nodes N (hexadecimal); answers "ok"
 *	counters	"ok" if the threads' counters never went back
 *	exec		executes itself anew, with the same arguments
 * With THREADS, so many threads add to counters in the pages all the time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define HUGE_SIZE (2UL << 20)
#define MAX_THREADS 64

static size_t page_size, n_pages, n_words;
static char *memory;
static bool zeroes;
static unsigned int n_threads;

static struct thread {
	pthread_t thread;
	pid_t tid;
	unsigned int index;
	volatile bool ask, went_back;
	int mode;
	unsigned long nodes;
} threads[MAX_THREADS];

static void die(const char *what)
{
	fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t expected(size_t page, size_t word)
{
	return zeroes ? 0 : page * 0x9e3779b97f4a7c15ULL ^ (word * 0xff51afd7ed558ccdULL + 1);
}

/* The first words of a page are the threads' counters; the rest is a pattern. */
static void fill(void)
{
	for (size_t p = 0; p < n_pages; p++) {
		uint64_t *words = (uint64_t *)(memory + p * page_size);

		for (size_t w = MAX_THREADS; w < n_words; w++)
			words[w] = expected(p, w);
	}
}

static void check(void)
{
	for (size_t p = 0; p < n_pages; p++) {
		const uint64_t *words = (uint64_t *)(memory + p * page_size);

		for (size_t w = MAX_THREADS; w < n_words; w++) {
			if (words[w] != expected(p, w)) {
				printf("bad %zu\n", p);
				return;
			}
		}
	}
	puts("ok");
}

static void where(char *start, size_t n)
{
	void **address = calloc(n, sizeof(*address));
	int *status = calloc(n, sizeof(*status));
	unsigned int node[64] = { 0 }, absent = 0;

	for (size_t i = 0; i < n; i++)
		address[i] = start + i * page_size;
	if (move_pages(0, n, address, NULL, status, 0))
		die("move_pages");
	for (size_t i = 0; i < n; i++) {
		if (status[i] >= 0)
			node[status[i]]++;
		else
			absent++;
	}
	for (size_t i = 0; i < 64; i++)
		if (node[i])
			printf("%zu:%u ", i, node[i]);
	printf("absent:%u\n", absent);
	free(address);
	free(status);
}

/* Aligned by hand, so that huge pages can be had. */
static char *map(size_t length, int flags, int fd)
{
	char *room = mmap(NULL, length + HUGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *start = (char *)(((uintptr_t)room + HUGE_SIZE - 1) & -HUGE_SIZE);

	if (room == MAP_FAILED)
		die("mmap");
	if (start > room)
		munmap(room, start - room);
	munmap(start + length, room + HUGE_SIZE - start);
	start = mmap(start, length, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
	if (start == MAP_FAILED)
		die("mmap");
	return start;
}

static void bind_to(char *start, size_t length, int node)
{
	unsigned long mask = 1UL << node;

	if (mbind(start, length, MPOL_BIND, &mask, 8 * sizeof(mask), 0))
		die("mbind");
}

static void fork_sharer(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

/* Other references to the pages than from page tables: a pipe holds them. */
static void hold_by_pipe(void)
{
	struct iovec iov = { .iov_base = memory, .iov_len = n_pages * page_size };
	int fds[2];

	if (pipe(fds) || fcntl(fds[1], F_SETPIPE_SZ, 1 << 20) < 0)
		die("pipe");
	if (vmsplice(fds[1], &iov, 1, 0) != (ssize_t)iov.iov_len)
		die("vmsplice");
}

static int open_file(size_t length)
{
	char name[] = "/tmp/numaplace-target-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0 || ftruncate(fd, length))
		die(name);
	unlink(name);
	return fd;
}

static void make(const char *kind, int node)
{
	size_t length = n_pages * page_size;
	bool file = !strncmp(kind, "file", 4), shm = !strcmp(kind, "shm");
	int flags = file && strcmp(kind, "file-cow") ? MAP_SHARED : MAP_PRIVATE;

	if (file)
		memory = map(length, flags, open_file(length));
	else if (!strcmp(kind, "hugetlb"))
		memory = map(length, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	else
		memory = map(length, (shm ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1);
	madvise(memory, length, strcmp(kind, "thp") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	bind_to(memory, length, node);
	/* A word a page is enough where there are many of them. */
	n_words = strcmp(kind, "sparse") ? page_size / sizeof(uint64_t) : MAX_THREADS + 1;
	zeroes = !strcmp(kind, "zero") || !strcmp(kind, "hole");
	if (!strcmp(kind, "zero"))
		for (size_t p = 0; p < n_pages; p++)
			(void)*(volatile char *)(memory + p * page_size);
	if (!zeroes)
		fill();
	if (!strcmp(kind, "mlock") && mlock(memory, length))
		die("mlock");
	if (!strcmp(kind, "forked"))
		fork_sharer();
	if (!strcmp(kind, "pipe"))
		hold_by_pipe();
}

static void say_policy(int mode, unsigned long nodes)
{
	printf("%d %lx\n", mode, nodes);
}

static void own_policy(int *mode, unsigned long *nodes)
{
	*nodes = 0;
	if (get_mempolicy(mode, nodes, 8 * sizeof(*nodes) + 1, NULL, 0))
		die("get_mempolicy");
}

/* Adds to its own counter in every page; a count that is lost is noticed. */
static void *count(void *data)
{
	struct thread *t = data;
	uint64_t round = 0;

	t->tid = gettid();
	for (;; round++) {
		for (size_t p = 0; p < n_pages; p++) {
			volatile uint64_t *word = (uint64_t *)(memory + p * page_size) + t->index;

			if (*word != round)
				t->went_back = true;
			*word = round + 1;
		}
		if (t->ask) {
			own_policy(&t->mode, &t->nodes);
			t->ask = false;
		}
	}
	return NULL;
}

static void *sleep_on(void *data)
{
	struct thread *t = data;

	t->tid = gettid();
	for (;;)
		pause();
	return NULL;
}

static struct thread *start(void *(*run)(void *))
{
	struct thread *t = &threads[n_threads];

	t->index = n_threads++;
	if (n_threads > MAX_THREADS || pthread_create(&t->thread, NULL, run, t))
		die("pthread_create");
	while (!*(volatile pid_t *)&t->tid)
		usleep(100);
	return t;
}

static void thread_policy(unsigned int i)
{
	struct thread *t = &threads[i];

	t->ask = true;
	while (t->ask)
		usleep(100);
	say_policy(t->mode, t->nodes);
}

static void fresh(size_t n)
{
	char *start = map(n * page_size, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(start, n * page_size, MADV_NOHUGEPAGE);
	memset(start, 1, n * page_size);
	where(start, n);
}

static void churn(size_t times)
{
	const size_t length = 16 * page_size;

	while (times--) {
		char *start = map(length, MAP_PRIVATE | MAP_ANONYMOUS, -1);

		memset(start, 1, length);
		mprotect(start, length, PROT_READ);
		start = mremap(start, length, 2 * length, MREMAP_MAYMOVE);
		if (start == MAP_FAILED || start[0] != 1 || start[length - 1] != 1 ||
		    munmap(start, 2 * length))
			die("churn");
	}
	puts("ok");
}

static void start_child(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	printf("%d\n", child);
}

static volatile unsigned long rounds;

static void *allocate(void *data)
{
	struct thread *t = data;

	for (t->tid = gettid();; rounds++) {
		char *start = map(8 * page_size, MAP_PRIVATE | MAP_ANONYMOUS, -1);

		memset(start, 1, 8 * page_size);
		munmap(start, 8 * page_size);
	}
	return NULL;
}

static void set_policy(int mode, unsigned long nodes)
{
	if (set_mempolicy(mode, &nodes, 8 * sizeof(nodes) + 1))
		die("set_mempolicy");
	puts("ok");
}

static void counters(void)
{
	for (unsigned int i = 0; i < n_threads; i++) {
		if (threads[i].went_back) {
			printf("thread %u lost a count\n", i);
			return;
		}
	}
	puts("ok");
}

static void obey(char *line, char **argv)
{
	unsigned long number = 0;
	int mode;

	if (!strncmp(line, "check", 5)) {
		check();
	} else if (!strncmp(line, "where", 5)) {
		where(memory, n_pages);
	} else if (!strncmp(line, "policy", 6)) {
		own_policy(&mode, &number);
		say_policy(mode, number);
	} else if (sscanf(line, "thread-policy %lu", &number) == 1) {
		thread_policy(number);
	} else if (sscanf(line, "fresh %lu", &number) == 1) {
		fresh(number);
	} else if (sscanf(line, "churn %lu", &number) == 1) {
		churn(number);
	} else if (!strncmp(line, "fork", 4)) {
		start_child();
	} else if (!strncmp(line, "thread", 6)) {
		printf("%d\n", start(sleep_on)->tid);
	} else if (!strncmp(line, "allocate", 8)) {
		printf("%d\n", start(allocate)->tid);
	} else if (!strncmp(line, "rounds", 6)) {
		printf("%lu\n", rounds);
	} else if (sscanf(line, "set-policy %d %lx", &mode, &number) == 2) {
		set_policy(mode, number);
	} else if (!strncmp(line, "counters", 8)) {
		counters();
	} else if (!strncmp(line, "exec", 4)) {
		execv("/proc/self/exe", argv);
		die("exec");
	} else {
		puts("what?");
	}
}

int main(int argc, char **argv)
{
	char line[256];
	unsigned int n;

	if (argc < 4)
		return 2;
	page_size = sysconf(_SC_PAGESIZE);
	n_pages = strtoul(argv[2], NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0);
	make(argv[1], atoi(argv[3]));
	for (n = argc > 4 ? atoi(argv[4]) : 0; n; n--)
		start(count);
	printf("ready %p %zu\n", (void *)memory, n_pages * page_size);
	while (fgets(line, sizeof(line), stdin))
		obey(line, argv);
	return 0;
}
