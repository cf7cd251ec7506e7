// SPDX-License-Identifier: GPL-2.0-only
/* The histogram's edges and the data set's promises. */
#include "../histogram.h"
#include "../redis_data.h"
#include "../../../../tests/cunit_main.h"

#include <math.h>
#include <string.h>

/* Below 2^5 exact, above never more than 1/32 over the value, never below it. */
TEST(percentile_is_within_the_resolution)
{
	static struct np_histogram h;

	for (int bit = 0; bit < 63; bit++)
		for (int64_t near = -1; near <= 1; near++) {
			uint64_t value = (1ULL << bit) + near, got;

			memset(&h, 0, sizeof(h));
			np_histogram_add(&h, value, 1);
			h.max = UINT64_MAX; /* so that the bucket's own edge shows */
			got = np_histogram_at(&h, 0.5);
			CU_ASSERT(got >= value);
			CU_ASSERT(got - value <= value * NP_HIST_RESOLUTION);
			CU_ASSERT(value >= NP_HIST_SUB || got == value);
		}
}

TEST(percentiles_count_values)
{
	static struct np_histogram h;

	memset(&h, 0, sizeof(h));
	CU_ASSERT_EQUAL(np_histogram_at(&h, 0.5), 0);
	for (uint64_t value = 1; value <= 1000; value++)
		np_histogram_add(&h, value * 1000, 1);
	CU_ASSERT_EQUAL(h.count, 1000);
	CU_ASSERT_EQUAL(h.min, 1000);
	CU_ASSERT_EQUAL(np_histogram_at(&h, 1), 1000000);
	for (double share = 0.01; share < 1; share += 0.01) {
		double exact = ceil(share * 1000) * 1000;
		double got = np_histogram_at(&h, share);

		CU_ASSERT(got >= exact && got <= exact * (1 + NP_HIST_RESOLUTION) + 1000);
	}
}

TEST(a_batch_counts_as_often_as_it_has_commands)
{
	static struct np_histogram h;

	memset(&h, 0, sizeof(h));
	np_histogram_add(&h, 10, 99);
	np_histogram_add(&h, 20, 1);
	CU_ASSERT_EQUAL(np_histogram_at(&h, 0.99), 10);
	CU_ASSERT_EQUAL(np_histogram_at(&h, 0.995), 20);
}

TEST(strings_tell_their_number)
{
	static const struct np_data sets[] = {
		{ 1, 1, 1, NULL },     { 2, 58, 1, NULL },     { 3, 59, 2, NULL },
		{ 4, 5000, 20, NULL }, { 5, 5000, 900, NULL },
	};
	char text[NP_STRING_MAX], again[NP_STRING_MAX];

	for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++)
		for (uint64_t i = 0; i < sets[s].elements; i++) {
			size_t len = np_data_string(&sets[s], 7, i, text);

			CU_ASSERT(len >= np_data_min_length(&sets[s]) && len <= sets[s].max_length);
			CU_ASSERT_EQUAL(np_data_index(&sets[s], text, len), i);
			CU_ASSERT_EQUAL(np_data_string(&sets[s], 7, i, again), len);
			CU_ASSERT(!memcmp(text, again, len));
			for (size_t k = 0; k < len; k++)
				CU_ASSERT(text[k] >= 65 && text[k] <= 122);
		}
	CU_ASSERT_EQUAL(np_data_index(&sets[3], "zz", 2), UINT64_MAX);
	CU_ASSERT_EQUAL(np_data_index(&sets[3], "000", 3), UINT64_MAX);
	CU_ASSERT_EQUAL(np_data_index(&sets[3], "zzz", 3), UINT64_MAX);
}

TEST(streams_and_seeds_differ)
{
	const struct np_data one = { 1, 5000, 20, NULL }, two = { 2, 5000, 20, NULL };
	char a[NP_STRING_MAX], b[NP_STRING_MAX], c[NP_STRING_MAX];
	unsigned int same_seed = 0, same_stream = 0;
	size_t len;

	for (uint64_t i = 0; i < one.elements; i++) {
		len = np_data_string(&one, 0, i, a);
		same_seed += np_data_string(&one, 1, i, b) == len && !memcmp(a, b, len);
		same_stream += np_data_string(&two, 0, i, c) == len && !memcmp(a, c, len);
		CU_ASSERT(np_data_number(&one, 16, i, 100) < 100);
	}
	/* Only strings as short as their number can be equal: 3 of 20 lengths, both at once. */
	CU_ASSERT(same_seed < 200);
	CU_ASSERT(same_stream < 200);
}
