// SPDX-License-Identifier: GPL-2.0-only
#include "stream.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define PER_LINE (NP_LINE / sizeof(double))

static bool always(void)
{
	return true;
}

/*
 * Plain C, of which the compiler makes what the oldest CPU of the kind can do.
 * experiments.mk keeps it from calling memcpy(), which picks its own kind of store.
 */
#define PLAIN(op, value) \
	static void op##_plain(double *restrict a, const double *restrict b, \
			       const double *restrict c, size_t n) \
	{ \
		(void)c; \
		for (size_t i = 0; i < n; i++) \
			a[i] = (value); \
	}

PLAIN(copy, b[i])
PLAIN(scale, NP_STREAM_SCALAR *b[i])
PLAIN(sum, b[i] + c[i])
PLAIN(triad, b[i] + NP_STREAM_SCALAR * c[i])

#define VARIANT(isa) { copy_##isa, scale_##isa, sum_##isa, triad_##isa }

#ifdef __x86_64__
#define VB (*(const vec *)(b + j))
#define VC (*(const vec *)(c + j))

/* A line at a time; the inner loop is unrolled, so each of the width's stores fills a part of it. */
#define VECTOR(op, isa, flags, type, store, fence, value) \
	__attribute__((target(flags))) static void op##_##isa(double *a, const double *b, \
							      const double *c, size_t n) \
	{ \
		typedef type vec; \
		const vec s = (vec) { 0 } + NP_STREAM_SCALAR; \
\
		(void)c; \
		(void)s; \
		for (size_t i = 0; i < n; i += PER_LINE) \
			_Pragma("GCC unroll 4") for (size_t j = i; j < i + PER_LINE; \
						     j += sizeof(vec) / sizeof(double)) \
				store(a + j, value); \
		fence; \
	}

#define VECTORS(isa, flags, type, store, fence) \
	VECTOR(copy, isa, flags, type, store, fence, VB) \
	VECTOR(scale, isa, flags, type, store, fence, s *VB) \
	VECTOR(sum, isa, flags, type, store, fence, VB + VC) \
	VECTOR(triad, isa, flags, type, store, fence, VB + s * VC)

VECTORS(sse2, "sse2", __m128d, _mm_store_pd, (void)0)
VECTORS(sse2_nt, "sse2", __m128d, _mm_stream_pd, _mm_sfence())
VECTORS(avx2, "avx2", __m256d, _mm256_store_pd, (void)0)
VECTORS(avx2_nt, "avx2", __m256d, _mm256_stream_pd, _mm_sfence())
VECTORS(avx512, "avx512f", __m512d, _mm512_store_pd, (void)0)
VECTORS(avx512_nt, "avx512f", __m512d, _mm512_stream_pd, _mm_sfence())

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}
#endif

/*
 * "auto" is the last that the CPU has. 512 bits stand before the others: a line is full either way,
 * and where make bench-kernels compared them triad took a tenth longer with 512 than with 256.
 */
const struct np_stream_variant np_stream_variants[] = {
	{ "plain", false, always, VARIANT(plain) },
#ifdef __x86_64__
	{ "sse2", false, always, VARIANT(sse2) },
	{ "avx2", false, has_avx2, VARIANT(avx2) },
	{ "avx512", false, has_avx512, VARIANT(avx512) },
	{ "avx512-nt", true, has_avx512, VARIANT(avx512_nt) },
	{ "sse2-nt", true, always, VARIANT(sse2_nt) },
	{ "avx2-nt", true, has_avx2, VARIANT(avx2_nt) },
#endif
	{ 0 },
};

const struct np_stream_variant *np_stream_find(const char *name)
{
	const struct np_stream_variant *v, *found = NULL;
	bool any = !strcmp(name, "auto");

	for (v = np_stream_variants; v->name; v++)
		if ((any || !strcmp(name, v->name)) && v->supported())
			found = v;
	return found;
}
