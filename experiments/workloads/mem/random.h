/* SPDX-License-Identifier: GPL-2.0-only */
/* xorshift64*: fast enough not to be what a random update measures. */
#ifndef NP_RANDOM_H
#define NP_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct np_random {
	uint64_t state;
};

/* Neighbouring seeds start far apart; the state is never 0. */
static inline struct np_random np_random_from(uint64_t seed)
{
	uint64_t z = seed + 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (struct np_random) { (z ^ z >> 31) | 1 };
}

static inline uint64_t np_random_next(struct np_random *r)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return r->state * 0x2545f4914f6cdd1d;
}

/* 0 to n - 1. */
static inline uint64_t np_random_below(struct np_random *r, uint64_t n)
{
	return (unsigned __int128)np_random_next(r) * n >> 64;
}

/* 0 to 1, without 1. */
static inline double np_random_unit(struct np_random *r)
{
	return (np_random_next(r) >> 11) * 0x1p-53;
}

#endif
