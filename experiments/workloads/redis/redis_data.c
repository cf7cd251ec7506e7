// SPDX-License-Identifier: GPL-2.0-only
#include "redis_data.h"

#define FIRST_CHAR     65
#define CHARS	       58
#define CHARS_PER_DRAW 8

/* The finaliser of splitmix64: every input bit changes half of the output's. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Origin of the draws for element i of a stream; draw k is mix(origin + k). */
static uint64_t origin(const struct np_data *d, unsigned int stream, uint64_t i)
{
	return mix(mix(d->seed + stream) + i);
}

unsigned int np_data_min_length(const struct np_data *d)
{
	unsigned int digits = 1;

	for (uint64_t rest = (d->elements - 1) / CHARS; rest; rest /= CHARS)
		digits++;
	return digits;
}

size_t np_data_string(const struct np_data *d, unsigned int stream, uint64_t i, char *out)
{
	unsigned int digits = np_data_min_length(d);
	uint64_t first = origin(d, stream, i), bits = 0, rest = i;
	size_t len = 1 + mix(first) % d->max_length;

	if (len < digits)
		len = digits;
	for (unsigned int k = digits; k--; rest /= CHARS)
		out[k] = FIRST_CHAR + rest % CHARS;
	for (size_t k = digits; k < len; k++, bits >>= 8) {
		if ((k - digits) % CHARS_PER_DRAW == 0)
			bits = mix(first + k + 1);
		out[k] = FIRST_CHAR + ((bits & 0xff) * CHARS >> 8);
	}
	return len;
}

uint64_t np_data_index(const struct np_data *d, const char *text, size_t len)
{
	unsigned int digits = np_data_min_length(d);
	uint64_t i = 0;

	if (len < digits)
		return UINT64_MAX;
	for (unsigned int k = 0; k < digits; k++) {
		if (text[k] < FIRST_CHAR || text[k] >= FIRST_CHAR + CHARS)
			return UINT64_MAX;
		i = i * CHARS + (text[k] - FIRST_CHAR);
	}
	return i < d->elements ? i : UINT64_MAX;
}

uint64_t np_data_number(const struct np_data *d, unsigned int stream, uint64_t i, uint64_t below)
{
	return mix(origin(d, stream, i)) % below;
}

uint64_t np_data_hash(uint64_t h, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t k = 0; k < len; k++)
		h = (h ^ p[k]) * 0x100000001b3;
	return mix(h + len);
}
