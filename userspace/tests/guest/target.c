// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program to be placed: fills memory with a pattern, keeps threads running,
 * checks the pattern. Reads commands from standard input, one a line, and
 * answers each with one line.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define WORDS (PAGE / sizeof(uint64_t))
#define MAX_AREAS 16

static struct area {
	volatile uint64_t *at;
	size_t pages;
} areas[MAX_AREAS];
static size_t n_areas;
static atomic_bool stop;

static uint64_t stamp(size_t page, size_t word)
{
	return (page * WORDS + word) * 0x9e3779b97f4a7c15ull;
}

/* kind: small, thp, hugetlb or shared. */
static const char *allocate(size_t mib, const char *kind)
{
	int flags = MAP_ANONYMOUS | (strcmp(kind, "shared") ? MAP_PRIVATE : MAP_SHARED) |
		    (strcmp(kind, "hugetlb") ? 0 : MAP_HUGETLB);
	void *at = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, flags, -1, 0);
	struct area *a = &areas[n_areas];

	if (at == MAP_FAILED || n_areas == MAX_AREAS)
		return "no memory";
	if (strcmp(kind, "hugetlb"))
		madvise(at, mib << 20, strcmp(kind, "thp") ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	*a = (struct area){ at, (mib << 20) / PAGE };
	for (size_t page = 0; page < a->pages; page++)
		for (size_t word = 0; word < WORDS; word++)
			a->at[page * WORDS + word] = stamp(page, word);
	n_areas++;
	return "allocated";
}

/* The first word of a page is the writer's; see rewrite(). */
static size_t count_wrong(void)
{
	size_t wrong = 0;

	for (struct area *a = areas; a < areas + n_areas; a++)
		for (size_t page = 0; page < a->pages; page++)
			for (size_t word = 1; word < WORDS; word++)
				wrong += a->at[page * WORDS + word] != stamp(page, word);
	return wrong;
}

/*
 * Counts up in the first word of every page of the first area: a write that
 * went to a page already left behind makes the count of that page fall back.
 */
static atomic_size_t lost;

static void *rewrite(void *unused)
{
	for (uint64_t round = 1; !stop; round++) {
		for (size_t page = 0; page < areas[0].pages; page++) {
			volatile uint64_t *word = &areas[0].at[page * WORDS];

			if (round > 1 && *word != round - 1)
				lost++;
			*word = round;
		}
	}
	return unused;
}

static void *spin(void *unused)
{
	while (!stop)
		;
	return unused;
}

static void *sleep_long(void *unused)
{
	while (!stop)
		usleep(10000);
	return unused;
}

static void *sleep_short(void *unused)
{
	usleep(50000);
	return unused;
}

/* Starts short threads without end. */
static void *storm(void *unused)
{
	pthread_t thread;

	while (!stop) {
		if (!pthread_create(&thread, NULL, sleep_short, NULL))
			pthread_detach(thread);
		usleep(2000);
	}
	return unused;
}

static const char *start(size_t count, void *(*work)(void *))
{
	pthread_t thread;

	for (; count; count--)
		if (pthread_create(&thread, NULL, work, NULL) || pthread_detach(thread))
			return "no thread";
	return "started";
}

/* Holds n pages of every `of` of the first area in a pipe without a reader: they cannot move. */
static size_t pin(size_t n, size_t of)
{
	struct area *a = &areas[0];
	size_t pinned = 0;
	int ends[2];

	if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, 256 * PAGE) < 0)
		return 0;
	for (size_t page = 0; page < a->pages; page++) {
		struct iovec one = { (void *)(a->at + page * WORDS), PAGE };

		if (page % of < n && vmsplice(ends[1], &one, 1, SPLICE_F_NONBLOCK) == PAGE)
			pinned++;
	}
	return pinned;
}

static const char *answer(const char *line)
{
	static char text[64];
	char kind[16];
	size_t n, of;

	if (sscanf(line, "allocate %zu %15s", &n, kind) == 2)
		return allocate(n, kind);
	if (sscanf(line, "pin %zu %zu", &n, &of) == 2 && of) {
		snprintf(text, sizeof(text), "pinned %zu", pin(n, of));
		return text;
	}
	if (sscanf(line, "sleepers %zu", &n) == 1)
		return start(n, sleep_long);
	if (sscanf(line, "spinners %zu", &n) == 1)
		return start(n, spin);
	if (!strncmp(line, "writer", 6))
		return start(1, rewrite);
	if (!strncmp(line, "storm", 5))
		return start(1, storm);
	if (!strncmp(line, "check", 5)) {
		snprintf(text, sizeof(text), "wrong %zu", count_wrong() + lost);
		return text;
	}
	if (!strncmp(line, "reader", 6))	/* a child that has every page, too */
		return fork() ? "forked" : (count_wrong(), pause(), "");
	if (!strncmp(line, "fork", 4))
		return fork() ? "forked" : (pause(), "");
	if (!strncmp(line, "calm", 4)) {
		stop = true;
		return "calm";
	}
	return "what?";
}

int main(void)
{
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		puts(answer(line));
		fflush(stdout);
	}
	return 0;
}
