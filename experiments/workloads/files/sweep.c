// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers with a use count each, as PostgreSQL's shared buffers have (src/backend/storage/buffer/README, "Normal
 * Buffer Replacement Strategy"): a read raises the count up to 5; a replacement takes the next buffer under the clock
 * hand whose count is 0, and lowers those that it passes.
 */
#include "shared.h"

#include <stdatomic.h>
#include <string.h>

#define BUFFER	  8192
#define WORDS	  (BUFFER / sizeof(uint64_t))
#define MOST_USED 5
#define TURN	  32 /* buffers that are read before the clock is */
#define REPLACE	  8  /* one buffer of so many that are read */

/* At the beginning of what is shared; buffers follow behind the header's pages. */
struct header {
	atomic_ullong hand;
	atomic_uchar used[];
};

static size_t count_buffers(const struct np_shared *s)
{
	return (s->bytes - sizeof(struct header)) / (BUFFER + 1) - 1;
}

static struct header *get_header(const struct np_shared *s)
{
	return (struct header *)s->memory;
}

static uint64_t *get_buffer(const struct np_shared *s, size_t number)
{
	size_t header = (sizeof(struct header) + count_buffers(s) + BUFFER - 1) / BUFFER * BUFFER;

	return (uint64_t *)(s->memory + header + number * BUFFER);
}

/* All words of a buffer are the same, whichever version of it. */
static void write_buffer(uint64_t *word, uint64_t value)
{
	for (size_t i = 0; i < WORDS; i++)
		word[i] = value;
}

static void fill(const struct np_shared *s)
{
	memset(s->memory, 0, s->bytes);
	for (size_t i = 0; i < count_buffers(s); i++)
		write_buffer(get_buffer(s, i), i);
}

static size_t choose_victim(struct header *h, size_t n)
{
	for (;;) {
		size_t at = atomic_fetch_add_explicit(&h->hand, 1, memory_order_relaxed) % n;
		unsigned char used = atomic_load_explicit(&h->used[at], memory_order_relaxed);

		if (!used)
			return at;
		atomic_store_explicit(&h->used[at], used - 1, memory_order_relaxed);
	}
}

static void read_buffer(struct np_turn *turn, struct header *h, size_t number, size_t n)
{
	const volatile uint64_t *word = get_buffer(turn->shared, number);
	unsigned char used = atomic_load_explicit(&h->used[number], memory_order_relaxed);
	uint64_t last = 0;

	if (used < MOST_USED)
		atomic_store_explicit(&h->used[number], used + 1, memory_order_relaxed);
	for (size_t i = 0; i < WORDS; i++)
		last = word[i];
	/* A process may write another version meanwhile; a remainder of each word would take longer than reading it. */
	turn->wrong |= word[0] % n != number || last % n != number;
}

static void work(struct np_turn *turn)
{
	struct header *h = get_header(turn->shared);
	size_t n = count_buffers(turn->shared);

	for (unsigned int i = 0; i < TURN; i++) {
		read_buffer(turn, h, np_random_below(&turn->random, n), n);
		if (i % REPLACE == 0) {
			size_t victim = choose_victim(h, n);

			write_buffer(get_buffer(turn->shared, victim),
				     victim + n * np_random_below(&turn->random, 1000));
			turn->bytes += BUFFER;
		}
		turn->bytes += BUFFER;
		turn->operations++;
	}
}

const struct np_use np_sweep = { "sweep", fill, work };
