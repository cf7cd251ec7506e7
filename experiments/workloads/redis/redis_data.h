/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data set as a function of the seed: any element can be made again at
 * any time, so the client checks the server's whole answer and keeps no copy.
 */
#ifndef NP_REDIS_DATA_H
#define NP_REDIS_DATA_H

#include <stddef.h>
#include <stdint.h>

#define NP_STRING_MAX 4096

struct np_data {
	uint64_t seed;
	uint64_t elements;	 /* of each list or set; of all keys */
	unsigned int max_length; /* of a string, bytes */
	const char *text_file;	 /* for the token count; NULL: a text is made */
};

/*
 * String number i of a stream: characters 65..122 as in Prabhanjan et al.,
 * 1..max_length of them. It begins with i in as many digits as the highest
 * number needs, so that no two strings of a stream are equal.
 */
size_t np_data_string(const struct np_data *d, unsigned int stream, uint64_t i, char *out);

/* The i that np_data_string() put into the string, or UINT64_MAX. */
uint64_t np_data_index(const struct np_data *d, const char *text, size_t len);

/* A number from 0 to below - 1 that depends on all of the arguments. */
uint64_t np_data_number(const struct np_data *d, unsigned int stream, uint64_t i, uint64_t below);

/* The shortest max_length that holds the digits. */
unsigned int np_data_min_length(const struct np_data *d);

/* Hash of some bytes that goes on from h; begin with 0. */
uint64_t np_data_hash(uint64_t h, const void *bytes, size_t len);

#endif
