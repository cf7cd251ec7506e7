// SPDX-License-Identifier: GPL-2.0-only
/*
 * triad MIB THREADS SECONDS: MB/s that a[i] = b[i] + 3 * c[i] reports, counting three words an
 * element.
 */
#include "common.h"

#include <pthread.h>

struct worker {
	pthread_t thread;
	double *a, *b, *c;
	size_t n;
	double seconds, mb_per_s;
};

static pthread_barrier_t barrier;

static double *array(size_t n, double value)
{
	double *a = map_memory(n * sizeof(*a));

	for (size_t i = 0; i < n; i++)
		a[i] = value;
	return a;
}

static void *work(void *data)
{
	struct worker *w = data;
	double start, end;
	size_t rounds = 0;

	w->a = array(w->n, 0);
	w->b = array(w->n, 1);
	w->c = array(w->n, 2);
	pthread_barrier_wait(&barrier);
	start = now_ns() * 1e-9;
	do {
		double *restrict a = w->a;

		for (size_t i = 0; i < w->n; i++)
			a[i] = w->b[i] + 3 * w->c[i];
		rounds++;
		end = now_ns() * 1e-9;
	} while (end - start < w->seconds);
	w->mb_per_s = rounds * w->n * 3 * sizeof(double) / (end - start) / 1e6;
	return w->a[w->n / 2] == 7 ? w : NULL;
}

int main(int argc, char **argv)
{
	size_t n = argc == 4 ? strtoul(argv[1], NULL, 10) * (1 << 20) / sizeof(double) : 0;
	unsigned int threads = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	struct worker *w = calloc(threads, sizeof(*w));
	double sum = 0;
	void *right;

	if (!n || !threads || !w)
		return fputs("usage: triad MIB THREADS SECONDS\n", stderr), 2;
	pthread_barrier_init(&barrier, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		w[i].n = n;
		w[i].seconds = strtod(argv[3], NULL);
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			return 1;
	}
	for (unsigned int i = 0; i < threads; i++) {
		pthread_join(w[i].thread, &right);
		if (!right)
			return fputs("triad: wrong result\n", stderr), 1;
		sum += w[i].mb_per_s;
	}
	printf("%.1f\n", sum);
	return 0;
}
