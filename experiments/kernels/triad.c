// SPDX-License-Identifier: GPL-2.0-only
#include "triad.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static bool always(void)
{
	return true;
}

static void triad_plain(double *restrict a, const double *restrict b,
			const double *restrict c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] + NP_TRIAD_SCALAR * c[i];
}

#ifdef __x86_64__
static void triad_sse2(double *a, const double *b, const double *c, size_t n)
{
	const __m128d s = _mm_set1_pd(NP_TRIAD_SCALAR);

	for (size_t i = 0; i < n; i += 8)
		for (size_t j = i; j < i + 8; j += 2)
			_mm_stream_pd(a + j, _mm_add_pd(_mm_load_pd(b + j),
							_mm_mul_pd(s, _mm_load_pd(c + j))));
	_mm_sfence();
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2")))
static void triad_avx2(double *a, const double *b, const double *c, size_t n)
{
	const __m256d s = _mm256_set1_pd(NP_TRIAD_SCALAR);

	for (size_t i = 0; i < n; i += 8)
		for (size_t j = i; j < i + 8; j += 4)
			_mm256_stream_pd(a + j, _mm256_add_pd(_mm256_load_pd(b + j),
							      _mm256_mul_pd(s, _mm256_load_pd(c + j))));
	_mm_sfence();
}
#endif

const struct np_triad_kernel np_triad_kernels[] = {
	{ "plain", 32, always, triad_plain },
#ifdef __x86_64__
	{ "sse2-nt", 24, always, triad_sse2 },
	{ "avx2-nt", 24, has_avx2, triad_avx2 },
#endif
	{ NULL, 0, NULL, NULL },
};

const struct np_triad_kernel *np_triad_find(const char *name)
{
	const struct np_triad_kernel *k, *found = NULL;
	bool any = !strcmp(name, "auto");

	for (k = np_triad_kernels; k->name; k++)
		if ((any || !strcmp(name, k->name)) && k->supported())
			found = k;
	return found;
}

/* Different from one element to the next, and from one page to the next. */
static double value_b(size_t i)
{
	return (i % 8191) + 1;
}

static double value_c(size_t i)
{
	return (i % 4093) * 0.5;
}

void np_triad_fill(double *a, double *b, double *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		a[i] = -1;
		b[i] = value_b(i);
		c[i] = value_c(i);
	}
}

size_t np_triad_errors(const double *a, const double *b, const double *c, size_t n)
{
	size_t errors = 0;

	for (size_t i = 0; i < n; i++)
		errors += b[i] != value_b(i) || c[i] != value_c(i) ||
			  a[i] != value_b(i) + NP_TRIAD_SCALAR * value_c(i);
	return errors;
}
