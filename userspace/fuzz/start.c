// SPDX-License-Identifier: GPL-2.0-only
/* driver ROUNDS SEED: runs the target on its seeds and on random changes of them. */
#include "fuzz.h"

#include <stdio.h>

#define MAX_SIZE 1024

static uint64_t state;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? state % n : 0;
}

/* Characters that mean something to one parser or another. */
static uint8_t random_byte(void)
{
	static const char likely[] = "0123456789-,+!:=. \n\"{}[]()xNabif";

	return random_below(8) ? (uint8_t)likely[random_below(sizeof(likely) - 1)]
			       : (uint8_t)random_below(256);
}

/* Replaces, inserts, removes, doubles or cuts. */
static size_t change(uint8_t *data, size_t size)
{
	size_t at = random_below(size + 1), n;

	switch (random_below(5)) {
	case 0:
		if (at < size)
			data[at] = random_byte();
		return size;
	case 1:
		if (size == MAX_SIZE)
			return size;
		memmove(data + at + 1, data + at, size - at);
		data[at] = random_byte();
		return size + 1;
	case 2:
		n = random_below(size - at + 1);
		memmove(data + at, data + at + n, size - at - n);
		return size - n;
	case 3:
		n = random_below(size - at + 1);
		if (size + n > MAX_SIZE)
			return size;
		memmove(data + at + n, data + at, size - at);
		return size + n;
	default:
		return random_below(16) ? size : at;
	}
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	size_t n_seeds = 0, size;
	uint8_t data[MAX_SIZE];

	state = 0x9e3779b97f4a7c15ull ^ (argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
	for (; fuzz_seeds[n_seeds]; n_seeds++)
		LLVMFuzzerTestOneInput((const uint8_t *)fuzz_seeds[n_seeds],
				       strlen(fuzz_seeds[n_seeds]));
	for (uint64_t i = 0; i < rounds; i++) {
		const char *seed = fuzz_seeds[random_below(n_seeds)];

		size = strlen(seed);
		memcpy(data, seed, size);
		for (uint64_t changes = 1 + random_below(8); changes; changes--)
			size = change(data, size);
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%llu inputs\n", (unsigned long long)(rounds + n_seeds));
	return 0;
}
